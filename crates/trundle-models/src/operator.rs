//! The operators of models and their parameters.

use trundle_core::DType;
use trundle_core::ops::PadMode;

use crate::arithmetic::Arithmetic;
use crate::{Body, Constant};

/// The operator of a node.
///
/// Unless stated otherwise, input 0 is the data and output 0 the result. Negative axes count from the end.
/// An omitted list of axes means all axes in order.
///
/// Readers translate their dialect's defaults, old forms and limits, so that operators mean the same for all dialects.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Operator {
    /// A tensor of the file.
    Constant(Constant),
    /// Returns the data unchanged.
    Identity,
    /// Runs the first body if input 0, a boolean that must be known when the model is resolved, is true; otherwise the
    /// second.
    Choose([Body; 2]),
    /// Runs a body repeatedly, as ONNX's Loop. Input 0 is the number of iterations, input 1 the initial condition, a
    /// boolean. Each may be omitted, or must be known when the model is resolved.
    ///
    /// The body's inputs are the index of the iteration, the condition and the carried values, which begin as the
    /// node's inputs 2 and on. The body's outputs are the next condition, the new carried values, and tensors that are
    /// stacked along a new axis 0. The node's outputs are the final carried values and the stacked tensors.
    Loop(Body),
    /// Runs a body for each index of an axis, as ONNX's Scan.
    ///
    /// The last inputs are sliced along their axes in `cuts`; the other inputs are carried values. The body's inputs
    /// are the carried values and one slice of each sliced input; its outputs are the new carried values and tensors to
    /// stack. The node's outputs are the final carried values and the stacked tensors.
    Scan {
        /// The body.
        body: Body,
        /// The axis along which each of the last inputs is cut.
        cuts: Vec<ScanAxis>,
        /// The new axis along which each of the last outputs is stacked.
        stacks: Vec<ScanAxis>,
    },
    /// Converts a constant to a type that represents all its values exactly, such as f16 to f32. Other data is refused,
    /// because this would compute.
    Widen(DType),
    /// Arithmetic on values that are known from shapes and constants. Arithmetic on elements of the model's
    /// inputs is refused.
    Arithmetic(Arithmetic),
    /// [`Roll`](trundle_core::ops::Roll). A scalar shift or a list of one applies to all axes.
    Roll {
        /// The shifts.
        shift: Integers,
        /// The axes.
        axes: Integers,
    },
    /// [`Transpose`](trundle_core::ops::Transpose). An empty order reverses the axes.
    Transpose {
        /// The input axis of each output axis.
        order: Integers,
    },
    /// [`ReverseSequence`](trundle_core::ops::ReverseSequence).
    ReverseSequence {
        /// One length for each index of the batch axis.
        lengths: Integers,
        /// The batch axis.
        batch_axis: i64,
        /// The sequence axis.
        sequence_axis: i64,
    },
    /// [`Flip`](trundle_core::ops::Flip) of the listed axes.
    Flip {
        /// The axes.
        axes: Integers,
    },
    /// [`Flip`](trundle_core::ops::Flip) of the axes whose mask entry is not 0.
    FlipMask {
        /// One entry for each axis.
        mask: Integers,
    },
    /// Changes the shape; elements keep their row-major order. One size may be -1, which is inferred.
    Reshape {
        /// The sizes.
        sizes: Integers,
        /// The meaning of a size of 0.
        zero: ZeroSize,
    },
    /// Removes axes of size 1, all if `axes` is `None`.
    Squeeze {
        /// The axes.
        axes: Option<Integers>,
        /// Whether a listed axis of another size is kept instead of refused (an option of OpenVINO's Squeeze-15).
        keeps_others: bool,
    },
    /// Inserts axes of size 1.
    Unsqueeze {
        /// The axes of the output.
        axes: Integers,
    },
    /// Reshapes to rank 2: merges the axes before `axis`, and all others.
    Flatten {
        /// From 0 to the rank, inclusive.
        axis: i64,
    },
    /// Slices as ONNX's Slice: negative bounds count from the end, bounds beyond the size are clamped, and
    /// steps may be negative.
    Slice {
        /// The first indices.
        starts: Integers,
        /// The ends, exclusive.
        stops: Integers,
        /// The axes.
        axes: Option<Integers>,
        /// The steps; all 1 if omitted.
        steps: Option<Integers>,
    },
    /// Slices as OpenVINO's StridedSlice-1.
    StridedSlice {
        /// The first indices.
        begin: Integers,
        /// The ends, exclusive.
        end: Integers,
        /// The steps; all 1 if omitted.
        strides: Option<Integers>,
        /// Entries with a special meaning.
        masks: StridedSliceMasks,
    },
    /// Splits the data along an axis, one part for each output.
    Split {
        /// The axis; one entry.
        axis: Integers,
        /// The sizes of the parts.
        parts: Parts,
    },
    /// Concatenates all inputs along an axis.
    Concat {
        /// The axis.
        axis: i64,
    },
    /// Repeats the data along each axis, as OpenVINO's Tile-1. If repeats and shape differ in length, the shorter one
    /// is extended by ones at its front.
    Tile {
        /// The number of repeats along each axis.
        repeats: Integers,
    },
    /// Repeats the data along one axis, as the first version of ONNX's Tile.
    TileAxis {
        /// The number of repeats; one entry.
        repeats: Integers,
        /// The axis; one entry.
        axis: Integers,
    },
    /// Broadcasts the data to a larger shape.
    Broadcast {
        /// The target sizes, or the shape to broadcast with.
        sizes: Integers,
        /// How axes of output and data correspond.
        rule: BroadcastRule,
    },
    /// Pads the data with a constant; negative amounts crop.
    Pad {
        /// The amounts before and after.
        pads: Pads,
        /// The axes.
        axes: Option<Integers>,
        /// The constant; zero if omitted.
        value: Option<PadValue>,
    },
    /// Pads the data with its own elements; negative amounts crop.
    PadElements {
        /// The amounts before and after.
        pads: Pads,
        /// The axes.
        axes: Option<Integers>,
        /// The elements to pad with.
        mode: PadMode,
        /// Whether the data is padded before it is cropped, as in OpenVINO's Pad, so that the padding may repeat
        /// cropped elements. An amount is then at most the size of the data, or the size - 1 if the mirror image omits
        /// the outermost element.
        once: bool,
    },
    /// Moves blocks of channels (axis 1) to the axes after it.
    DepthToSpace {
        /// The block size along each axis.
        block: usize,
        /// The position of the block's axes within the channel axis.
        order: BlockOrder,
    },
    /// Moves blocks of the axes after the channels (axis 1) into the channels.
    SpaceToDepth {
        /// The block size along each axis.
        block: usize,
        /// The position of the block's axes within the channel axis.
        order: BlockOrder,
    },
    /// Moves blocks of the batch (axis 0) to the axes after it, then crops those axes.
    BatchToSpace {
        /// The block size along each axis; 1 along the batch.
        block: Integers,
        /// The amounts to crop; 0 along the batch.
        crops: Pads,
    },
    /// Pads with zeros, then moves blocks of the axes after the batch (axis 0) into the batch.
    SpaceToBatch {
        /// The block size along each axis; 1 along the batch.
        block: Integers,
        /// The padding; 0 along the batch.
        pads: Pads,
    },
    /// Crops or zero-pads both ends of each axis; an odd amount is one larger at the end.
    CenterCropPad {
        /// The sizes.
        sizes: Integers,
        /// The axes.
        axes: Option<Integers>,
    },
    /// Resizes by nearest neighbour. `scales`, `sizes` or both are present and not empty.
    Resize {
        /// The scale of each axis.
        scales: Option<Floats>,
        /// The output sizes.
        sizes: Option<Integers>,
        /// The meaning of the sizes.
        aspect: AspectRatio,
        /// The axes.
        axes: Option<Integers>,
        /// Zero padding before resizing: the amounts before and after, from the first axis on.
        pads: [Vec<i64>; 2],
        /// The position in the data of an output index.
        coordinates: Coordinates,
        /// How to round the position to an index.
        nearest: Nearest,
        /// The smallest scale allowed.
        least: LeastScale,
    },
    /// Dropout: returns the data unchanged. Training with a ratio above 0 is refused. The second output is true
    /// everywhere.
    Dropout {
        /// The input with the ratio; 0.5 if omitted.
        ratio: Option<usize>,
        /// The input with the training flag.
        training: Option<Integers>,
    },
    /// Returns the shape of the data, or the sizes of a range of axes.
    Shape {
        /// The first axis, clamped to the rank.
        start: i64,
        /// The end, exclusive and also clamped; the rank if omitted.
        end: Option<i64>,
        /// i32 or i64.
        element: DType,
    },
    /// Returns the number of elements of the data.
    Size,
    /// A tensor with the same value everywhere.
    Filled {
        /// The shape.
        sizes: Integers,
        /// The value, a tensor of one element.
        value: Constant,
    },
    /// Matrices with ones on a diagonal and zeros elsewhere.
    Eye {
        /// The shape.
        sizes: EyeSizes,
        /// The offset of the diagonal to the right, in columns; one entry.
        diagonal: Integers,
        /// The element type (default: the type of input 0).
        element: Option<DType>,
    },
    /// Keeps the data on and to one side of a diagonal of the last two axes. The rest becomes zero.
    Trilu {
        /// The offset of the diagonal to the right, in columns; one entry, 0 if omitted.
        diagonal: Option<Integers>,
        /// Whether to keep the right (upper) side instead of the left.
        is_upper: bool,
    },
    /// Returns the numbers from input 0 to input 1, exclusive, in steps of input 2.
    Range {
        /// The element type; the type of the inputs if omitted.
        element: Option<DType>,
        /// Whether 16-bit floats are computed in f32 instead of f64.
        single: bool,
    },
    /// [`Take`](trundle_core::ops::Take): selects the elements at indices along an axis. Input 1 holds the
    /// indices.
    Gather {
        /// The axis; one entry.
        axis: Integers,
        /// The number of batch axes of data and indices. The rank of the indices is added to a negative number.
        batch_axes: i64,
        /// How indices outside the axis are treated.
        rule: IndexRule,
    },
    /// Replaces each index (input 1) by the element of the data at that index along the axis, and at the same position
    /// along all other axes.
    GatherElements {
        /// The axis.
        axis: i64,
    },
    /// [`GatherNd`](trundle_core::ops::GatherNd). Input 1 holds the indices.
    GatherNd {
        /// The number of batch axes of data and indices.
        batch_axes: usize,
        /// Whether the batch axes are merged in the output, as in OpenVINO's GatherND-5.
        merges_batch: bool,
    },
    /// Replaces elements of the data by input 2, at the positions that [`Operator::GatherElements`] would read.
    ScatterElements {
        /// The axis.
        axis: Integers,
        /// Whether negative indices count from the end instead of being refused.
        counts_back: bool,
    },
    /// Replaces elements or slices of the data by input 2, at the positions that [`Operator::GatherNd`]
    /// would read.
    ScatterNd,
    /// Replaces slices of the data by input 2, at the positions that [`Operator::Gather`] would read.
    /// Negative indices are refused.
    ScatterUpdate {
        /// The axis; one entry.
        axis: Integers,
    },
    /// Replaces a slice of the data by input 1.
    SliceScatter {
        /// The first indices.
        starts: Integers,
        /// The ends, exclusive.
        stops: Integers,
        /// The axes.
        axes: Option<Integers>,
        /// The steps; all 1 if omitted.
        steps: Option<Integers>,
    },
    /// Writes the rows of input 1 into the data, a cache with one sequence for each batch entry, as ONNX's
    /// TensorScatter. The optional input 2 holds the position of the first row for each batch entry, otherwise 0.
    TensorScatter {
        /// The sequence axis; not the first.
        axis: i64,
        /// Whether rows beyond the end are written at the start.
        is_circular: bool,
    },
    /// Patches of an image as OpenVINO's ExtractImagePatches-3.
    Patches {
        /// Height and width of a patch.
        sizes: [usize; 2],
        /// The distance between patches.
        strides: [usize; 2],
        /// The distance between elements of a patch.
        rates: [usize; 2],
        /// How patches beyond the image are treated.
        padding: PatchPadding,
    },
    /// Interleaves the channels of the groups: output channel `i * groups + g` is channel `i` of group `g`.
    ShuffleChannels {
        /// The axis.
        axis: i64,
        /// The number of groups.
        groups: usize,
    },
}

