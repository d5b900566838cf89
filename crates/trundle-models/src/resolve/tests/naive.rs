//! Movements element by element, without index maps.

use super::sketch::Tagged;

impl Tagged {
    pub(super) fn take(&self, axis: usize, indices: &[usize]) -> Tagged {
        let mut sizes = self.sizes.clone();
        sizes[axis] = indices.len();
        Tagged::of(&sizes, |index| {
            let mut source = index.to_vec();
            source[axis] = indices[index[axis]];
            self.at(&source)
        })
    }

    pub(super) fn scatter(&self, sizes: &[usize], to: impl Fn(&[usize]) -> Vec<usize>) -> Tagged {
        let mut out = Tagged { sizes: sizes.to_vec(), tags: vec![0; self.tags.len()] };
        Tagged::of(&self.sizes, |index| {
            let target = to(index);
            let number = target.iter().zip(sizes).fold(0, |number, (i, size)| number * size + i);
            out.tags[number] = self.at(index);
            0
        });
        out
    }

    pub(super) fn put(&self, updates: &Tagged, to: impl Fn(&[usize]) -> Vec<usize>) -> Tagged {
        let mut out = self.clone();
        Tagged::of(&updates.sizes, |index| {
            let target = to(index);
            let indices = target.iter().zip(&self.sizes);
            out.tags[indices.fold(0, |number, (i, size)| number * size + i)] = updates.at(index);
            0
        });
        out
    }

    pub(super) fn reshape(&self, sizes: &[usize]) -> Tagged {
        assert_eq!(sizes.iter().product::<usize>(), self.tags.len());
        Tagged { sizes: sizes.to_vec(), tags: self.tags.clone() }
    }

    pub(super) fn roll(&self, axis: usize, shift: i64) -> Tagged {
        let size = self.sizes[axis];
        self.scatter(&self.sizes, |index| {
            let mut to = index.to_vec();
            let moved = (to[axis] as i64 + shift).rem_euclid(size as i64);
            to[axis] = usize::try_from(moved).unwrap();
            to
        })
    }

    pub(super) fn transpose(&self, order: &[usize]) -> Tagged {
        let sizes: Vec<usize> = order.iter().map(|axis| self.sizes[*axis]).collect();
        self.scatter(&sizes, |index| order.iter().map(|axis| index[*axis]).collect())
    }

    /// Reverses each batch entry up to its length.
    pub(super) fn reverse_sequence(&self, batch: usize, axis: usize, lengths: &[usize]) -> Tagged {
        self.scatter(&self.sizes, |index| {
            let (mut to, length) = (index.to_vec(), lengths[index[batch]]);
            if to[axis] < length {
                to[axis] = length - 1 - to[axis];
            }
            to
        })
    }

    pub(super) fn concat(parts: &[Tagged], axis: usize) -> Tagged {
        let mut sizes = parts[0].sizes.clone();
        sizes[axis] = parts.iter().map(|part| part.sizes[axis]).sum();
        Tagged::of(&sizes, |index| {
            let mut index = index.to_vec();
            let mut part = 0;
            while index[axis] >= parts[part].sizes[axis] {
                index[axis] -= parts[part].sizes[axis];
                part += 1;
            }
            parts[part].at(&index)
        })
    }

    /// Negative amounts crop.
    pub(super) fn pad(&self, axis: usize, before: i64, after: i64, value: u64) -> Tagged {
        let size = self.sizes[axis] as i64;
        let mut sizes = self.sizes.clone();
        sizes[axis] = usize::try_from(size + before + after).unwrap();
        Tagged::of(&sizes, |index| {
            let mut source = index.to_vec();
            match usize::try_from(index[axis] as i64 - before) {
                Ok(at) if at < self.sizes[axis] => {
                    source[axis] = at;
                    self.at(&source)
                }
                _ => value,
            }
        })
    }

    /// Moves blocks of channels to two spatial axes.
    pub(super) fn depth_to_space(&self, block: usize, blocks_first: bool) -> Tagged {
        let [batch, channels, height, width] = self.sizes[..] else { panic!("rank 4") };
        let depths = channels / (block * block);
        self.scatter(&[batch, depths, height * block, width * block], |index| {
            let (within, depth) = if blocks_first {
                (index[1] / depths, index[1] % depths)
            } else {
                (index[1] % (block * block), index[1] / (block * block))
            };
            let (row, column) = (within / block, within % block);
            vec![index[0], depth, index[2] * block + row, index[3] * block + column]
        })
    }
}

/// Returns the indices that a slice reads, in order.
pub(super) fn visited(start: i64, stop: i64, step: i64, size: usize) -> Vec<usize> {
    let size = size as i64;
    let from_front = |bound: i64| if bound < 0 { bound + size } else { bound };
    let mut at = from_front(start).clamp(0, if step > 0 { size } else { (size - 1).max(0) });
    let stop = from_front(stop);
    let mut indices = Vec::new();
    while (0..size).contains(&at) && if step > 0 { at < stop } else { at > stop } {
        indices.push(usize::try_from(at).unwrap());
        at += step;
    }
    indices
}
