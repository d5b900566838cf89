//! The operators as their specifications define them: element by element, slowly, in wide integers.

use std::ops::Range;

use trundle_core::Layout;
use trundle_core::ops::PadMode;

/// A small row-major tensor of labels. An original tensor's labels are the row-major indices, so the labels after a
/// movement describe it completely.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Naive {
    shape: Vec<usize>,
    labels: Vec<usize>,
}

impl Naive {
    /// The original tensor, with labels 0, 1, 2, ... in row-major order.
    pub fn numbered(shape: &[usize]) -> Naive {
        Naive { shape: shape.to_vec(), labels: (0..shape.iter().product()).collect() }
    }

    /// One of several original tensors, with labels from `first` on.
    pub fn numbered_from(shape: &[usize], first: usize) -> Naive {
        let elements = shape.iter().product::<usize>();
        Naive { shape: shape.to_vec(), labels: (first..first + elements).collect() }
    }

    /// Concat-1: "the output tensor of the same type and with the concatenation of all the inputs along the axis".
    ///
    /// # Panics
    /// If `parts` is empty.
    #[must_use]
    pub fn concatenated(parts: &[Naive], axis: usize) -> Naive {
        let mut shape = parts[0].shape.clone();
        shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        let labels = indices(&shape).into_iter().map(|mut index| {
            for part in parts {
                match index[axis].checked_sub(part.shape[axis]) {
                    None => return part.at(&index),
                    Some(beyond) => index[axis] = beyond,
                }
            }
            unreachable!("an index beyond all parts")
        });
        Naive { labels: labels.collect(), shape }
    }

    /// numpy's `stack`: "joins a sequence of arrays along a new axis".
    #[must_use]
    pub fn stacked(parts: &[Naive], axis: usize) -> Naive {
        let with_axis = |part: &Naive| {
            let mut shape = part.shape.clone();
            shape.insert(axis, 1);
            Naive { shape, labels: part.labels.clone() }
        };
        Naive::concatenated(&parts.iter().map(with_axis).collect::<Vec<_>>(), axis)
    }

    /// numpy's `pad` in mode constant: "pads with a constant value". `widths` are before and after each axis.
    #[must_use]
    pub fn pad_constant(&self, widths: &[[usize; 2]], label: usize) -> Naive {
        let axes = self.shape.iter().zip(widths);
        let shape: Vec<usize> =
            axes.map(|(size, [before, behind])| before + size + behind).collect();
        let labels = indices(&shape).into_iter().map(|index| {
            let within =
                index.iter().zip(widths).zip(&self.shape).map(|((at, [before, _]), size)| {
                    at.checked_sub(*before).filter(|at| at < size)
                });
            within.collect::<Option<Vec<usize>>>().map_or(label, |index| self.at(&index))
        });
        Naive { labels: labels.collect(), shape }
    }

    /// The sizes of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The labels in row-major order.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// The label at an index.
    pub fn at(&self, index: &[usize]) -> usize {
        self.labels[row_major_number(index, &self.shape)]
    }

    /// Roll-7: "elements that are shifted beyond the last position will be added in the same
    /// order starting from the first position"; "the total shift for that axis will be the sum of
    /// all the shifts that belong to that axis"; a negative axis is `N_dims + axis`. A single
    /// shift belongs to every axis.
    #[must_use]
    pub fn roll(&self, shift: &[i64], axes: &[i64]) -> Naive {
        let mut totals = vec![0i128; self.shape.len()];
        for (number, &axis) in axes.iter().enumerate() {
            let shift = if shift.len() == 1 { shift[0] } else { shift[number] };
            totals[self.counted_from_front(axis)] += i128::from(shift);
        }
        self.scattered(self.shape.clone(), |index, to| {
            for axis in 0..index.len() {
                let shifted = index[axis] as i128 + totals[axis];
                to[axis] = narrow(shifted.rem_euclid(self.shape[axis] as i128));
            }
        })
    }

