//! Tensors and .npy files, without the program's own code.

/// A contiguous, row-major tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tensor {
    /// The element type, as an .npy header states it.
    pub descr: String,
    /// The element size in bytes.
    pub width: usize,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The format version: 1, 2 or 3.
    pub version: u8,
    /// Whether the first axis is contiguous.
    pub fortran: bool,
}

/// The header that `numpy.save` writes.
pub(crate) const PLAIN: Style = Style { version: 1, fortran: false };

impl Tensor {
    /// Pseudorandom bytes, so that the elements are likely to differ.
    pub(crate) fn noise(descr: &str, width: usize, shape: &[usize]) -> Tensor {
        let bytes = trundle_testing::noise(shape.iter().product::<usize>() * width);
        Tensor { descr: descr.to_owned(), width, shape: shape.to_owned(), bytes }
    }

    /// 0, 1, 2, ... in row-major order, as `<u2`.
    pub(crate) fn counting(shape: &[usize]) -> Tensor {
        let count = shape.iter().product::<usize>() as u16;
        let bytes = (0..count).flat_map(u16::to_le_bytes).collect();
        Tensor { descr: "'<u2'".to_owned(), width: 2, shape: shape.to_owned(), bytes }
    }

    /// Returns integers of type `<i8` along one axis.
    pub(crate) fn list(values: &[i64]) -> Tensor {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor { descr: "'<i8'".to_owned(), width: 8, shape: vec![values.len()], bytes }
    }

    pub(crate) fn element(&self, index: &[usize]) -> &[u8] {
        assert_eq!(index.len(), self.shape.len());
        let at = index.iter().zip(&self.shape).fold(0, |at, (i, size)| {
            assert!(i < size);
            at * size + i
        });
        &self.bytes[at * self.width..][..self.width]
    }

    /// A tensor whose element at `index` is this tensor's element at `source(index)`.
    pub(crate) fn gather(
        &self,
        shape: &[usize],
        source: impl Fn(&[usize]) -> Vec<usize>,
    ) -> Tensor {
        let mut bytes = Vec::with_capacity(shape.iter().product::<usize>() * self.width);
        for_each_index(shape, |index| bytes.extend_from_slice(self.element(&source(index))));
        Tensor { shape: shape.to_owned(), bytes, ..self.clone() }
    }

    pub(crate) fn file(&self, style: Style) -> Vec<u8> {
        let sizes: String = self.shape.iter().map(|size| format!("{size},")).collect();
        let fortran = if style.fortran { "True" } else { "False" };
        let mut file = header(
            style.version,
            &format!(
                "{{'descr': {}, 'fortran_order': {fortran}, 'shape': ({sizes}), }}",
                self.descr
            ),
        );
        if style.fortran {
            file.extend(trundle_testing::inverted(&self.bytes, self.width, &self.shape));
        } else {
            file.extend_from_slice(&self.bytes);
        }
        file
    }

    /// Reads an .npy file whose elements have `width` bytes.
    pub(crate) fn read(file: &[u8], width: usize) -> Tensor {
        assert_eq!(&file[..6], b"\x93NUMPY");
        let (start, length) = match file[6] {
            1 => (10, usize::from(u16::from_le_bytes([file[8], file[9]]))),
            _ => (12, u32::from_le_bytes(file[8..12].try_into().unwrap()) as usize),
        };
        assert_eq!((start + length) % 64, 0, "data is aligned");
        let header: String = file[start..start + length].iter().map(|b| char::from(*b)).collect();
        let between = |from: &str, to: &str| {
            let rest = &header[header.find(from).unwrap() + from.len()..];
            rest[..rest.find(to).unwrap()].to_owned()
        };
        let sizes = between("'shape': (", ")");
        let shape: Vec<usize> = sizes
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            .map(|size| size.parse().unwrap())
            .collect();
        let bytes = file[start + length..].to_vec();
        assert_eq!(bytes.len(), shape.iter().product::<usize>() * width);
        let descr = between("'descr': ", ", 'fortran_order'");
        let row_major = Tensor { descr, width, shape, bytes };
        match &between("'fortran_order': ", ",")[..] {
            "False" => row_major,
            // The bytes are the row-major bytes of the transpose.
            "True" => {
                let shape = row_major.shape.clone();
                let inverted: Vec<usize> = shape.iter().rev().copied().collect();
                Tensor { shape: inverted, ..row_major }
                    .gather(&shape, |index| index.iter().rev().copied().collect())
            }
            other => panic!("'fortran_order': {other}"),
        }
    }
}

/// Magic bytes, version and text of the header.
pub(crate) fn header(version: u8, text: &str) -> Vec<u8> {
    let mut text = text.as_bytes().to_vec();
    let start = if version == 1 { 10 } else { 12 };
    text.resize((start + text.len() + 1).next_multiple_of(64) - start - 1, b' ');
    text.push(b'\n');
    let length = (text.len() as u32).to_le_bytes();
    [&b"\x93NUMPY"[..], &[version, 0], &length[..start - 8], &text].concat()
}

/// Visits all indices in row-major order.
pub(crate) fn for_each_index(shape: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut index = vec![0; shape.len()];
    for _ in 0..shape.iter().product() {
        visit(&index);
        for (i, size) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *size {
                break;
            }
            *i = 0;
        }
    }
}
