//! Times other transpose crates on the same cases.
//!
//! They need typed slices, so each case is repeated with such slices. Each crate is called as its documentation shows;
//! strided-perm gets a pool with the same number of threads.

use std::fmt::Display;
use std::hint::black_box;

use strided_view::{StridedView, StridedViewMut};
use threadteam::{Exec, Pool};
use trundle::{DType, Op, Plan, Shape};

use crate::case::{Case, TimedCall};
use crate::copy::Copy;
use crate::error::Error;
use crate::measure::{fraction, timed};
use crate::record::RivalRecord;

trait Typed: crate::copy::Element + PartialEq + 'static {
    fn numbered(number: usize) -> Self;

    #[cfg(feature = "hptt")]
    const HPTT: Option<HpttCall<Self>> = None;
}

/// HPTT's function for an element type: order, factor alpha, source, its sizes, factor beta for the destination,
/// destination, number of threads, and which axis is innermost.
#[cfg(feature = "hptt")]
type HpttCall<T> = fn(
    &[usize],
    T,
    &[T],
    &[usize],
    T,
    &mut [T],
    usize,
    hptt::MemoryOrder,
) -> Result<(), hptt::Error>;

macro_rules! typed {
    ($($element:ident $(by $hptt:ident)?,)*) => {
        $(impl Typed for $element {
            fn numbered(number: usize) -> Self {
                number as $element
            }

            $(#[cfg(feature = "hptt")]
            const HPTT: Option<HpttCall<Self>> = Some(hptt::$hptt);)?
        })*
    };
}

typed!(u8, u16, f32 by transpose_f32, f64 by transpose_f64,);

trait Rival<T> {
    fn name(&self) -> &'static str;

    fn transpose(&self, src: &[T], dst: &mut [T]) -> Result<(), Error>;
}

/// Times every crate on a case, if it is a transpose planned in advance, of a supported type.
pub(crate) fn measure(
    case: &Case,
    threads: usize,
    rounds: usize,
) -> Result<Vec<RivalRecord>, Error> {
    let ([Op::Transpose(_)], TimedCall::Planned) = (case.chain.ops(), case.call) else {
        return Ok(Vec::new());
    };
    match case.dtype {
        DType::U8 => measure_typed::<u8>(case, threads, rounds),
        DType::U16 => measure_typed::<u16>(case, threads, rounds),
        DType::F32 => measure_typed::<f32>(case, threads, rounds),
        DType::F64 => measure_typed::<f64>(case, threads, rounds),
        _ => Ok(Vec::new()),
    }
}

fn measure_typed<T: Typed>(
    case: &Case,
    threads: usize,
    rounds: usize,
) -> Result<Vec<RivalRecord>, Error> {
    let plan_error = |source| Error::Plan { case: case.name.clone(), source: Box::new(source) };
    let run_error = |source| Error::Run { case: case.name.clone(), source };
    let shape = Shape::new(case.sizes.as_slice()).map_err(|error| run_error(error.into()))?;
    let plan =
        Plan::row_major(&case.chain, size_of::<T>(), &shape, Some(threads)).map_err(plan_error)?;
    let mut copy = Copy::of(case.bytes(), threads).map_err(plan_error)?;
    let src: Vec<T> = (0..shape.elements()).map(T::numbered).collect();
    let right = plan.run_slice(&src).map_err(run_error)?;

    let pool = Pool::builder().threads(threads).build();
    let pool = pool.map_err(failed("strided-perm"))?;
    let strided = Strided { sizes: &case.sizes, order: order(&plan), pool };
    let square = Square { sizes: &case.sizes };
    let mut rivals: Vec<&dyn Rival<T>> = vec![&strided];
    #[cfg(feature = "hptt")]
    let hptt = Hptt { sizes: &case.sizes, order: order(&plan), threads };
    #[cfg(feature = "hptt")]
    if T::HPTT.is_some() {
        rivals.push(&hptt);
    }
    if case.sizes.len() == 2 {
        rivals.push(&square);
    }
    let mut dst = src.clone();
    copy.choose(&src, &mut dst).map_err(run_error)?;
    let mut records = Vec::with_capacity(rivals.len());
    for rival in rivals {
        dst.copy_from_slice(&src);
        rival.transpose(&src, &mut dst)?;
        if dst != right {
            let message = format!("{} {}: another result", case.name, case.shape());
            return Err(Error::Rival { name: rival.name(), message });
        }
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..rounds {
            let ours = timed(1, || copy.ours(&src, black_box(&mut dst)));
            times[0].push(ours.map_err(run_error)?.as_secs_f64());
            let mut failure = Ok(());
            let rivalled = timed(1, || {
                failure = rival.transpose(&src, black_box(&mut dst));
                Ok(())
            });
            failure?;
            times[1].push(rivalled.map_err(run_error)?.as_secs_f64());
            let system = timed(1, || {
                copy.system(&src, black_box(&mut dst));
                Ok(())
            });
            times[2].push(system.map_err(run_error)?.as_secs_f64());
        }
        let of_copy = fraction(&times[1], &times[0]).min(fraction(&times[1], &times[2]));
        records.push(RivalRecord { name: rival.name().to_owned(), of_copy });
    }
    Ok(records)
}