/// The shape of [`Operator::Eye`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EyeSizes {
    /// The shape of the data, a matrix.
    OfData,
    /// Given sizes.
    Given {
        /// The number of rows; one entry.
        rows: Integers,
        /// The number of columns; one entry.
        columns: Integers,
        /// The sizes before the matrix; none if omitted.
        batch: Option<Integers>,
    },
}

/// An axis with one index for each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanAxis {
    /// Negative numbers count from the end.
    pub axis: i64,
    /// Whether iterations run backward.
    pub is_backward: bool,
}

/// How a gather treats indices outside the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexRule {
    /// Negative indices and indices beyond the end are refused.
    Within,
    /// Negative indices count from the end; others outside are refused.
    CountsBack,
    /// Negative indices count from the end; others outside read zero.
    ZeroOutside,
}

/// How patches beyond the image are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchPadding {
    /// They are left out.
    Valid,
    /// The image is padded with zeros; an odd amount is one larger at the end.
    SameUpper,
    /// The image is padded with zeros; an odd amount is one larger at the start.
    SameLower,
}

/// A list of integers, from the file or from an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integers {
    /// The list.
    Given(Vec<i64>),
    /// The elements of an input: a list, or a scalar, which counts as a list of one.
    Input {
        /// The index of the node's input.
        input: usize,
        /// The element types allowed.
        types: IntegerTypes,
    },
}

