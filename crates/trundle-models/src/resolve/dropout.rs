//! Dropout during inference.

use bytes::Bytes;
use trundle_core::program::TensorId;
use trundle_core::{DType, IndexMap, Shape};

use super::site::Site;
use crate::problem::{Checked, unsupported};
use crate::{Constant, Data, ElementType, Floats, Integers};

/// Dropout. The training flag must be known; the ratio only if the flag is set.
///
/// Source: ONNX's Dropout, opset 13.
pub(super) fn dropout(
    site: &mut Site,
    ratio: Option<usize>,
    training: Option<&Integers>,
) -> Checked<Vec<TensorId>> {
    let trains = match training {
        Some(training) => site.single("training_mode", training)? != 0,
        None => false,
    };
    if trains {
        let ratio = match ratio {
            Some(ratio) => site.floats("ratio", &Floats::Input(ratio))?,
            None => vec![0.5],
        };
        if ratio != [0.0] {
            return unsupported!("only Dropout at inference is supported: it is training");
        }
    }
    let data = site.data()?;
    if site.node.outputs.len() < 2 {
        return Ok(vec![data]);
    }
    let shape = site.data_shape()?;
    let one = site.builder.constant(&Constant {
        element: ElementType::Fixed(DType::Boolean),
        shape: Shape::default(),
        data: Data::Bytes(Bytes::from_static(&[1])),
    })?;
    Ok(vec![data, site.builder.moved(one, IndexMap::broadcast(&shape))?])
}
