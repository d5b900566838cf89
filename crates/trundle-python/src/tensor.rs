//! Arrays of all kinds.

use dlpark::ffi::{DLDataType, DLDataTypeCode};
use numpy::PyArrayDescr;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use trundle::DType;
use trundle::ops::Scalar;

use crate::array::{Array, Class};
use crate::array_like::array_of;
use crate::device::ArrayDevice;
use crate::dlpack::{self, Foreign, Maker};
use crate::error::out_of_memory;
use crate::library::Library;
use crate::memory::{ArrayMemory, Extent, PerAxis, contiguous_bytes};
use crate::recycled::Block;
use crate::traced;

/// The memory is valid as long as this value exists.
#[derive(Debug)]
pub(crate) struct Tensor<'py> {
    pub(crate) memory: ArrayMemory,
    kind: TensorKind<'py>,
}

#[derive(Debug)]
enum TensorKind<'py> {
    Array(Array<'py>, Class),
    Foreign(Foreign<'py>),
}

impl<'py> Tensor<'py> {
    /// Reads a numpy array, an array of another library with `__dlpack__` on the CPU or a supported GPU, or an object
    /// that numpy converts to an array. `class` is the class of results.
    ///
    /// # Errors
    /// TypeError or ValueError if the argument cannot be read.
    pub(crate) fn to_read(
        argument: &str,
        object: &Bound<'py, PyAny>,
        class: Class,
    ) -> PyResult<Tensor<'py>> {
        if let Some(array) = Array::of(object) {
            return Tensor::of_array(argument, array, class);
        }
        let read = if dlpack::is_foreign(object)? {
            Tensor::of_foreign(argument, object)
        } else {
            Tensor::of_array_like(argument, object, class)
        };
        read.map_err(|error| traced::refusal(argument, object).unwrap_or(error))
    }

    fn of_foreign(argument: &str, object: &Bound<'py, PyAny>) -> PyResult<Tensor<'py>> {
        let (foreign, memory) = Foreign::import(argument, object)?;
        Ok(Tensor { memory, kind: TensorKind::Foreign(foreign) })
    }

    fn of_array_like(
        argument: &str,
        object: &Bound<'py, PyAny>,
        class: Class,
    ) -> PyResult<Tensor<'py>> {
        let made = array_of(argument, object)?;
        match Array::of(&made) {
            Some(array) => Tensor::of_array(argument, array, class),
            None => Tensor::of_foreign(argument, &made),
        }
    }

    fn of_array(argument: &str, array: Array<'py>, class: Class) -> PyResult<Tensor<'py>> {
        Ok(Tensor { memory: array.memory(argument)?, kind: TensorKind::Array(array, class) })
    }

    /// `dtype` is a dtype of the array's library.
    ///
    /// # Errors
    /// TypeError if the dtypes differ.
    pub(crate) fn check_dtype_is(&self, argument: &str, dtype: &Bound<'py, PyAny>) -> PyResult<()> {
        match &self.kind {
            TensorKind::Array(array, _) => array.check_dtype_is(argument, dtype),
            TensorKind::Foreign(foreign) => foreign.check_dtype_is(argument, dtype),
        }
    }

    /// Signed 64-bit integers in native byte order.
    pub(crate) fn is_i64(&self) -> bool {
        match &self.kind {
            TensorKind::Array(array, _) => {
                let dtype = array.dtype();
                let is = |name: &str, value: &str| {
                    dtype.getattr(name).is_ok_and(|own| own.to_string() == value)
                };
                is("kind", "i") && is("itemsize", "8") && is("isnative", "True")
            }
            TensorKind::Foreign(foreign) => {
                let DLDataType { code, bits, lanes } = foreign.dtype();
                (code, bits, lanes) == (DLDataTypeCode::INT, 64, 1)
            }
        }
    }

    /// Reads values of the kind and dtype of this array. For a numpy array, numpy converts other objects.
    ///
    /// # Errors
    /// TypeError for another kind or dtype, or exceptions of numpy.
    pub(crate) fn values_like(
        &self,
        py: Python<'py>,
        argument: &str,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Tensor<'py>> {
        let values = match &self.kind {
            TensorKind::Array(array, _) if Array::of(values).is_none() => {
                let made = py.import("numpy")?.call_method1("asarray", (values, array.dtype()))?;
                Tensor::to_read(argument, &made, Class::Plain)?
            }
            _ => Tensor::to_read(argument, values, Class::Plain)?,
        };
        self.check_like(argument, &values)?;
        Ok(values)
    }

    /// Converts the values of a padding to the bytes of two elements for each axis, before and after, with numpy's
    /// conversion to this array's dtype.
    ///
    /// # Errors
    /// The exceptions of numpy, and TypeError for a dtype that numpy does not have, unless all values are 0.
    pub(crate) fn pairs_of(
        &self,
        py: Python<'py>,
        values: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<u8>> {
        let (rank, width) = (self.memory.sizes.len(), self.memory.width);
        let zeros = || vec![0; 2 * rank * width];
        let Some(values) = values else { return Ok(zeros()) };
        let numpy = py.import("numpy")?;
        let dtype = match self.numpy_dtype(&numpy)? {
            Some(dtype) => dtype,
            None if !values.eq(0)? => {
                return Err(PyTypeError::new_err(
                    "constant_values must be 0 for elements of a type that numpy lacks",
                ));
            }
            None => return Ok(zeros()),
        };
        let pairs = numpy.call_method1("empty", ((rank, 2), dtype))?;
        pairs.set_item(py.Ellipsis(), values)?;
        pairs.call_method0("tobytes")?.extract()
    }

    /// `None` if numpy does not have this type.
    fn numpy_dtype(&self, numpy: &Bound<'py, PyModule>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.kind {
            TensorKind::Array(array, _) => Ok(Some(array.dtype())),
            TensorKind::Foreign(foreign) => {
                let name = numpy_name(foreign.dtype());
                name.map(|name| numpy.call_method1("dtype", (name,))).transpose()
            }
        }
    }

    /// The conversion of numbers to elements. For a type that trundle does not know, only 0 can be converted, to bytes
    /// that are 0.
    ///
    /// # Errors
    /// The exceptions of Python.
    pub(crate) fn elements(&self, py: Python<'py>) -> PyResult<Elements> {
        let width = self.memory.width;
        let other = Elements { dtype: DType::Bytes(width), is_big_endian: false };
        let Some(dtype) = self.numpy_dtype(&py.import("numpy")?)? else { return Ok(other) };
        let known = dtype_of(&dtype, width)?;
        let byte_order: String = dtype.getattr("byteorder")?.extract()?;
        let is_big_endian = byte_order == ">" || byte_order == "=" && cfg!(target_endian = "big");
        Ok(known.map_or(other, |dtype| Elements { dtype, is_big_endian }))
    }

    /// The kinds and dtypes must be the same.
    ///
    /// # Errors
    /// TypeError if they differ.
    pub(crate) fn check_like(&self, argument: &str, other: &Tensor<'py>) -> PyResult<()> {
        match (&self.kind, &other.kind) {
            (TensorKind::Array(own, _), TensorKind::Array(array, _)) => {
                array.check_dtype(argument, own)
            }
            (TensorKind::Foreign(own), TensorKind::Foreign(foreign))
                if own.object().get_type().is(foreign.object().get_type()) =>
            {
                self.check_device(argument, other)?;
                foreign.check_dtype(argument, own)
            }
            _ => Err(PyTypeError::new_err(format!(
                "{argument} must be the same kind of array as the first one"
            ))),
        }
    }

    /// The devices must be the same.
    ///
    /// # Errors
    /// ValueError if the devices differ.
    fn check_device(&self, argument: &str, other: &Tensor<'py>) -> PyResult<()> {
        let (own, others) = (self.memory.device, other.memory.device);
        match own.ordinal() == others.ordinal() {
            true => Ok(()),
            false => Err(PyValueError::new_err(format!(
                "{argument} is on {others}, but the moved array is on {own}: trundle does not copy between devices"
            ))),
        }
    }

    /// Reads the array for a result, which must have the kind and dtype of `x`.
    ///
    /// # Errors
    /// TypeError for another kind or dtype, ValueError for a read-only array.
    pub(crate) fn to_write(
        argument: &str,
        object: &Bound<'py, PyAny>,
        x: &Tensor<'py>,
    ) -> PyResult<Tensor<'py>> {
        match (&x.kind, Array::of(object)) {
            (TensorKind::Array(read, _), Some(array)) => {
                let memory = array.memory(argument)?;
                array.check_dtype(argument, read)?;
                array.check_writable(argument)?;
                Ok(Tensor { memory, kind: TensorKind::Array(array, Class::Plain) })
            }
            (TensorKind::Foreign(read), None) if object.get_type().is(read.object().get_type()) => {
                let (foreign, memory) = Foreign::import(argument, object)
                    .map_err(|error| traced::refusal(argument, object).unwrap_or(error))?;
                foreign.check_dtype(argument, read)?;
                foreign.check_writable(argument)?;
                let target = Tensor { memory, kind: TensorKind::Foreign(foreign) };
                x.check_device(argument, &target)?;
                Ok(target)
            }
            _ => Err(PyTypeError::new_err(format!(
                "{argument} must be the same kind of array as x, not {}",
                object.get_type().name()?
            ))),
        }
    }
}