/// A list of floats, from the file or from an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Floats {
    /// The list.
    Given(Vec<f64>),
    /// The elements of the input with this index, of any float type.
    Input(usize),
}

/// The element types allowed for a list of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerTypes {
    /// i64.
    I64,
    /// i32 or i64.
    I32OrI64,
    /// Every integer type, including packed ones.
    Integers,
    /// Every integer type, and floats whose values are whole numbers.
    Numbers,
    /// Boolean or any integer type, for masks.
    Mask,
}

/// The meaning of a size of 0 in a reshape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroSize {
    /// The size of the same axis of the input.
    Copies,
    /// Zero.
    Zero,
}

/// Entries of a strided slice with a special meaning, marked by 1. Missing entries are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StridedSliceMasks {
    /// `begin` is ignored: the slice starts at the first element in the direction of the stride.
    pub begin: Vec<i64>,
    /// `end` is ignored: the slice extends to the last element in the direction of the stride.
    pub end: Vec<i64>,
    /// A new axis of size 1.
    pub new_axis: Vec<i64>,
    /// A single index of the axis, which is removed from the output.
    pub shrink_axis: Vec<i64>,
    /// An ellipsis: all axes without an entry, each taken whole.
    pub ellipsis: Vec<i64>,
}

/// The sizes of the parts of a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Equal parts, one for each output.
    Equal,
    /// Equal parts, one for each output; the last may be smaller (ONNX opset 18 and later).
    LastSmaller,
    /// Given sizes; one may be -1, which is inferred (OpenVINO).
    Sizes(Integers),
}