    /// Transpose-1: `output[i(order[0]), i(order[1]), ...] = input[i(0), i(1), ...]`; an empty
    /// order inverts the axes.
    ///
    /// # Panics
    /// If an entry of `order` is negative.
    #[must_use]
    pub fn transpose(&self, order: &[i64]) -> Naive {
        let mut axes = Vec::new();
        for &axis in order {
            axes.push(usize::try_from(axis).expect("an order without negative axes"));
        }
        if axes.is_empty() {
            for axis in 0..self.shape.len() {
                axes.push(self.shape.len() - 1 - axis);
            }
        }
        let out_shape = axes.iter().map(|&axis| self.shape[axis]).collect();
        self.scattered(out_shape, |index, to| {
            for (to, &axis) in to.iter_mut().zip(&axes) {
                *to = index[axis];
            }
        })
    }

    /// numpy's `flip`: the elements in reverse order along each of the axes.
    #[must_use]
    pub fn flip(&self, axes: &[i64]) -> Naive {
        self.scattered(self.shape.clone(), |index, to| {
            to.copy_from_slice(index);
            for &axis in axes {
                let axis = self.counted_from_front(axis);
                to[axis] = self.shape[axis] - 1 - index[axis];
            }
        })
    }

    /// numpy's `rot90`: "rotate an array by 90 degrees in the plane specified by axes. Rotation direction is from the
    /// first towards the second axis. This means for a 2D array with the default k and axes, the rotation will be
    /// counterclockwise." One turn after another.
    #[must_use]
    pub fn rot90(&self, k: i64, axes: [i64; 2]) -> Naive {
        let [first, second] = axes.map(|axis| self.counted_from_front(axis));
        let mut turned = self.clone();
        for _ in 0..k.rem_euclid(4) {
            let columns = turned.shape[second];
            let mut shape = turned.shape.clone();
            shape.swap(first, second);
            // The last column becomes the first row.
            turned = turned.scattered(shape, |index, to| {
                to.copy_from_slice(index);
                to[first] = columns - 1 - index[second];
                to[second] = index[first];
            });
        }
        turned
    }

    /// `DML_REVERSE_SUBSEQUENCES`: "only the elements within the length of the subsequence are
    /// reversed; the remaining elements along that axis are copied to the output unchanged"; a
    /// length over the size of the axis is "clamped to the maximum". The lengths are row-major
    /// over this tensor's sizes with 1 on the axis.
    #[must_use]
    pub fn reverse_subsequences(&self, axis: i64, lengths: &[u64]) -> Naive {
        let axis = self.counted_from_front(axis);
        let mut lengths_shape = self.shape.clone();
        lengths_shape[axis] = 1;
        self.scattered(self.shape.clone(), |index, to| {
            to.copy_from_slice(index);
            to[axis] = 0;
            let length = lengths[row_major_number(to, &lengths_shape)];
            to[axis] = self.reversed_within(index[axis], axis, i128::from(length));
        })
    }

    /// ReverseSequence: at index b of the batch axis, the first `lengths[b]` elements along `axis` are reversed.
    #[must_use]
    pub fn reverse_sequence(&self, axis: i64, batch_axis: i64, lengths: &[i128]) -> Naive {
        let (axis, batch_axis) =
            (self.counted_from_front(axis), self.counted_from_front(batch_axis));
        self.scattered(self.shape.clone(), |index, to| {
            to.copy_from_slice(index);
            to[axis] = self.reversed_within(index[axis], axis, lengths[index[batch_axis]]);
        })
    }

    /// Reshape: elements in row-major order, with other sizes.
    ///
    /// # Panics
    /// If the number of elements would change.
    #[must_use]
    pub fn reshape(&self, sizes: &[usize]) -> Naive {
        assert_eq!(sizes.iter().product::<usize>(), self.labels.len(), "as many elements");
        Naive { shape: sizes.to_vec(), labels: self.labels.clone() }
    }