/// The names in ml_dtypes.
const ML_DTYPES: [(&str, DType); 4] = [
    ("bfloat16", DType::BF16),
    ("float8_e4m3fn", DType::F8E4M3),
    ("float8_e5m2", DType::F8E5M2),
    ("float8_e8m0fnu", DType::F8E8M0),
];

/// The number type, if it is one.
fn dtype_of(dtype: &Bound<'_, PyAny>, width: usize) -> PyResult<Option<DType>> {
    let (kind, bits): (String, usize) = (dtype.getattr("kind")?.extract()?, 8 * width);
    let name = match &*kind {
        "b" => "boolean".to_owned(),
        "i" | "u" | "f" => format!("{kind}{bits}"),
        "c" => format!("complex{bits}"),
        _ => {
            let name: String = dtype.getattr("name")?.extract()?;
            let known = ML_DTYPES.iter().find(|(own, _)| *own == name);
            return Ok(known.map(|(_, dtype)| *dtype));
        }
    };
    Ok(DType::from_name(&name).ok())
}

/// `None` for types that numpy arrays cannot hold.
///
/// # Errors
/// ImportError if the package of the dtype is missing.
pub(crate) fn numpy_dtype(py: Python<'_>, dtype: DType) -> PyResult<Option<Bound<'_, PyAny>>> {
    let name = dtype.to_string();
    let described = if let Some((own, _)) = ML_DTYPES.iter().find(|(_, known)| *known == dtype) {
        PyArrayDescr::new(py, py.import("ml_dtypes")?.getattr(*own)?)
    } else {
        match (&name[..1], dtype.packing()) {
            _ if dtype == DType::Boolean => PyArrayDescr::new(py, "?"),
            (kind @ ("i" | "u" | "f" | "c"), None) => {
                PyArrayDescr::new(py, format!("{kind}{}", dtype.width()))
            }
            _ => return Ok(None),
        }
    };
    Ok(Some(described?.into_any()))
}

/// The type and byte order of elements to which numbers are converted.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Elements {
    dtype: DType,
    is_big_endian: bool,
}