/// The amounts to pad before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pads {
    /// One list: all begins, then all ends.
    Both(Integers),
    /// Two lists.
    Each {
        /// Before the first element of each axis.
        begins: Integers,
        /// After the last element of each axis.
        ends: Integers,
    },
}

/// The padding value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadValue {
    /// The only element of this input, which has the data's type.
    Input(usize),
    /// This value, converted to the data's type, which is f16, bf16, f32 or f64.
    Float(f32),
}

/// How the axes of output and data correspond in a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BroadcastRule {
    /// Aligned at the last axis; the output has the given sizes.
    ToSizes,
    /// Aligned at the last axis. Where the given size is 1 or missing, the data's size is kept.
    BothWays,
    /// The output axis of each axis of the data.
    Mapped(Integers),
}

/// The meaning of the sizes of a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AspectRatio {
    /// Output sizes.
    Stretched,
    /// Upper bounds: all axes have the same scale, and none exceeds its bound.
    NotLarger,
    /// Lower bounds: all axes have the same scale, and none is below its bound.
    NotSmaller,
}

/// The smallest scale that a resize allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastScale {
    /// Above 0.
    OverZero,
    /// 1 or more.
    One,
}

/// The position in the data for index x on an axis of a resize's output.
#[derive(Clone, Debug, PartialEq)]
pub enum Coordinates {
    /// (x + 0.5) / scale - 0.5.
    HalfPixel,
    /// Like `HalfPixel`, but centred for the exact output size, scale times data size, without rounding
    /// down.
    HalfPixelSymmetric,
    /// Like `HalfPixel`, but 0 if the output size is 1.
    PytorchHalfPixel,
    /// First and last indices coincide: x (data size - 1) / (output size - 1).
    AlignCorners {
        /// Whether the output size is scale times data size, without rounding down.
        unrounded: bool,
    },
    /// x / scale.
    Asymmetric,
    /// (x + 0.5) / scale.
    TfHalfPixelForNn,
    /// Like `AlignCorners`, with a part of the data.
    TfCropAndResize {
        /// Beginning and end of the part along each axis; 0 is the first index, 1 the last.
        part: Floats,
        /// The value for positions outside the data.
        outside: f32,
    },
}

/// The rounding of a position to an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// To the nearest; halves down.
    RoundPreferFloor,
    /// To the nearest; halves up.
    RoundPreferCeil,
    /// Down.
    Floor,
    /// Up.
    Ceil,
    /// Up if the scale is less than 1, else down.
    Simple,
}

/// The position of a block's axes within the channel axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOrder {
    /// First: channel = block position x depth + depth index (ONNX `DCR`, OpenVINO `blocks_first`).
    BlocksFirst,
    /// Last: channel = depth index x blocks + block position (ONNX `CRD`, OpenVINO `depth_first`).
    DepthFirst,
}
