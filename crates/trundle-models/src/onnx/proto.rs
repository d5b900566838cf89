//! The messages of `onnx.proto` (ONNX 1.23, IR version 14), as far as this reader needs them.
//!
//! The field numbers are the same as in that file. Some declarations differ, but not the encoding:
//!
//! - Floats are read as their bits (`fixed32` and `float` have the same encoding), so that every bit
//!   pattern is preserved.
//! - Types that are not tensors are kept as bytes, because they are refused.
//! - Unused fields, such as documentation, are not declared and are skipped.
//!
//! The decoder limits the nesting of graphs to about thirty levels. Its memory is at most about 150 times the size of
//! the file, for empty tensors of 2 bytes each.

use prost::Message;
use prost::bytes::Bytes;

/// A message. A line is a field: how the file declares it, its name, its type here, and its number.
macro_rules! message {
    (
        $(#[doc = $doc:literal])+
        $name:ident { $([$($declared:tt)*] $field:ident: $type:ty = $number:tt,)* }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Message)]
        pub(super) struct $name {
            $(#[prost($($declared)*, tag = $number)] pub(super) $field: $type,)*
        }
    };
}

message! {
    /// `ModelProto`.
    Model {
        [int64, optional] ir_version: Option<i64> = 1,
        [message, optional] graph: Option<Graph> = 7,
        [message, repeated] opset_import: Vec<OperatorSetId> = 8,
        [message, repeated] functions: Vec<Function> = 25,
    }
}

message! {
    /// `OperatorSetIdProto`.
    OperatorSetId {
        [string] domain: String = 1,
        [int64] version: i64 = 2,
    }
}

message! {
    /// `GraphProto`.
    Graph {
        [message, repeated] node: Vec<Node> = 1,
        [string] name: String = 2,
        [message, repeated] initializer: Vec<Tensor> = 5,
        [bytes = "bytes", repeated] sparse_initializer: Vec<Bytes> = 15,
        [message, repeated] input: Vec<ValueInfo> = 11,
        [message, repeated] output: Vec<ValueInfo> = 12,
        [message, repeated] value_info: Vec<ValueInfo> = 13,
    }
}

message! {
    /// `NodeProto`.
    Node {
        [string, repeated] input: Vec<String> = 1,
        [string, repeated] output: Vec<String> = 2,
        [string] name: String = 3,
        [string] op_type: String = 4,
        [message, repeated] attribute: Vec<Attribute> = 5,
        [string] domain: String = 7,
        [string] overload: String = 8,
    }
}

message! {
    /// `FunctionProto`.
    Function {
        [string] name: String = 1,
        [string, repeated] input: Vec<String> = 4,
        [string, repeated] output: Vec<String> = 5,
        [string, repeated] attribute: Vec<String> = 6,
        [message, repeated] node: Vec<Node> = 7,
        [message, repeated] opset_import: Vec<OperatorSetId> = 9,
        [string] domain: String = 10,
        [message, repeated] attribute_proto: Vec<Attribute> = 11,
        [string] overload: String = 13,
    }
}

message! {
    /// `AttributeProto`, whose `type` is one of [`attribute_type`].
    Attribute {
        [string] name: String = 1,
        [fixed32, optional] f: Option<u32> = 2,
        [int64, optional] i: Option<i64> = 3,
        [bytes = "bytes", optional] s: Option<Bytes> = 4,
        [message, optional, boxed] t: Option<Box<Tensor>> = 5,
        [message, optional, boxed] g: Option<Box<Graph>> = 6,
        [fixed32, repeated, packed = "false"] floats: Vec<u32> = 7,
        [int64, repeated, packed = "false"] ints: Vec<i64> = 8,
        [bytes = "bytes", repeated] strings: Vec<Bytes> = 9,
        [int32] r#type: i32 = 20,
        [string] ref_attr_name: String = 21,
    }
}

/// `AttributeProto.AttributeType`, as far as this reader uses it.
pub(super) mod attribute_type {
    pub(in crate::onnx) const UNDEFINED: i32 = 0;
    pub(in crate::onnx) const FLOAT: i32 = 1;
    pub(in crate::onnx) const INT: i32 = 2;
    pub(in crate::onnx) const STRING: i32 = 3;
    pub(in crate::onnx) const TENSOR: i32 = 4;
    pub(in crate::onnx) const GRAPH: i32 = 5;
    pub(in crate::onnx) const FLOATS: i32 = 6;
    pub(in crate::onnx) const INTS: i32 = 7;
    pub(in crate::onnx) const STRINGS: i32 = 8;
}

message! {
    /// `TensorProto`, whose `data_type` is one of [`super::element::TYPES`].
    Tensor {
        [int64, repeated, packed = "false"] dims: Vec<i64> = 1,
        [int32] data_type: i32 = 2,
        [bytes = "bytes", optional] segment: Option<Bytes> = 3,
        [fixed32, repeated] float_data: Vec<u32> = 4,
        [int32, repeated] int32_data: Vec<i32> = 5,
        [bytes = "bytes", repeated] string_data: Vec<Bytes> = 6,
        [int64, repeated] int64_data: Vec<i64> = 7,
        [string] name: String = 8,
        [bytes = "bytes"] raw_data: Bytes = 9,
        [fixed64, repeated] double_data: Vec<u64> = 10,
        [uint64, repeated] uint64_data: Vec<u64> = 11,
        [message, repeated] external_data: Vec<StringEntry> = 13,
        [int32] data_location: i32 = 14,
    }
}

/// `TensorProto.DataLocation`.
pub(super) mod data_location {
    pub(in crate::onnx) const DEFAULT: i32 = 0;
    pub(in crate::onnx) const EXTERNAL: i32 = 1;
}

message! {
    /// `StringStringEntryProto`.
    StringEntry {
        [string] key: String = 1,
        [string] value: String = 2,
    }
}

message! {
    /// `ValueInfoProto`.
    ValueInfo {
        [string] name: String = 1,
        [message, optional] r#type: Option<Type> = 2,
    }
}

message! {
    /// `TypeProto`, with exactly one field.
    Type {
        [message, optional] tensor: Option<TensorType> = 1,
        [bytes = "bytes", optional] sequence: Option<Bytes> = 4,
        [bytes = "bytes", optional] map: Option<Bytes> = 5,
        [bytes = "bytes", optional] opaque: Option<Bytes> = 7,
        [bytes = "bytes", optional] sparse_tensor: Option<Bytes> = 8,
        [bytes = "bytes", optional] optional: Option<Bytes> = 9,
    }
}

message! {
    /// `TypeProto.Tensor`.
    TensorType {
        [int32] elem_type: i32 = 1,
        [message, optional] shape: Option<TensorShape> = 2,
    }
}

message! {
    /// `TensorShapeProto`.
    TensorShape {
        [message, repeated] dim: Vec<Dimension> = 1,
    }
}

message! {
    /// `TensorShapeProto.Dimension`, with at most one field.
    Dimension {
        [int64, optional] dim_value: Option<i64> = 1,
        [string, optional] dim_param: Option<String> = 2,
    }
}