impl Elements {
    /// The value for chains that have no number.
    pub(crate) const UNKNOWN: Elements = Elements { dtype: DType::Bytes(0), is_big_endian: false };

    /// The bytes of a number.
    ///
    /// # Errors
    /// The errors of [`Scalar::element`].
    pub(crate) fn of_number(self, number: Scalar) -> trundle::Result<Vec<u8>> {
        match self.is_big_endian {
            true => number.big_endian_element(self.dtype, self.dtype),
            false => number.element(self.dtype, self.dtype),
        }
    }
}

fn numpy_name(dtype: DLDataType) -> Option<String> {
    let kind = match dtype.code {
        DLDataTypeCode::INT => "i",
        DLDataTypeCode::UINT => "u",
        DLDataTypeCode::FLOAT => "f",
        DLDataTypeCode::COMPLEX => "c",
        DLDataTypeCode::BOOL => return (dtype.bits == 8).then(|| "?".to_owned()),
        _ => return None,
    };
    (dtype.lanes == 1 && dtype.bits >= 8).then(|| format!("{kind}{}", dtype.bits / 8))
}

/// A new array. On a GPU, its library allocates it before the move. On the CPU, other libraries get the memory after
/// the move, because some of them copy it.
pub(crate) enum Output<'py> {
    Array(Array<'py>),
    OnGpu(Bound<'py, PyAny>),
    Block { block: Block, sizes: PerAxis<isize>, dtype: DLDataType, maker: Maker<'py> },
}

impl<'py> Output<'py> {
    /// A result of the kind of `x`, and its memory.
    ///
    /// # Errors
    /// MemoryError if there is not enough memory, and the errors of the array's library.
    #[inline]
    pub(crate) fn like(x: &Tensor<'py>, sizes: &[isize]) -> PyResult<(Output<'py>, Extent)> {
        let width = x.memory.width;
        match &x.kind {
            TensorKind::Array(array, class) => {
                let (array, extent) = array.new_like(sizes, width, *class)?;
                Ok((Output::Array(array), extent))
            }
            TensorKind::Foreign(foreign) if x.memory.device.gpu().is_some() => {
                Output::on_gpu(foreign, &x.memory, sizes)
            }
            TensorKind::Foreign(foreign) => {
                let maker = Maker::of(foreign)?;
                let bytes = contiguous_bytes(sizes, width);
                let block = Block::new(bytes).ok_or_else(|| out_of_memory(bytes))?;
                let extent = Extent { start: block.start(), bytes, device: ArrayDevice::Cpu };
                let (sizes, dtype) = (sizes.into(), foreign.dtype());
                Ok((Output::Block { block, sizes, dtype, maker }, extent))
            }
        }
    }

    /// The library of `like` allocates the result.
    ///
    /// # Errors
    /// The exceptions of the library, and ValueError if it returns another array than requested.
    fn on_gpu(
        like: &Foreign<'py>,
        read: &ArrayMemory,
        sizes: &[isize],
    ) -> PyResult<(Output<'py>, Extent)> {
        let wrong = || PyValueError::new_err("the array's library made another one for the result");
        let library = Library::of(like.object()).ok_or_else(wrong)?;
        let made = library.new_like(like.object(), sizes)?;
        let (foreign, memory) = Foreign::import("the result", &made)?;
        let is_alike = memory.device.ordinal() == read.device.ordinal()
            && foreign.dtype() == like.dtype()
            && memory.sizes[..] == *sizes
            && (memory.is_empty() || memory.is_contiguous());
        // Uses the stream of the call.
        let extent = Extent { device: read.device, ..memory.extent() };
        is_alike.then_some((Output::OnGpu(made), extent)).ok_or_else(wrong)
    }

    /// Converts the result to a Python object.
    ///
    /// # Errors
    /// The exceptions of the array's library.
    #[inline]
    pub(crate) fn finish(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Output::Array(array) => Ok(array.into_object()),
            Output::OnGpu(made) => Ok(made),
            Output::Block { block, sizes, dtype, maker } => maker.make(py, block, &sizes, dtype),
        }
    }
}
