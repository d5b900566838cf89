//! Repeated and almost repeated calls give the same result or error as an operator that is planned anew.

use proptest::prelude::Strategy;
use proptest::prop_assert_eq;
use proptest::sample::select;
use trundle::lowering::Move;
use trundle::ops::ReverseSubsequences;
use trundle::{
    DType, DTypeError, Error, IndexMap, Layout, Result, Shape, Tensor, TensorView, TensorViewMut,
};
use trundle_testing::cases::{LayoutNumbers, buffer_bytes, chains, layouts};
use trundle_testing::{MOST_BOXES, Outcome, PlainOp, holds};

use crate::calls::{apply, apply_into};

#[derive(Debug)]
struct Operator {
    /// `None` for a copy.
    plain: Option<PlainOp>,
    shape: Vec<usize>,
}

impl Operator {
    fn lengths(&self) -> (Vec<u8>, Shape) {
        let Some(PlainOp::ReverseSubsequences { axis, lengths }) = &self.plain else {
            return (Vec::new(), Shape::new([0]).unwrap());
        };
        let mut sizes = self.shape.clone();
        let axis = trundle::normalize_axis("axis", *axis, sizes.len()).unwrap();
        sizes[axis] = 1;
        let bytes = lengths.iter().flat_map(|length| length.to_ne_bytes()).collect();
        (bytes, Shape::new(sizes).unwrap())
    }

    /// Returns the bytes of the result without `out`.
    fn call(&self, data: &TensorView<'_>, out: Option<&mut TensorViewMut<'_>>) -> Result<Vec<u8>> {
        let (bytes, shape) = self.lengths();
        let tensor = match (&self.plain, out) {
            (None, None) => trundle::contiguous(data),
            (None, Some(out)) => return trundle::copy_into(data, out).map(|()| Vec::new()),
            (Some(PlainOp::ReverseSubsequences { axis, .. }), out) => {
                let lengths = TensorView::row_major(&bytes, DType::U64, &shape)?;
                match out {
                    None => trundle::reverse_subsequences(data, &lengths, *axis),
                    Some(out) => {
                        trundle::reverse_subsequences_into(data, &lengths, *axis, out)?;
                        return Ok(Vec::new());
                    }
                }
            }
            (Some(plain), None) => apply(plain, data),
            (Some(plain), Some(out)) => return apply_into(plain, data, out).map(|()| Vec::new()),
        };
        tensor.map(Tensor::into_bytes)
    }

    fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        match &self.plain {
            None => Ok(IndexMap::identity(shape)),
            Some(PlainOp::ReverseSubsequences { axis, .. }) => {
                let (bytes, of) = self.lengths();
                let lengths = TensorView::row_major(&bytes, DType::U64, &of)?;
                ReverseSubsequences::from_view(*axis, &lengths)?.index_map(shape)
            }
            Some(plain) => plain.op().index_map(shape),
        }
    }

    fn write(&self, data: &TensorView<'_>, out: &Layout, bytes: &mut [u8]) -> Result<()> {
        let map = self.index_map(data.shape())?;
        let work = Move::new(&map, data.dtype().width(), data.layout(), out, MOST_BOXES)?;
        let width = work.width();
        work.for_each_pair(|from, to| {
            bytes[to..to + width].copy_from_slice(&data.bytes()[from..from + width]);
        });
        Ok(())
    }

    fn expected(&self, data: &TensorView<'_>) -> Result<Vec<u8>> {
        let shape = self.index_map(data.shape())?.out_shape().clone();
        let out = Layout::row_major(&shape, data.dtype().width())?;
        let mut bytes = vec![0; shape.bytes(data.dtype().width())?];
        self.write(data, &out, &mut bytes).map(|()| bytes)
    }
}

/// The indices of the operator and of the shapes, element types and layouts of its two tensors.
#[derive(Clone, Copy, Debug)]
struct Combination {
    operator: usize,
    data: [usize; 3],
    out: [usize; 3],
}

impl Combination {
    /// All combinations of two or three of each.
    fn all() -> Vec<Combination> {
        let bits = |number: usize| [number & 1, number >> 1 & 1, number >> 2 & 1];
        let call = |number: usize| Combination {
            operator: number / 64,
            data: bits(number),
            out: bits(number / 8),
        };
        (0..3 * 64).map(call).collect()
    }
}

#[derive(Debug)]
struct Case {
    operators: [Operator; 3],
    shapes: [[Vec<usize>; 2]; 2],
    dtypes: [DType; 2],
    layouts: [[LayoutNumbers; 2]; 2],
}

impl Case {
    fn check(&self, call: Combination) -> Outcome {
        let operator = &self.operators[call.operator];
        let view_of = |side: usize, [shape, dtype, layout]: [usize; 3]| {
            let (shape, dtype) = (&self.shapes[side][shape], self.dtypes[dtype]);
            let numbers = &self.layouts[side][layout];
            let layout = match side {
                0 => numbers.source(shape, dtype.width()),
                _ => numbers.destination(shape, dtype.width()),
            };
            let bytes = buffer_bytes(&layout, dtype.width());
            (layout, dtype, bytes)
        };
        let (layout, dtype, size) = view_of(0, call.data);
        let bytes: Vec<u8> = (0..size).map(|byte| (byte * 7 + byte / 251) as u8).collect();
        let data = TensorView::new(&bytes, dtype, layout).unwrap();
        let (layout, dtype, size) = view_of(1, call.out);
        let (mut got, mut expected) = (vec![0xa5; size], vec![0xa5; size]);

        let mut out = TensorViewMut::new(&mut got, dtype, layout.clone()).unwrap();
        let outcome = operator.call(&data, Some(&mut out)).map(|_| ());
        let right = if dtype == data.dtype() {
            operator.write(&data, &layout, &mut expected)
        } else {
            let expected = vec![data.dtype()];
            Err(Error::DType(DTypeError::DTypeMismatch { argument: "out", expected, got: dtype }))
        };
        prop_assert_eq!(outcome, right, "{:?}", call);
        prop_assert_eq!(got, expected, "{:?}", call);
        prop_assert_eq!(operator.call(&data, None), operator.expected(&data), "{:?}", call);
        Ok(())
    }
}

/// Types of equal and of different widths, and of no bytes.
const DTYPES: &[DType] = &[
    DType::U8,
    DType::I8,
    DType::F32,
    DType::I32,
    DType::Complex128,
    DType::Bytes(3),
    DType::Bytes(0),
];

#[test]
fn repeated_calls_agree_with_newly_planned_ones() {
    let chains = [chains(120, 1), chains(120, 1)];
    let dtypes = [select(DTYPES), select(DTYPES)];
    let layouts = [[layouts(), layouts()], [layouts(), layouts()]];
    let values = (chains, dtypes, layouts).prop_map(|(chains, dtypes, layouts)| {
        let operator = |number: usize| Operator {
            plain: chains.get(number).and_then(|chain| chain.ops.first()).cloned(),
            shape: chains.get(number).map(|chain| chain.shape.clone()).unwrap_or_default(),
        };
        let given = [0, 1].map(|number: usize| chains[number].shape.clone());
        let made = [0, 1].map(|number: usize| chains[number].naive().shape().to_vec());
        Case { operators: [0, 1, 2].map(operator), shapes: [given, made], dtypes, layouts }
    });
    holds(128, &values, |case| {
        let calls = Combination::all();
        for number in 0..calls.len() {
            // Neighbours differ in one property. Each call is repeated at once and after many others.
            for again in [number, number, number.saturating_sub(1), number / 2] {
                case.check(calls[again])?;
            }
        }
        Ok(())
    });
}
