//! Arrays whose chunks have different sizes: the chunk grids `rectilinear` and `rectangular`.
//!
//! Such an array is read as if its chunks had one size: along each axis, the size of the largest one.

use serde_json::Value;
use zarrs::metadata::v3::MetadataV3;

use crate::error::Error;

/// The most chunks in the lists of all axes, because zarrs keeps the size of each.
const MOST_CHUNKS: u64 = 1 << 20;

/// Returns the size of the largest chunk along each axis; `None` if all chunks have the same size.
///
/// # Errors
/// [`Error::Unsupported`] if the grid is unknown or malformed, or has too many chunks.
pub(crate) fn largest_chunk(grid: &MetadataV3, shape: &[u64]) -> Result<Option<Vec<u64>>, Error> {
    let name = grid.name();
    let wrong =
        |why: &str| Error::Unsupported(format!("chunks of different sizes ({name}): {why}"));
    let key = match name {
        "regular" => return Ok(None),
        "rectilinear" => "chunk_shapes",
        "rectangular" => "chunk_shape",
        _ => return Err(wrong("the grid is unknown")),
    };
    let axes = grid.configuration().and_then(|configuration| configuration.get(key)?.as_array());
    let axes = axes.filter(|axes| axes.len() == shape.len());
    let axes = axes.ok_or_else(|| wrong(&format!("{key} does not have a list for each axis")))?;
    let malformed = || wrong(&format!("{key} has other values than positive integers"));
    let mut count = 0u64;
    let largest = |(axis, size): (&Value, &u64)| {
        let Value::Array(edges) = axis else {
            return axis.as_u64().filter(|edge| *edge > 0).ok_or_else(malformed);
        };
        let (mut largest, mut end) = (0, 0u64);
        for edge in edges {
            let (edge, times) = match edge.as_array().map(Vec::as_slice) {
                Some([edge, times]) => (edge.as_u64(), times.as_u64()),
                Some(_) => (None, None),
                None => (edge.as_u64(), Some(1)),
            };
            let (edge, times) =
                edge.zip(times).filter(|pair| pair.0 > 0 && pair.1 > 0).ok_or_else(malformed)?;
            largest = largest.max(edge);
            count = count.saturating_add(times);
            end = end.saturating_add(edge.saturating_mul(times));
        }
        if count > MOST_CHUNKS || end > i64::MAX as u64 {
            return Err(wrong(&format!("more than {MOST_CHUNKS} chunks in a list")));
        }
        if end < *size {
            return Err(wrong(&format!("they end at {end}, but the axis has size {size}")));
        }
        // zarrs cannot open such an array.
        Some(largest).filter(|size| *size > 0).ok_or_else(|| wrong("an axis has no chunks"))
    };
    axes.iter().zip(shape).map(largest).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_largest_chunk_is_found_without_listing_all() {
        let grid = |name: &str, key: &str, chunks: &Value| {
            let grid = json!({"name": name, "configuration": {"kind": "inline", key: chunks}});
            largest_chunk(&serde_json::from_value(grid).unwrap(), &[10, 8])
        };
        for (chunks, expected) in [
            (json!([[2, 3, 5], 4]), [5, 4]),
            (json!([[[3, 4]], [[4, 2]]]), [3, 4]),
            (json!([[[1, 3], 20], [[8, 1]]]), [20, 8]),
            (json!([11, [[1, 1_048_576]]]), [11, 1]),
        ] {
            assert_eq!(grid("rectilinear", "chunk_shapes", &chunks).unwrap().unwrap(), expected);
            assert_eq!(grid("rectangular", "chunk_shape", &chunks).unwrap().unwrap(), expected);
        }
        assert!(grid("regular", "chunk_shape", &json!([2, 2])).unwrap().is_none());
        for (chunks, why) in [
            (json!([[2, 3, 4], 4]), "they end at 9, but the axis has size 10"),
            (json!([[], 4]), "they end at 0, but the axis has size 10"),
            (json!([[[1, 1_099_511_627_776u64]], 4]), "more than 1048576 chunks in a list"),
            (json!([[[1, 600_000]], [[1, 600_000]]]), "more than 1048576 chunks in a list"),
            (json!([[u64::MAX, u64::MAX], 4]), "more than 1048576 chunks in a list"),
            (json!([0, 4]), "other values than positive integers"),
            (json!([[5, 0, 5], 4]), "other values than positive integers"),
            (json!([[[5, 0]], 4]), "other values than positive integers"),
            (json!([[[5, 1, 1]], 4]), "other values than positive integers"),
            (json!(["x", 4]), "other values than positive integers"),
            (json!([4]), "does not have a list for each axis"),
            (json!(4), "does not have a list for each axis"),
        ] {
            let message = grid("rectilinear", "chunk_shapes", &chunks).unwrap_err().to_string();
            assert!(message.ends_with(why), "{chunks}: {message}");
        }
        let empty = json!({"name": "rectilinear", "configuration": {"chunk_shapes": [[]]}});
        let empty = largest_chunk(&serde_json::from_value(empty).unwrap(), &[0]).unwrap_err();
        assert!(empty.to_string().ends_with("an axis has no chunks"), "{empty}");
        let message = grid("hilbert", "chunk_shape", &json!([2, 2])).unwrap_err().to_string();
        assert_eq!(message, "chunks of different sizes (hilbert): the grid is unknown");
    }
}
