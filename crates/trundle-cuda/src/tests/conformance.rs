//! Runs the conformance suite of all backends.

use std::borrow::{Borrow, BorrowMut, Cow};
use std::collections::BTreeSet;

use trundle_core::{Backend, Move};
use trundle_testing::{Flush, MOST_BOXES, TestBuffer, everything, sub_byte, suite};

use super::devices::{FIRST, OnStream, WITHOUT_POOLS, device};
use super::moves::part;
use crate::kernel::NAMES;
use crate::launch::Misaligned;
use crate::prepared::Prepared;
use crate::{Cuda, CudaBuffer};

/// At the end of an allocation, so that the emulated device detects accesses after its end.
pub struct LastBytes {
    part: CudaBuffer,
    _whole: Box<CudaBuffer>,
}

impl LastBytes {
    pub(crate) fn holding(gpu: &Cuda, bytes: &[u8]) -> LastBytes {
        // The buffer may begin at any address, as a tensor view can.
        let before = bytes.len().next_multiple_of(16) - bytes.len();
        let whole = gpu.buffer_of(&[&vec![0; before], bytes].concat()).expect("there is memory");
        LastBytes { part: part(gpu, &whole, before, bytes.len()), _whole: whole }
    }
}

impl Borrow<CudaBuffer> for LastBytes {
    fn borrow(&self) -> &CudaBuffer {
        &self.part
    }
}

impl BorrowMut<CudaBuffer> for LastBytes {
    fn borrow_mut(&mut self) -> &mut CudaBuffer {
        &mut self.part
    }
}

impl TestBuffer<Cuda> for CudaBuffer {
    type Owner = LastBytes;

    fn holding(gpu: &Cuda, bytes: &[u8], _: Flush, _: &dyn Fn() -> String) -> LastBytes {
        LastBytes::holding(gpu, bytes)
    }

    fn bytes(&self, gpu: &Cuda) -> Cow<'_, [u8]> {
        Cow::Owned(gpu.read(self).expect("the device works"))
    }
}

#[test]
fn moves_match_the_oracle() {
    let Some(gpu) = device(FIRST) else { return };
    suite::conformance(&gpu, 0, if everything() { 1 } else { 48 });
}

#[test]
fn packed_elements_match_the_oracle() {
    let Some(gpu) = device(FIRST) else { return };
    sub_byte::conformance(&gpu);
}

#[test]
fn moves_on_a_stream_without_pools_match_the_oracle() {
    let Some(gpu) = device(WITHOUT_POOLS) else { return };
    suite::conformance(&OnStream::new(&gpu).gpu, 2, if everything() { 16 } else { 192 });
}

/// With buffers at any address, accesses can be narrower than the grain of the move.
#[test]
fn the_suite_reaches_every_kernel() {
    let mut reached = BTreeSet::from(["gather_sub_byte"]);
    for case in suite::sweeps().step_by(if everything() { 1 } else { 7 }).chain(suite::large()) {
        let passes = case.passes().unwrap();
        let [map] = &passes[..] else { continue };
        let work = Move::new(map, case.width, &case.src, &case.dst, MOST_BOXES).unwrap();
        let (prepared, _) = Prepared::of(&work);
        for src in [0, 1, 2, 4, 8] {
            let launches = prepared.launches(Misaligned { src, dst: 0 }).unwrap();
            reached.extend(launches.iter().map(|launch| launch.kernel.name()));
        }
    }
    assert_eq!(reached, BTreeSet::from(NAMES));
}
