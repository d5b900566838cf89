//! The chunk and shard sizes that a user requests.

use std::collections::BTreeSet;
use std::str::FromStr;

/// Chunk or shard sizes: one for each axis in order, or for some axes by index or name. `-1` means the whole axis.
///
/// Examples of the text form are `24,48,-1`, `0=24,2=-1` and `lat=24,time=-1`. `none` means no chunks or shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// Pairs of an axis and a size; empty for no chunks or shards. An axis of `None` is the next axis in order; a size
    /// of `None` is the whole axis.
    sizes: Vec<(Option<Axis>, Option<usize>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Axis {
    Number(usize),
    Name(String),
}

impl FromStr for ChunkSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<ChunkSizes, String> {
        if text.trim() == "none" {
            return Ok(ChunkSizes { sizes: Vec::new() });
        }
        let one = |part: &str| -> Result<(Option<Axis>, Option<usize>), String> {
            let (axis, size) = match part.rsplit_once('=') {
                Some((axis, size)) => (Some(axis.trim()), size.trim()),
                None => (None, part.trim()),
            };
            let axis = axis.map(|axis| match axis.parse() {
                Ok(number) => Axis::Number(number),
                Err(_) => Axis::Name(axis.to_owned()),
            });
            let wrong = || {
                format!("\"{size}\" is not a size: expected 1 or more, or -1 for the whole axis")
            };
            let size = match size {
                "-1" => None,
                _ => Some(size.parse().ok().filter(|size| *size > 0).ok_or_else(wrong)?),
            };
            Ok((axis, size))
        };
        let sizes = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
        let named = sizes.iter().filter(|(axis, _)| axis.is_some()).count();
        if named != 0 && named != sizes.len() {
            return Err(
                "name the axis of every size or of none, as in lat=24,lon=48 or 24,48".to_owned()
            );
        }
        Ok(ChunkSizes { sizes })
    }
}

