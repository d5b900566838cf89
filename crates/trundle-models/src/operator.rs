//! The operators of models, with parameters that are given or read from the graph.

use trundle_core::DType;
use trundle_core::ops::PadMode;

use crate::arithmetic::Arithmetic;
use crate::{Body, Constant};

/// What a node does. Unless it says otherwise, input 0 is the data and output 0 what it becomes.
///
/// A dialect's defaults, old forms and limits end in its own table; what is left here means the
/// same for all.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Operator {
    /// A tensor that the file holds.
    Constant(Constant),
    /// The data as it is.
    Identity,
    /// What the first body gives where input 0, a boolean that must be known, is true; else what the second one does.
    Choose([Body; 2]),
    /// A body run again and again, as ONNX's Loop has it: as often as input 0 says, while input 1, a boolean, is true. Both
    /// may be left out, and must be known else.
    ///
    /// The body is given the number of the iteration, the boolean, and what is carried, which is inputs 2 and on at first. It
    /// gives whether it is run again, what is carried on, and tensors that are stacked along a new axis 0. The outputs are
    /// what is carried at the end, and those.
    Loop(Body),
    /// A body run for each index of an axis, as ONNX's Scan has it.
    ///
    /// The last inputs are cut along their axes, and the others are carried. The body is given what is carried, and the parts
    /// at the index; it gives what is carried on, and tensors that are stacked. The outputs are what is carried at the end,
    /// and those.
    Scan {
        /// What is run.
        body: Body,
        /// The axis along which each of the last inputs is cut.
        cuts: Vec<ScanAxis>,
        /// The new axis along which each of the last outputs is stacked.
        stacks: Vec<ScanAxis>,
    },
    /// A constant in another element type, one that holds every value of its own exactly, as f32
    /// holds those of f16. Of anything but a constant this would be computing, and is refused.
    Widen(DType),
    /// Numbers that are reckoned from those that shapes and constants alone say. Of elements of the model's inputs this
    /// would be computing, and is refused.
    Arithmetic(Arithmetic),
    /// [`Roll`](trundle_core::ops::Roll). A scalar shift, or one of one entry, is for all axes.
    Roll {
        /// By how much.
        shift: Integers,
        /// Which axes; negative ones count from the end.
        axes: Integers,
    },
    /// [`Transpose`](trundle_core::ops::Transpose). An empty order inverts the axes.
    Transpose {
        /// Which input axis each output axis is.
        order: Integers,
    },
    /// [`ReverseSequence`](trundle_core::ops::ReverseSequence).
    ReverseSequence {
        /// One length for each index of the batch axis.
        lengths: Integers,
        /// Negative ones count from the end.
        batch_axis: i64,
        /// Negative ones count from the end.
        sequence_axis: i64,
    },
    /// [`Flip`](trundle_core::ops::Flip) of the listed axes; negative ones count from the end.
    Flip {
        /// Which axes.
        axes: Integers,
    },
    /// [`Flip`](trundle_core::ops::Flip) of the axes whose entry is not 0.
    FlipMask {
        /// One entry for each axis.
        mask: Integers,
    },
    /// The same elements in row-major order, in another shape. One size may be -1: what is left.
    Reshape {
        /// The sizes.
        sizes: Integers,
        /// What a size of 0 means.
        zero: ZeroSize,
    },
    /// Axes of size 1 left out: all of them without `axes`.
    Squeeze {
        /// Which; negative ones count from the end.
        axes: Option<Integers>,
        /// Whether a listed axis of another size stays (OpenVINO's Squeeze-15 may say so), instead
        /// of being refused.
        keeps_others: bool,
    },
    /// Axes of size 1 put in: these axes of the output, negative ones counted from its end.
    Unsqueeze {
        /// Which.
        axes: Integers,
    },
    /// The axes before this one merged, and the rest merged: always rank 2.
    Flatten {
        /// From 0 to the rank, both included; negative ones count from the end.
        axis: i64,
    },
    /// Elements at every `steps`-th index from `starts` on, before `stops`, as ONNX's Slice says
    /// it: negative bounds count from the end, bounds beyond the size are clamped, steps may be
    /// negative.
    Slice {
        /// The first index along each axis of `axes`.
        starts: Integers,
        /// Where it ends, excluded.
        stops: Integers,
        /// All axes in order if left out.
        axes: Option<Integers>,
        /// All 1 if left out.
        steps: Option<Integers>,
    },
    /// Slices as OpenVINO's StridedSlice-1 says it.
    StridedSlice {
        /// The first index along each axis.
        begin: Integers,
        /// Where it ends, excluded.
        end: Integers,
        /// All 1 if left out.
        strides: Option<Integers>,
        /// Which entries of the lists mean something else.
        masks: StridedSliceMasks,
    },
    /// The data cut along an axis, one part for each output.
    Split {
        /// Which axis; one entry, negative ones count from the end.
        axis: Integers,
        /// How large the parts are.
        parts: Parts,
    },
    /// All inputs one after another along an axis.
    Concat {
        /// Negative ones count from the end.
        axis: i64,
    },
    /// The data repeated along each axis. Fewer or more entries than axes count from the last,
    /// missing ones being 1 (of either), as OpenVINO's Tile-1 has it.
    Tile {
        /// How often.
        repeats: Integers,
    },
    /// The data repeated along one axis, as ONNX's first Tile has it.
    TileAxis {
        /// How often; one entry.
        repeats: Integers,
        /// Which axis; one entry, negative ones count from the end.
        axis: Integers,
    },
    /// The data in a larger shape: axes of size 1 made longer, and new ones.
    Broadcast {
        /// The sizes, or those that it is broadcast with.
        sizes: Integers,
        /// Which axis of the data is which of the output.
        rule: BroadcastRule,
    },
    /// The data with a constant around it; negative numbers cut off instead.
    Pad {
        /// How much before and after.
        pads: Pads,
        /// All axes in order if left out; negative ones count from the end.
        axes: Option<Integers>,
        /// The constant; zero if left out.
        value: Option<PadValue>,
    },
    /// The data with elements of its own around it; negative numbers cut off instead.
    PadElements {
        /// How much before and after.
        pads: Pads,
        /// All axes in order if left out; negative ones count from the end.
        axes: Option<Integers>,
        /// Which elements.
        mode: PadMode,
        /// Whether no more than the data has in a row may be put there, as OpenVINO's Pad has it: of a mirror image
        /// without the outermost element one less than the size. All of the data is mirrored then, also what is cut
        /// off.
        once: bool,
    },
    /// Blocks of channels (axis 1) spread over the axes after it.
    DepthToSpace {
        /// The length of a block's side.
        block: usize,
        /// Where in the channel axis the block's axes lie.
        order: BlockOrder,
    },
    /// Blocks of the axes after the channels (axis 1) gathered into it.
    SpaceToDepth {
        /// The length of a block's side.
        block: usize,
        /// Where in the channel axis the block's axes lie.
        order: BlockOrder,
    },
    /// Blocks of the batch (axis 0) spread over the axes after it, and cut off at their ends.
    BatchToSpace {
        /// The length of a block's side along each axis; that along the batch is 1.
        block: Integers,
        /// How much is cut off: nothing of the batch.
        crops: Pads,
    },
    /// Zeros put around the data, and blocks of the axes after the batch (axis 0) gathered into it.
    SpaceToBatch {
        /// The length of a block's side along each axis; that along the batch is 1.
        block: Integers,
        /// How much is put there: nothing around the batch.
        pads: Pads,
    },
    /// The data cut off, or with zeros around it, alike on both sides, and where it cannot be so one more on the last.
    CenterCropPad {
        /// The sizes.
        sizes: Integers,
        /// All axes in order if left out; negative ones count from the end.
        axes: Option<Integers>,
    },
    /// The data in other sizes: at each index of an axis the nearest one of the data's. One of scales and sizes is
    /// there, and not empty.
    Resize {
        /// By how much the axes become longer.
        scales: Option<Floats>,
        /// How long they become.
        sizes: Option<Integers>,
        /// What the sizes mean.
        aspect: AspectRatio,
        /// All axes in order if left out; negative ones count from the end.
        axes: Option<Integers>,
        /// Zeros around the data before, from the first axis on: before, and after.
        pads: [Vec<i64>; 2],
        /// Where an index of the output lies in the data.
        coordinates: Coordinates,
        /// Which index is nearest to that.
        nearest: Nearest,
        /// The least scale.
        least: LeastScale,
    },
    /// Dropout, which is the data as it is unless it is training with a ratio over 0. A second output is all true.
    Dropout {
        /// The input that says how much is dropped, 0.5 without it.
        ratio: Option<usize>,
        /// The input that says whether it is training.
        training: Option<Integers>,
    },
    /// The sizes of the data, or some of them.
    Shape {
        /// The first axis; negative ones count from the end, and what lies beyond is the end.
        start: i64,
        /// Before which axis they end, in the same way; after the last if left out.
        end: Option<i64>,
        /// i32 or i64.
        element: DType,
    },
    /// How many elements the data has.
    Size,
    /// One element everywhere.
    Filled {
        /// The sizes.
        sizes: Integers,
        /// The element, a tensor of one.
        value: Constant,
    },
    /// Ones along a diagonal of matrices, and zeros elsewhere.
    Eye {
        /// The shape.
        sizes: EyeSizes,
        /// How many columns the diagonal lies right of the first element; one entry.
        diagonal: Integers,
        /// The type; that of input 0 if left out.
        element: Option<DType>,
    },
    /// The data on one side of a diagonal of the last two axes, the diagonal included, and zeros on the other side.
    Trilu {
        /// How many columns the diagonal lies right of the first element; one entry, 0 if left out.
        diagonal: Option<Integers>,
        /// Whether the data stays right of the diagonal, and not left of it.
        is_upper: bool,
    },
    /// The numbers from input 0 on, before that of input 1, apart by that of input 2.
    Range {
        /// Their type; that of all three inputs if left out.
        element: Option<DType>,
        /// Whether numbers of 16 bits are made of those of f32, and not of f64.
        single: bool,
    },
    /// [`Take`](trundle_core::ops::Take): the elements at indices of an axis. Input 1 are the indices.
    Gather {
        /// Which axis; one entry, negative ones count from the end.
        axis: Integers,
        /// How many axes data and indices share; a negative number counts from the rank of the indices.
        batch_axes: i64,
        /// What indices are that lie outside the axis.
        rule: IndexRule,
    },
    /// For each position of the indices, which are input 1, the element of its row along an axis.
    GatherElements {
        /// Negative ones count from the end.
        axis: i64,
    },
    /// [`GatherNd`](trundle_core::ops::GatherNd). Input 1 are the indices.
    GatherNd {
        /// How many axes data and indices share.
        batch_axes: usize,
        /// Whether these are one axis in the output, as OpenVINO's GatherND-5 has it.
        merges_batch: bool,
    },
    /// The data with elements of input 2 in the places of [`Operator::GatherElements`].
    ScatterElements {
        /// Negative ones count from the end.
        axis: Integers,
        /// Whether negative indices count from the end; they are refused else.
        counts_back: bool,
    },
    /// The data with elements or slices of input 2 in the places of [`Operator::GatherNd`].
    ScatterNd,
    /// The data with slices of input 2 in the places of [`Operator::Gather`]; no index may be negative.
    ScatterUpdate {
        /// Which axis; one entry, negative ones count from the end.
        axis: Integers,
    },
    /// The data with input 1 in the place of a slice of it.
    SliceScatter {
        /// The first index along each axis of `axes`.
        starts: Integers,
        /// Where it ends, excluded.
        stops: Integers,
        /// All axes in order if left out.
        axes: Option<Integers>,
        /// All 1 if left out.
        steps: Option<Integers>,
    },
    /// The data, which caches rows of each batch along an axis, with those of input 1 from an index of the batch on,
    /// as ONNX's TensorScatter has it: input 2, if there is one, has these, else they are 0.
    TensorScatter {
        /// Negative ones count from the end; not the first.
        axis: i64,
        /// Whether rows beyond the end begin anew.
        is_circular: bool,
    },
    /// Patches of a picture as ExtractImagePatches-3 of OpenVINO has them.
    Patches {
        /// Height and width of a patch.
        sizes: [usize; 2],
        /// How far apart two patches are.
        strides: [usize; 2],
        /// How far apart two elements of a patch are.
        rates: [usize; 2],
        /// What is done about those that reach beyond the picture.
        padding: PatchPadding,
    },
    /// Channels of each group interleaved with those of the others.
    ShuffleChannels {
        /// Negative ones count from the end.
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
    /// These sizes.
    Given {
        /// How many rows; one entry.
        rows: Integers,
        /// How many columns; one entry.
        columns: Integers,
        /// The sizes of the axes before; none if left out.
        batch: Option<Integers>,
    },
}

