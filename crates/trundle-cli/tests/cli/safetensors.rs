//! .safetensors files, without the program's own code.

use serde_json::json;

use crate::npy::Tensor;

#[derive(Clone, Debug)]
pub(crate) struct Named<'a> {
    pub name: &'a str,
    /// The element type, as the header states it.
    pub dtype: &'a str,
    pub shape: &'a [usize],
    /// The data, contiguous and row-major.
    pub data: &'a [u8],
}

impl<'a> Named<'a> {
    /// Describes a tensor whose elements have whole bytes.
    pub(crate) fn new(name: &'a str, dtype: &'a str, tensor: &'a Tensor) -> Named<'a> {
        Named { name, dtype, shape: &tensor.shape, data: &tensor.bytes }
    }
}

pub(crate) fn file(metadata: &[(&str, &str)], tensors: &[Named<'_>]) -> Vec<u8> {
    let mut entries = Vec::new();
    if !metadata.is_empty() {
        let pair = |(key, value): &(&str, &str)| format!("{}:{}", json!(key), json!(value));
        let pairs: Vec<String> = metadata.iter().map(pair).collect();
        entries.push(format!("\"__metadata__\":{{{}}}", pairs.join(",")));
    }
    let mut data = Vec::new();
    for tensor in tensors {
        let (name, dtype, shape) = (json!(tensor.name), tensor.dtype, json!(tensor.shape));
        let (begin, end) = (data.len(), data.len() + tensor.data.len());
        entries.push(format!(
            "{name}:{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{begin},{end}]}}"
        ));
        data.extend_from_slice(tensor.data);
    }
    let mut header = format!("{{{}}}", entries.join(",")).into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}