    /// ONNX's Slice on one axis, which is not negative. Negative bounds count from the end. Both bounds are
    /// then clamped: forwards to `0..=size`; backwards, the start to `0..=size - 1` and the stop to
    /// `-1..=size - 1`.
    #[must_use]
    pub fn slice(&self, axis: usize, start: i64, stop: i64, step: i64) -> Naive {
        let size = self.shape[axis] as i128;
        let counted = |bound: i64| i128::from(bound) + if bound < 0 { size } else { 0 };
        let (step, last) = (i128::from(step), if step > 0 { size } else { size - 1 });
        let stop = counted(stop).max(if step > 0 { 0 } else { -1 }).min(last);
        let mut at = counted(start).max(0).min(last);
        let mut picked = Vec::new();
        while at >= 0 && (if step > 0 { at < stop } else { at > stop }) {
            picked.push(narrow(at));
            at += step;
        }
        let mut shape = self.shape.clone();
        shape[axis] = picked.len();
        self.gathered(shape, |index, from| {
            from.copy_from_slice(index);
            from[axis] = picked[index[axis]];
        })
    }

    /// ONNX's Tile: "the same as function tile in Numpy", with one number for each axis.
    #[must_use]
    pub fn tile(&self, repeats: &[usize]) -> Naive {
        let shape = self.shape.iter().zip(repeats).map(|(size, repeat)| size * repeat).collect();
        self.gathered(shape, |index, from| {
            for axis in 0..index.len() {
                from[axis] = index[axis] % self.shape[axis];
            }
        })
    }

    /// numpy's `repeat`: "repeat each element of an array after themselves", along one axis.
    #[must_use]
    pub fn repeat(&self, repeats: usize, axis: usize) -> Naive {
        let mut shape = self.shape.clone();
        shape[axis] *= repeats;
        self.gathered(shape, |index, from| {
            from.copy_from_slice(index);
            from[axis] = index[axis] / repeats;
        })
    }

    /// numpy's `broadcast_to`: aligns the axes at the last one, and repeats axes of size 1.
    #[must_use]
    pub fn broadcast(&self, sizes: &[usize]) -> Naive {
        let new = sizes.len() - self.shape.len();
        self.gathered(sizes.to_vec(), |index, from| {
            for (axis, size) in self.shape.iter().enumerate() {
                from[axis] = if *size == 1 { 0 } else { index[new + axis] };
            }
        })
    }

    /// numpy's `pad` along one axis. A list of each mode has the source indices before the first element, nearest
    /// first, repeated as often as necessary. The padding after the last element is the mirror image.
    #[must_use]
    pub fn pad(&self, axis: usize, [before, behind]: [usize; 2], mode: PadMode) -> Naive {
        let size = self.shape[axis];
        let outwards: Vec<usize> = match mode {
            PadMode::Edge => vec![0],
            PadMode::Reflect if size == 1 => vec![0],
            PadMode::Reflect => (1..size).chain((0..size.saturating_sub(1)).rev()).collect(),
            PadMode::Symmetric => (0..size).chain((0..size).rev()).collect(),
            PadMode::Wrap => (0..size).rev().collect(),
        };
        let mut sources: Vec<usize> = outwards.iter().copied().cycle().take(before).collect();
        sources.reverse();
        sources.extend(0..size);
        sources.extend(outwards.iter().cycle().take(behind).map(|index| size - 1 - index));
        let mut shape = self.shape.clone();
        shape[axis] = sources.len();
        self.gathered(shape, |index, from| {
            from.copy_from_slice(index);
            from[axis] = sources[index[axis]];
        })
    }