/// An axis that has an index for each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanAxis {
    /// Negative ones count from the end.
    pub axis: i64,
    /// Whether the first iteration has the last index.
    pub is_backward: bool,
}

/// What indices of a gather are that lie outside their axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexRule {
    /// Refused.
    Within,
    /// Negative ones count from the end; others are refused.
    CountsBack,
    /// Negative ones count from the end; in the place of others are zeros.
    ZeroOutside,
}

/// What is done about patches that reach beyond a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchPadding {
    /// They are left out.
    Valid,
    /// Zeros are put around the picture, of an odd number one more behind it.
    SameUpper,
    /// The same, of an odd number one more before it.
    SameLower,
}

/// A list of integers that the file states, or that an input gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integers {
    /// The list.
    Given(Vec<i64>),
    /// What the input of this number holds: a list, or a scalar, which is a list of one.
    Input {
        /// Which input of the node.
        input: usize,
        /// What its elements may be.
        types: IntegerTypes,
    },
}

/// A list of floats that the file states, or that an input gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Floats {
    /// The list.
    Given(Vec<f64>),
    /// What the input of this number holds, of any type of floats.
    Input(usize),
}

/// The element types that a list of integers may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerTypes {
    /// i64.
    I64,
    /// i32 or i64.
    I32OrI64,
    /// Every integer type, packed ones too.
    Integers,
    /// Every integer type, and floats whose values are whole numbers.
    Numbers,
    /// Boolean, or every integer type: masks.
    Mask,
}

