use trundle::{Destination, Result, Shape, Tensor, TensorView, TensorViewMut};
use trundle_testing::PlainOp;

/// Calls `$function(data, ...)`, or `$into(data, ..., out)`.
macro_rules! call {
    ($op:expr, $data:expr, $($out:expr)?) => {
        match $op {
            PlainOp::Roll { shift, axes } => {
                call!(@ roll roll_into [$data, shift, axes] $($out)?)
            }
            PlainOp::Transpose { order } => {
                call!(@ transpose transpose_into [$data, order] $($out)?)
            }
            PlainOp::Rot90 { k, axes } => call!(@ rot90 rot90_into [$data, *k, *axes] $($out)?),
            PlainOp::Flip { axes } => call!(@ flip flip_into [$data, axes] $($out)?),
            PlainOp::ReverseSubsequences { axis, lengths } => {
                let mut sizes = $data.shape().sizes().to_vec();
                let normal = trundle::normalize_axis("axis", *axis, sizes.len())?;
                sizes[normal] = 1;
                let lengths = TensorView::from_slice(lengths, &Shape::new(sizes)?)?;
                call!(@ reverse_subsequences reverse_subsequences_into
                    [$data, &lengths, *axis] $($out)?)
            }
            PlainOp::ReverseSequence { axis, batch_axis, lengths } => {
                let lengths: Vec<i64> = lengths.iter().map(|length| *length as i64).collect();
                call!(@ reverse_sequence reverse_sequence_into
                    [$data, &lengths, *axis, *batch_axis] $($out)?)
            }
        }
    };
    (@ $function:ident $into:ident [$($argument:expr),*]) => { trundle::$function($($argument),*) };
    (@ $function:ident $into:ident [$($argument:expr),*] $out:expr) => {
        trundle::$into($($argument),*, $out)
    };
}

pub(crate) fn apply<T: Copy + 'static>(
    op: &PlainOp,
    data: &TensorView<'_, T>,
) -> Result<Tensor<T>> {
    call!(op, data,)
}

pub(crate) fn apply_into<T: Copy + 'static, D: Destination<T>>(
    op: &PlainOp,
    data: &TensorView<'_, T>,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    call!(op, data, out)
}