/// The source axis of each output axis.
fn order(plan: &Plan) -> Vec<usize> {
    let map = &plan.passes()[0].map;
    let out_shape = map.out_shape();
    let source_axis = |axis: usize| {
        let mut index = vec![0; out_shape.rank()];
        index[axis] = 1;
        map.source_of(&index).iter().position(|at| *at == 1).unwrap_or(axis)
    };
    (0..out_shape.rank()).map(source_axis).collect()
}

fn failed<E: Display>(name: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::Rival { name, message: error.to_string() }
}

struct Strided<'a> {
    sizes: &'a [usize],
    order: Vec<usize>,
    pool: Pool,
}

impl<T: Typed> Rival<T> for Strided<'_> {
    fn name(&self) -> &'static str {
        "strided-perm"
    }

    fn transpose(&self, src: &[T], dst: &mut [T]) -> Result<(), Error> {
        let failed = failed("strided-perm");
        let out_sizes: Vec<usize> = self.order.iter().map(|axis| self.sizes[*axis]).collect();
        let src = StridedView::<T>::new(src, self.sizes, &row_major(self.sizes), 0);
        let src = src.and_then(|src| src.permute(&self.order)).map_err(&failed)?;
        let dst = StridedViewMut::new(dst, &out_sizes, &row_major(&out_sizes), 0);
        let exec = Exec::new(&self.pool, self.pool.width().get());
        let exec = exec.map_err(crate::rivals::failed("strided-perm"))?;
        let copied = strided_perm::copy_into(&mut dst.map_err(&failed)?, &src, exec);
        copied.map_err(failed)
    }
}

fn row_major(sizes: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis].cast_signed();
    }
    strides
}

/// Supports two axes and one thread.
struct Square<'a> {
    sizes: &'a [usize],
}

impl<T: Typed> Rival<T> for Square<'_> {
    fn name(&self) -> &'static str {
        "transpose (one thread)"
    }

    fn transpose(&self, src: &[T], dst: &mut [T]) -> Result<(), Error> {
        transpose::transpose(src, dst, self.sizes[1], self.sizes[0]);
        Ok(())
    }
}

/// HPTT makes a plan in each call, by an estimate that takes microseconds.
#[cfg(feature = "hptt")]
struct Hptt<'a> {
    sizes: &'a [usize],
    order: Vec<usize>,
    threads: usize,
}

#[cfg(feature = "hptt")]
impl<T: Typed> Rival<T> for Hptt<'_> {
    fn name(&self) -> &'static str {
        "hptt"
    }

    fn transpose(&self, src: &[T], dst: &mut [T]) -> Result<(), Error> {
        let Some(call) = T::HPTT else { return Ok(()) };
        let (one, zero) = (T::numbered(1), T::numbered(0));
        let rows = hptt::MemoryOrder::RowMajor;
        call(&self.order, one, src, self.sizes, zero, dst, self.threads, rows)
            .map_err(failed("hptt"))
    }
}