/// What a size of 0 means in a reshape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroSize {
    /// The input's size at this place.
    Copies,
    /// Zero.
    Zero,
}

/// Which entries of a strided slice mean something else; 1 where they do. Missing ones are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StridedSliceMasks {
    /// The begin is not read: from the first element on, in the direction of the stride.
    pub begin: Vec<i64>,
    /// The end is not read: up to the last element.
    pub end: Vec<i64>,
    /// A new axis of size 1 here.
    pub new_axis: Vec<i64>,
    /// One index of this axis, which is left out of the output.
    pub shrink_axis: Vec<i64>,
    /// As many axes as there are without an entry, whole.
    pub ellipsis: Vec<i64>,
}

/// How large the parts of a split are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// As many as there are outputs, all alike.
    Equal,
    /// As many as there are outputs, all alike but the last, which may be smaller (ONNX from opset
    /// 18 on).
    LastSmaller,
    /// These sizes; one may be -1: what is left (OpenVINO).
    Sizes(Integers),
}

/// How much is put before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pads {
    /// All begins, then all ends, in one list.
    Both(Integers),
    /// One list each.
    Each {
        /// Before the first element of each axis.
        begins: Integers,
        /// After the last.
        ends: Integers,
    },
}

/// What is put there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadValue {
    /// What this input holds, one element of the data's type.
    Input(usize),
    /// This number in the data's type: f16, bf16, f32 or f64.
    Float(f32),
}

