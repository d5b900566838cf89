//! Chains: any operators in a row, as text.

use std::ffi::{CStr, c_char};

use trundle::{Chain, ChainError, PlanError};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Failure, Result, guarded};
use super::memory::{check_pointer, check_room};
use super::moved::Moved;
use super::pair::Pair;
use super::plan::{made, trundle_plan};
use super::status::{TRUNDLE_ERROR_CHAIN, status_of, trundle_status};

/// Plans any stages in a row, such as "flip(axes=[2]) | h w c -> c h w": all that docs/chains.md
/// says, but that lengths are lists and no files. It takes one pass over memory where one is enough.
/// The plan is written to `plan`, and is the caller's to free.
///
/// `chain` is UTF-8, and is not needed any more when this returns. `out` has the type of `data`, and
/// the sizes that trundle_chain_out_sizes() says. What is wrong with the chain, or does not fit the
/// sizes, the message shows in several lines: the part of the chain, carets below it, and often what
/// to write instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_plan(
    chain: *const c_char,
    data_desc: *const trundle_tensor_desc,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let chain = read(chain)?;
            let pair = Pair::read(data_desc, out_desc)?;
            let moved = Moved::of_chain(pair, &chain).map_err(|error| match error {
                PlanError::Chain(error) => Failure::from(error),
                error => error.into(),
            });
            Ok(moved?.into())
        })
    }
}

/// Says the sizes of what a chain makes of `data`: how many there are is written to `rank`, and they
/// to `sizes`, which has room for `capacity` of them. With a capacity of 0 only the rank is asked
/// for, and `sizes` may be NULL; with one that is too small otherwise nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_out_sizes(
    chain: *const c_char,
    data_desc: *const trundle_tensor_desc,
    sizes: *mut u64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says, and are checked before they are written to.
    guarded(|| unsafe {
        check_pointer("rank", rank)?;
        let chain = read(chain)?;
        let data = Descriptor::read("data", data_desc)?;
        let shape = chain.out_shape(data.layout().shape())?;
        if capacity > 0 {
            check_room("sizes", sizes, capacity as usize, shape.rank())?;
            for (at, size) in shape.iter().enumerate() {
                sizes.add(at).write(*size as u64);
            }
        }
        rank.write(shape.rank().try_into().unwrap_or(u32::MAX));
        Ok(())
    })
}

/// A stage that does not fit: shown in the chain.
impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Failure {
        Failure::new(status_of(&error.source), error.to_string())
    }
}

/// The chain that a caller's text says.
///
/// # Safety
/// A pointer that is not null leads to a C string.
unsafe fn read(chain: *const c_char) -> Result<Chain> {
    check_pointer("chain", chain)?;
    // SAFETY: it is no null pointer, so the caller has a C string there.
    let text = unsafe { CStr::from_ptr(chain) };
    let refused = |message| Failure::new(TRUNDLE_ERROR_CHAIN, message);
    let text = text.to_str().map_err(|error| {
        let (bytes, good) = (text.count_bytes(), error.valid_up_to());
        refused(format!("chain is no UTF-8: of its {bytes} bytes the first {good} are"))
    })?;
    text.parse().map_err(|error: trundle::notation::NotationError| refused(error.to_string()))
}