    /// numpy's `take`: the elements at `indices` along `axis`, which the axes of the indices replace. Negative indices
    /// count from the end.
    #[must_use]
    pub fn take(&self, axis: usize, sizes: &[usize], indices: &[i64]) -> Naive {
        let mut shape = self.shape[..axis].to_vec();
        shape.extend(sizes);
        shape.extend(&self.shape[axis + 1..]);
        self.gathered(shape, |index, from| {
            let behind = axis + sizes.len();
            from[..axis].copy_from_slice(&index[..axis]);
            from[axis + 1..].copy_from_slice(&index[behind..]);
            from[axis] =
                self.index_of(axis, indices[row_major_number(&index[axis..behind], sizes)]);
        })
    }

    /// ONNX's GatherElements: `out[i][j] = data[index[i][j]][j]` along the first axis; other axes work alike.
    #[must_use]
    pub fn take_along_axis(&self, axis: usize, sizes: &[usize], indices: &[i64]) -> Naive {
        self.gathered(sizes.to_vec(), |index, from| {
            from.copy_from_slice(index);
            from[axis] = self.index_of(axis, indices[row_major_number(index, sizes)]);
        })
    }

    /// numpy's `put_along_axis`, with values in the shape of the indices: `a[i, indices[i, j, k], k] =
    /// values[i, j, k]`, in order.
    #[must_use]
    pub fn put_along_axis(&self, axis: usize, indices: &[i64], values: &Naive) -> Naive {
        self.updated(values, |at, to| {
            to.copy_from_slice(at);
            to[axis] = self.index_of(axis, indices[row_major_number(at, &values.shape)]);
        })
    }

    /// ONNX's ScatterND: `output[indices[idx]] = updates[idx]` for each index `idx` into all axes of `indices` but
    /// the last, in order.
    #[must_use]
    pub fn scatter_nd(&self, sizes: &[usize], indices: &[i64], updates: &Naive) -> Naive {
        let positions = sizes.len() - 1;
        let together = sizes[positions];
        self.updated(updates, |at, to| {
            let first = together * row_major_number(&at[..positions], &sizes[..positions]);
            for axis in 0..together {
                to[axis] = self.index_of(axis, indices[first + axis]);
            }
            to[together..].copy_from_slice(&at[positions..]);
        })
    }

    /// numpy's `x[begin::step] = updates` along one axis, for as many elements as `updates` has.
    #[must_use]
    pub fn slice_scatter(&self, axis: usize, begin: usize, step: i64, updates: &Naive) -> Naive {
        self.updated(updates, |at, to| {
            to.copy_from_slice(at);
            to[axis] = narrow(begin as i128 + at[axis] as i128 * i128::from(step));
        })
    }

    /// Replaces elements one after another. `to` sets the position of each.
    fn updated(&self, updates: &Naive, to: impl Fn(&[usize], &mut [usize])) -> Naive {
        let mut updated = self.clone();
        let mut target = vec![0; self.shape.len()];
        for_each_index(&updates.shape, |at| {
            to(at, &mut target);
            updated.labels[row_major_number(&target, &self.shape)] = updates.at(at);
        });
        updated
    }

    /// numpy's `sliding_window_view` along one axis, with every `step`-th window. The positions in a window are a new
    /// last axis.
    #[must_use]
    pub fn windows(&self, axis: usize, size: usize, step: usize) -> Naive {
        let mut shape = self.shape.clone();
        shape[axis] = (shape[axis] - size) / step + 1;
        shape.push(size);
        self.gathered(shape, |index, from| {
            let last = index.len() - 1;
            from.copy_from_slice(&index[..last]);
            from[axis] = index[axis] * step + index[last];
        })
    }

    fn index_of(&self, axis: usize, index: i64) -> usize {
        let size = self.shape[axis] as i128;
        narrow(i128::from(index) + if index < 0 { size } else { 0 })
    }