/// Which axes are held against each other in a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BroadcastRule {
    /// From the last ones on; the output has the sizes that are given.
    ToSizes,
    /// From the last ones on, and where the size that is given is 1, or none is, the data's stays.
    BothWays,
    /// Those that are listed, one for each axis of the data.
    Mapped(Integers),
}

/// What the sizes of a resize mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AspectRatio {
    /// The sizes.
    Stretched,
    /// All axes are scaled alike, and none becomes longer than its size.
    NotLarger,
    /// All axes are scaled alike, and none becomes shorter than its size.
    NotSmaller,
}

/// What the scales of a resize may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastScale {
    /// Over 0.
    OverZero,
    /// 1 or more.
    One,
}

/// Where an index x of an axis of a resize's output lies in the data.
#[derive(Clone, Debug, PartialEq)]
pub enum Coordinates {
    /// (x + 0.5) / scale - 0.5.
    HalfPixel,
    /// The same about the middle of the output, where its size was rounded down.
    HalfPixelSymmetric,
    /// As `HalfPixel`, but 0 of an output of size 1.
    PytorchHalfPixel,
    /// The first index at the first and the last at the last: x (own size - 1) / (size - 1).
    AlignCorners {
        /// Whether the size there is the scale times the data's, as it is before it is rounded down.
        unrounded: bool,
    },
    /// x / scale.
    Asymmetric,
    /// (x + 0.5) / scale.
    TfHalfPixelForNn,
    /// As `AlignCorners`, of a part of the data.
    TfCropAndResize {
        /// Where the part begins along each axis, and where it ends: 0 is the first index, 1 the last.
        part: Floats,
        /// What stands where the part lies outside the data.
        outside: f32,
    },
}

/// Which index is the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The nearest; of two the lower.
    RoundPreferFloor,
    /// The nearest; of two the upper.
    RoundPreferCeil,
    /// The one at or below.
    Floor,
    /// The one at or above.
    Ceil,
    /// The one at or above where the scale is less than 1, else the one at or below.
    Simple,
}

/// Where the axes of a block lie in the channel axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOrder {
    /// The block's axes are outside: channel = block position x depth + depth index
    /// (ONNX `DCR`, OpenVINO `blocks_first`).
    BlocksFirst,
    /// The block's axes are inside: channel = depth index x blocks + block position
    /// (ONNX `CRD`, OpenVINO `depth_first`).
    DepthFirst,
}