impl ChunkSizes {
    /// Returns whether there are no chunks or shards.
    pub(crate) fn is_none(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Checks that every axis that is given by name is in `names`, the axis names of all results.
    ///
    /// # Errors
    /// Returns a message that contains the first unknown name.
    pub(crate) fn check_names(&self, names: &BTreeSet<&str>) -> Result<(), String> {
        let unknown = |axis: &Axis| match axis {
            Axis::Name(name) if !names.contains(&name[..]) => Some(name.clone()),
            _ => None,
        };
        let axes = self.sizes.iter().filter_map(|(axis, _)| axis.as_ref());
        match axes.filter_map(unknown).next() {
            None => Ok(()),
            Some(name) if names.is_empty() => {
                Err(format!("a size is given for axis {name:?}, but the axes have no names"))
            }
            Some(name) => {
                const MOST: usize = 20;
                let known: Vec<String> =
                    names.iter().take(MOST).map(|name| format!("{name:?}")).collect();
                Err(format!(
                    "a size is given for axis {name:?}, but the axes are {}",
                    known.join(", ")
                ))
            }
        }
    }

    /// Returns the sizes with axis names, such as `lat=24,lon=-1`; `None` unless they are given in order and all axes
    /// have names.
    pub(crate) fn by_names(&self, names: &[Option<String>]) -> Option<String> {
        let each = self.sizes.iter().zip(names).map(|((axis, size), name)| {
            let name = name.as_ref().filter(|_| axis.is_none())?;
            Some(format!("{name}={}", size.map_or("-1".to_owned(), |size| size.to_string())))
        });
        let each = each.collect::<Option<Vec<String>>>()?;
        (self.sizes.len() == names.len()).then(|| each.join(","))
    }

    /// Returns whether the sizes are given in order, but not for exactly `rank` axes.
    pub(crate) fn lacks_axes_of(&self, rank: usize) -> bool {
        !self.is_none()
            && self.sizes.len() != rank
            && self.sizes.iter().all(|(axis, _)| axis.is_none())
    }

    /// Resolves the sizes of chunks or shards (`what`) for a tensor. Axes without a requested size get `otherwise`.
    /// Returns `None` if the request names only axes that this tensor does not have.
    ///
    /// # Errors
    /// A message if the request does not fit the tensor.
    pub(crate) fn of(
        &self,
        what: &str,
        sizes: &[usize],
        names: &[Option<String>],
        otherwise: &[usize],
    ) -> Result<Option<Vec<usize>>, String> {
        let rank = sizes.len();
        let all = |axis: usize| sizes[axis].max(1);
        let axes = || format!("{rank} {}", if rank == 1 { "axis" } else { "axes" });
        if self.lacks_axes_of(rank) {
            let got = self.sizes.len();
            return Err(format!("{got} sizes of {what}, but the result has {}", axes()));
        }
        let mut own: Vec<Option<usize>> = vec![None; rank];
        for (at, (axis, size)) in self.sizes.iter().enumerate() {
            let axis = match axis {
                None => at,
                Some(Axis::Number(axis)) => *axis,
                Some(Axis::Name(name)) => {
                    let is_it = |axis: &usize| names[*axis].as_ref() == Some(name);
                    let mut called = (0..names.len()).filter(is_it);
                    match (called.next(), called.next()) {
                        (None, _) => continue,
                        (Some(axis), None) => axis,
                        _ => return Err(format!("two axes are called {name:?}")),
                    }
                }
            };
            if axis >= rank {
                return Err(format!(
                    "a size is given for axis {axis}, but the result has {}",
                    axes()
                ));
            }
            if own[axis].replace(size.unwrap_or_else(|| all(axis))).is_some() {
                return Err(format!("axis {axis} has two sizes"));
            }
        }
        let is_any_given = own.iter().any(Option::is_some);
        let filled =
            own.into_iter().zip(otherwise).map(|(own, otherwise)| own.unwrap_or(*otherwise));
        Ok(is_any_given.then(|| filled.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_can_be_given_for_all_axes_or_for_some() {
        let named = ["lat", "lon"].map(|name| Some(name.to_owned()));
        let names = [named.to_vec(), vec![None]].concat();
        let of =
            |text: &str| text.parse::<ChunkSizes>()?.of("chunks", &[10, 20, 0], &names, &[3, 4, 5]);
        assert_eq!(of("1, 2,30"), Ok(Some(vec![1, 2, 30])));
        assert_eq!(of("-1,2,-1"), Ok(Some(vec![10, 2, 1])));
        assert_eq!(of("1=7"), Ok(Some(vec![3, 7, 5])));
        assert_eq!(of("2=-1,0=-1"), Ok(Some(vec![10, 4, 1])));
        assert_eq!(of("lon=7"), Ok(Some(vec![3, 7, 5])));
        assert_eq!(of("lon=-1,0=2,time=9"), Ok(Some(vec![2, 20, 5])));
        assert_eq!(of("time=9"), Ok(None));
    }

    #[test]
    fn sizes_in_axis_order_are_converted_to_names() {
        let names = ["lat", "lon"].map(|name| Some(name.to_owned()));
        let by_names = |text: &str| text.parse::<ChunkSizes>().unwrap().by_names(&names);
        assert_eq!(by_names("24,-1"), Some("lat=24,lon=-1".to_owned()));
        assert_eq!(
            (by_names("24"), by_names("1,2,3"), by_names("lat=1,lon=2")),
            (None, None, None)
        );
    }

    #[test]
    fn wrong_sizes_are_refused_with_the_reason() {
        let names = ["x", "x", "y"].map(|name| Some(name.to_owned()));
        let of = |text: &str| {
            let sizes = text.parse::<ChunkSizes>()?;
            sizes.check_names(&BTreeSet::from(["x", "y"]))?;
            sizes.of("chunks", &[10, 20, 30], &names, &[3, 4, 5])
        };
        for (text, reason) in [
            ("", "\"\" is not a size"),
            ("0,1,2", "\"0\" is not a size"),
            ("1,-2,2", "\"-2\" is not a size"),
            ("lat=24", "a size is given for axis \"lat\", but the axes are \"x\", \"y\""),
            ("-1=24", "a size is given for axis \"-1\""),
            ("x=24", "two axes are called \"x\""),
            ("2=1,y=2", "axis 2 has two sizes"),
            ("0=1,2", "name the axis of every size"),
            ("0=1,0=2", "axis 0 has two sizes"),
            ("1,2", "2 sizes of chunks, but the result has 3 axes"),
            ("3=1", "axis 3, but the result has 3 axes"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
