//! Sizes of chunks and of shards, as somebody asks for them.

use std::str::FromStr;

/// Sizes of chunks or of shards: of each axis in turn, or of some by their numbers. `-1` is all of an axis.
///
/// From a text: `24,48,-1`, or `0=24,2=-1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// The axis, unless all are named in turn, and its size, unless it is all of it.
    sizes: Vec<(Option<usize>, Option<usize>)>,
}

impl FromStr for ChunkSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<ChunkSizes, String> {
        let one = |part: &str| -> Result<(Option<usize>, Option<usize>), String> {
            let (axis, size) = match part.split_once('=') {
                Some((axis, size)) => (Some(axis.trim()), size.trim()),
                None => (None, part.trim()),
            };
            let axis = axis.map(|axis| {
                let number = axis.parse::<usize>();
                number.map_err(|_| {
                    format!("\"{axis}\" is no number of an axis: 0=24 gives the first 24")
                })
            });
            let wrong = || format!("\"{size}\" is no size: 1 or more, or -1 for all of the axis");
            let size = match size {
                "-1" => None,
                _ => Some(size.parse().ok().filter(|size| *size > 0).ok_or_else(wrong)?),
            };
            Ok((axis.transpose()?, size))
        };
        let sizes = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
        let named = sizes.iter().filter(|(axis, _)| axis.is_some()).count();
        if named != 0 && named != sizes.len() {
            return Err("either all axes have their numbers or none, as in 0=24,1=48".to_owned());
        }
        for (at, (axis, _)) in sizes.iter().enumerate() {
            if let Some(axis) = axis
                && sizes[..at].iter().any(|(other, _)| *other == Some(*axis))
            {
                return Err(format!("axis {axis} has two sizes"));
            }
        }
        Ok(ChunkSizes { sizes })
    }
}

impl ChunkSizes {
    /// The sizes of what they are of, for a tensor of these; those of which nothing is said are `otherwise`.
    ///
    /// # Errors
    /// What does not fit, as a message.
    pub(crate) fn of(
        &self,
        what: &str,
        sizes: &[usize],
        otherwise: &[usize],
    ) -> Result<Vec<usize>, String> {
        let rank = sizes.len();
        let all = |axis: usize| sizes[axis].max(1);
        let mut own = otherwise.to_vec();
        let in_turn = self.sizes.iter().all(|(axis, _)| axis.is_none());
        if in_turn && self.sizes.len() != rank {
            let got = self.sizes.len();
            return Err(format!("{got} sizes of {what}, where the result has {rank} axes"));
        }
        for (at, (axis, size)) in self.sizes.iter().enumerate() {
            let axis = axis.unwrap_or(at);
            if axis >= rank {
                return Err(format!("a size for axis {axis}, where the result has {rank} axes"));
            }
            own[axis] = size.unwrap_or_else(|| all(axis));
        }
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_of_each_axis_or_of_some() {
        let of = |text: &str| text.parse::<ChunkSizes>()?.of("chunks", &[10, 20, 0], &[3, 4, 5]);
        assert_eq!(of("1, 2,30"), Ok(vec![1, 2, 30]));
        assert_eq!(of("-1,2,-1"), Ok(vec![10, 2, 1]));
        assert_eq!(of("1=7"), Ok(vec![3, 7, 5]));
        assert_eq!(of("2=-1,0=-1"), Ok(vec![10, 4, 1]));
    }

    #[test]
    fn what_is_no_size_is_refused_with_a_word() {
        let of = |text: &str| text.parse::<ChunkSizes>()?.of("chunks", &[10, 20, 30], &[3, 4, 5]);
        for (text, word) in [
            ("", "\"\" is no size"),
            ("0,1,2", "\"0\" is no size"),
            ("1,-2,2", "\"-2\" is no size"),
            ("lat=24", "\"lat\" is no number of an axis"),
            ("0=1,2", "either all axes"),
            ("0=1,0=2", "axis 0 has two sizes"),
            ("1,2", "2 sizes of chunks, where the result has 3 axes"),
            ("3=1", "axis 3, where the result has 3 axes"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
