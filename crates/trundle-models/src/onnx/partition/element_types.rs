//! The element types of tensors between nodes, as far as the operators determine them.
//!
//! After <https://onnx.ai/onnx/operators/>. Outputs of other operators have no type here.

use std::collections::HashMap;

use super::role::moved_inputs;
use crate::onnx::opsets::domain;
use crate::onnx::proto;

/// Numbers of `TensorProto.DataType`.
const FLOAT: i32 = 1;
const UINT8: i32 = 2;
const INT64: i32 = 7;
const BOOL: i32 = 9;

/// Computing operators whose first output has the type of their first input.
const AS_FIRST: &str = "\
    Abs Acos Acosh Add And Asin Asinh Atan Atanh Attention AveragePool BatchNormalization BitShift \
    BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Celu Clip Col2Im Compress Conv ConvTranspose \
    Cos Cosh CumSum DeformConv Det Div Einsum Elu Erf Exp Floor GRU Gelu Gemm GlobalAveragePool \
    GlobalLpPool GlobalMaxPool GridSample GroupNormalization HardSigmoid HardSwish Hardmax \
    InstanceNormalization LRN LSTM LayerNormalization LeakyRelu Log LogSoftmax LpNormalization \
    LpPool MatMul Max MaxPool Mean MeanVarianceNormalization Min Mish Mod Mul Neg Not Or PRelu Pow \
    RMSNormalization RNN Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax \
    ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu RoiAlign RotaryEmbedding Round \
    STFT Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Sub Sum Swish Tan Tanh \
    ThresholdedRelu TopK Trilu Unique Xor";

/// Operators whose first output has type `BOOL`.
const OF_BOOL: &[&str] =
    &["Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"];

/// Operators whose first output has type `INT64`.
const OF_INT64: &[&str] = &["ArgMax", "ArgMin", "NonMaxSuppression", "NonZero", "Shape", "Size"];

/// Numbers of `TensorProto.DataType` by the tensor's name.
pub(super) struct ElementTypes<'a>(HashMap<&'a str, i32>);

impl<'a> ElementTypes<'a> {
    /// The file states the `known` types.
    pub(super) fn new(known: impl Iterator<Item = (&'a str, i32)>) -> ElementTypes<'a> {
        ElementTypes(known.filter(|(_, number)| *number != 0).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<i32> {
        self.0.get(name).copied()
    }

    /// Adds the types of a node's outputs, after the types of its inputs. Known types are kept.
    pub(super) fn add(&mut self, node: &'a proto::Node) {
        if !domain(&node.domain).is_empty() || !node.overload.is_empty() {
            return;
        }
        let outputs = node.output.iter().enumerate().filter(|(_, name)| !name.is_empty());
        for (number, name) in outputs {
            if let Some(found) = self.of_output(node, number) {
                self.0.entry(name).or_insert(found);
            }
        }
    }

    fn of_output(&self, node: &proto::Node, output: usize) -> Option<i32> {
        let kind = node.op_type.as_str();
        let of_input = |number: usize| self.get(node.input.get(number)?);
        let attribute = |name: &str| node.attribute.iter().find(|attribute| attribute.name == name);
        let tensor = |name: &str| Some(attribute(name)?.t.as_ref()?.data_type);
        match (kind, output) {
            ("Split", _) => of_input(0),
            ("Dropout", 1) => Some(BOOL),
            ("MaxPool" | "TopK", 1) => Some(INT64),
            (_, 1..) => None,
            ("Constant", _) if attribute("value").is_none() => {
                let is = |names: [&str; 2]| names.into_iter().any(|name| attribute(name).is_some());
                let int = is(["value_int", "value_ints"]).then_some(INT64);
                int.or(is(["value_float", "value_floats"]).then_some(FLOAT))
            }
            ("Constant", _) => tensor("value"),
            ("ConstantOfShape", _) => Some(tensor("value").unwrap_or(FLOAT)),
            ("Cast", _) => i32::try_from(attribute("to")?.i?).ok(),
            ("CastLike" | "Where", _) => of_input(1),
            ("EyeLike", _) => match attribute("dtype") {
                Some(dtype) => i32::try_from(dtype.i?).ok(),
                None => of_input(0),
            },
            ("Range", _) => of_input(0),
            ("DequantizeLinear", _) if attribute("output_dtype").is_none() => of_input(1),
            ("QuantizeLinear", _) if attribute("output_dtype").is_none() => {
                if node.input.len() > 2 { of_input(2) } else { Some(UINT8) }
            }
            _ if OF_BOOL.contains(&kind) => Some(BOOL),
            _ if OF_INT64.contains(&kind) => Some(INT64),
            _ if AS_FIRST.split_whitespace().any(|known| known == kind) => of_input(0),
            _ => {
                let moved = moved_inputs(kind)?.iter().position(Option::is_none);
                of_input(moved.unwrap_or(0))
            }
        }
    }
}
