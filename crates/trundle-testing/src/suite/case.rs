//! The cases of the suite.

use std::fmt;
use std::ops::Range;

use proptest::array::uniform2;
use proptest::strategy::Strategy;
use trundle_core::{IndexMap, Layout, Shape};

use crate::cases::{Chain, chains, layouts, many_axes, widths, windows};
use crate::shapings::{ShapingChain, shaping_chains};
use crate::{Naive, PlainOp, composed};

/// A chain between two layouts.
#[derive(Clone, Debug)]
pub struct Case {
    /// The source's shape, the operators, and the oracle's result.
    pub chain: ShapingChain,
    /// The part of the output that is computed, with a range for each axis.
    pub window: Vec<Range<usize>>,
    /// The size of an element in bytes.
    pub width: usize,
    /// The layout of the source.
    pub src: Layout,
    /// The layout of the window.
    pub dst: Layout,
}

impl Case {
    /// Computes the whole output, from row-major to row-major, at the given `offsets`.
    ///
    /// # Panics
    /// If the sizes do not fit into memory.
    pub fn contiguous(shape: &[usize], ops: &[PlainOp], width: usize, offsets: [usize; 2]) -> Case {
        let chain = Chain { shape: shape.to_vec(), ops: ops.to_vec() };
        Case::contiguous_chain(chain.into(), width, offsets)
    }

    /// [`Case::contiguous`] for any chain.
    pub(crate) fn contiguous_chain(chain: ShapingChain, width: usize, offsets: [usize; 2]) -> Case {
        let layout = |shape: &[usize], offset| {
            let shape = Shape::new(shape).expect("a shape that fits in memory");
            let packed = Layout::row_major(&shape, width).expect("a tensor that fits in memory");
            Layout::strided(&shape, offset, packed.strides_bytes()).expect("as many strides")
        };
        Case {
            window: chain.naive.shape().iter().map(|size| 0..*size).collect(),
            width,
            src: layout(&chain.shape, offsets[0]),
            dst: layout(chain.naive.shape(), offsets[1]),
            chain,
        }
    }

    /// Random cases of all operators, with at most `most_elements` elements, between contiguous tensors, because not
    /// every layout allows splitting and merging axes.
    pub fn shaping(most_elements: usize) -> impl Strategy<Value = Case> {
        let numbers = (shaping_chains(most_elements, 4), widths(), uniform2(0..70usize));
        numbers.prop_map(|(chain, width, offsets)| Case::contiguous_chain(chain, width, offsets))
    }

    /// Random cases of many short axes, with at most `most_elements` elements: between contiguous tensors at odd
    /// offsets, or between any two layouts.
    pub fn many_axes(most_elements: usize) -> impl Strategy<Value = Case> {
        let numbers = (many_axes(most_elements), widths(), layouts(), layouts());
        (numbers, uniform2(0..70usize), 0..4u8).prop_map(|(numbers, offsets, turn)| {
            let (chain, width, src, dst) = numbers;
            let aligned = offsets.map(|offset| offset / 64 * 64);
            let offsets = if turn == 0 { aligned } else { offsets };
            let shape = chain.shape.clone();
            let packed = Case::contiguous_chain(chain.into(), width, offsets);
            let src = if turn < 3 { packed.src } else { src.source(&shape, width) };
            let dst = match turn {
                0 | 1 => packed.dst,
                _ => dst.nested_destination(packed.chain.naive.shape(), width),
            };
            Case { src, dst, ..packed }
        })
    }

    /// Random cases with at most `most_elements` elements.
    pub fn any(most_elements: usize) -> impl Strategy<Value = Case> {
        let numbers = (chains(most_elements, 4), windows(), widths(), layouts(), layouts());
        numbers.prop_map(|(chain, window, width, src, dst)| {
            let out = chain.naive();
            let window = window.fit(out.shape());
            let src = src.source(&chain.shape, width);
            let dst = dst.destination(out.within(&window).shape(), width);
            Case { chain: chain.into(), window, width, src, dst }
        })
    }

    /// The maps of the operators, composed where possible. The last one computes the window.
    ///
    /// # Errors
    /// The errors of the operators.
    pub fn passes(&self) -> trundle_core::Result<Vec<IndexMap>> {
        let mut shape = Shape::new(&self.chain.shape[..])?;
        let mut maps = vec![IndexMap::identity(&shape)];
        for op in &self.chain.ops {
            maps.push(op.index_map(&shape)?);
            shape = maps[maps.len() - 1].out_shape().clone();
        }
        let mut passes = composed(maps)?;
        if let Some(last) = passes.last_mut() {
            *last = last.restrict(&self.window)?;
        }
        Ok(passes)
    }

    /// The oracle's result: for each position of the window, the label of its source element.
    pub fn naive(&self) -> Naive {
        self.chain.naive.within(&self.window)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shape {:?} of {}-byte elements", self.chain.shape, self.width)?;
        for op in &self.chain.ops {
            write!(f, " | {op:#}")?;
        }
        write!(f, ", window {:?}", self.window)?;
        for (name, layout) in [("source", &self.src), ("destination", &self.dst)] {
            let (offset, strides) = (layout.offset_bytes(), layout.strides_bytes());
            write!(f, ", {name} at byte {offset} with strides {strides:?}")?;
        }
        Ok(())
    }
}

pub(super) fn row_major(shape: &Shape, width: usize) -> Layout {
    Layout::row_major(shape, width).expect("the sizes of a case are small")
}