    /// The elements within one range for each axis.
    #[must_use]
    pub fn within(&self, bounds: &[Range<usize>]) -> Naive {
        let shape: Vec<usize> = bounds.iter().map(|range| range.end - range.start).collect();
        self.gathered(shape, |index, from| {
            for axis in 0..index.len() {
                from[axis] = bounds[axis].start + index[axis];
            }
        })
    }

    /// The new position of index `i` when the first `length` elements are reversed.
    fn reversed_within(&self, i: usize, axis: usize, length: i128) -> usize {
        let length = length.min(self.shape[axis] as i128);
        if (i as i128) < length { narrow(length - 1 - i as i128) } else { i }
    }

    /// `from` sets the source of each position.
    fn gathered(&self, shape: Vec<usize>, from: impl Fn(&[usize], &mut [usize])) -> Naive {
        let mut labels = Vec::with_capacity(shape.iter().product());
        let mut source = vec![0; self.shape.len()];
        for_each_index(&shape, |index| {
            from(index, &mut source);
            labels.push(self.at(&source));
        });
        Naive { shape, labels }
    }

    /// `to` sets the position of each element. Every position must be filled exactly once.
    fn scattered(&self, shape: Vec<usize>, to: impl Fn(&[usize], &mut [usize])) -> Naive {
        let mut labels = vec![None; self.labels.len()];
        let mut target = vec![0; shape.len()];
        for_each_index(&self.shape, |index| {
            to(index, &mut target);
            let label = &mut labels[row_major_number(&target, &shape)];
            assert_eq!(*label, None, "two elements land at one place, the second from {index:?}");
            *label = Some(self.at(index));
        });
        let labels = labels.into_iter().map(|label| label.expect("every place is filled"));
        Naive { shape, labels: labels.collect() }
    }

    /// "If axes has a negative value, the axis index will be calculated using `N_dims + axis`".
    fn counted_from_front(&self, axis: i64) -> usize {
        let rank = self.shape.len() as i128;
        narrow(if axis < 0 { rank + i128::from(axis) } else { i128::from(axis) })
    }
}

/// Visits every index; the last axis changes fastest.
pub(crate) fn for_each_index(shape: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut index = vec![0; shape.len()];
    for _ in 0..shape.iter().product() {
        visit(&index);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// Every index of a shape. The last axis changes fastest.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for_each_index(shape, |index| all.push(index.to_vec()));
    all
}

/// The bytes of each element, in row-major order of the layout's shape.
pub fn read_elements<'a>(layout: &Layout, width: usize, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut elements = Vec::new();
    for_each_index(layout.shape().sizes(), |index| {
        elements.push(&bytes[element_offset(layout, index)..][..width]);
    });
    elements
}

/// Writes elements in row-major order of the layout's shape. Other bytes are kept.
pub fn write_elements(layout: &Layout, elements: &[impl AsRef<[u8]>], bytes: &mut [u8]) {
    let mut elements = elements.iter().map(AsRef::as_ref);
    for_each_index(layout.shape().sizes(), |index| {
        let Some(element) = elements.next() else { return };
        bytes[element_offset(layout, index)..][..element.len()].copy_from_slice(element);
    });
}

/// Returns the offset in bytes of the element at an index.
fn element_offset(layout: &Layout, index: &[usize]) -> usize {
    let mut at = layout.offset_bytes() as i128;
    for (i, stride) in index.iter().zip(layout.strides_bytes()) {
        at += *i as i128 * *stride as i128;
    }
    narrow(at)
}

fn row_major_number(index: &[usize], shape: &[usize]) -> usize {
    let mut number = 0i128;
    for axis in 0..shape.len() {
        assert!(index[axis] < shape[axis], "index {index:?} lies outside shape {shape:?}");
        number = number * shape[axis] as i128 + index[axis] as i128;
    }
    narrow(number)
}

/// Converts an index to `usize`. By the specifications it cannot be out of range.
fn narrow(number: i128) -> usize {
    usize::try_from(number).unwrap_or_else(|_| panic!("{number} is not an index"))
}
