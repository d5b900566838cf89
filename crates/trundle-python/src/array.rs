//! numpy arrays: the memory of existing ones, and new ones.

use std::ffi::c_int;
use std::ptr::null_mut;

use numpy::npyffi::flags::{NPY_ARRAY_WRITEABLE, NPY_ITEM_REFCOUNT};
use numpy::npyffi::{
    _PyArray_GET_ITEM_DATA, NpyTypes, PY_ARRAY_API, PyArray_Descr, PyArrayObject,
    PyArrayObject_fields, PyDataType_ELSIZE, PyDataType_FLAGS, get_type_object,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::device::ArrayDevice;
use crate::handler;
use crate::lazy::Lazy;
use crate::memory::{ArrayMemory, Extent, contiguous_bytes};
use crate::recycled;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The class of the argument, as in numpy's function of the same name.
    Kept,
    /// Plain numpy.ndarray.
    Plain,
}

/// A numpy array, or an array of a subclass.
#[derive(Debug)]
pub(crate) struct Array<'py> {
    object: Bound<'py, PyAny>,
}

impl<'py> Array<'py> {
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> Option<Array<'py>> {
        let is_array = object.get_type_ptr() == array_type(object.py()) || {
            // SAFETY: the interpreter is attached, and both are type objects.
            unsafe {
                pyo3::ffi::PyType_IsSubtype(object.get_type_ptr(), array_type(object.py())) != 0
            }
        };
        is_array.then(|| Array { object: object.clone() })
    }

    /// Converts an object by `numpy.asarray`.
    ///
    /// # Errors
    /// The exceptions of numpy.
    pub(crate) fn made_of(object: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        static AS_ARRAY: Lazy<Py<PyAny>> = Lazy::new();
        let py = object.py();
        let as_array = AS_ARRAY.import(py, "numpy", "asarray")?;
        Ok(Array { object: as_array.call1((object,))? })
    }

    pub(crate) fn into_object(self) -> Bound<'py, PyAny> {
        self.object
    }

    fn fields(&self) -> &PyArrayObject_fields {
        let array: *const PyArrayObject = self.object.as_ptr().cast();
        // SAFETY: the object is an array, which lives as long as this reference to it.
        unsafe { &*_PyArray_GET_ITEM_DATA(array) }
    }

    fn descr(&self) -> *mut PyArray_Descr {
        self.fields().descr
    }

    /// Whether numpy did not recognise an object and wrapped it in a 0-dimensional object array.
    pub(crate) fn is_one_object(&self) -> bool {
        // SAFETY: the descriptor belongs to a live array, so it has the layout of the running numpy.
        let flags = unsafe { PyDataType_FLAGS(self.object.py(), self.descr()) };
        self.fields().nd == 0 && flags & NPY_ITEM_REFCOUNT != 0
    }

    pub(crate) fn dtype(&self) -> Bound<'py, PyAny> {
        // SAFETY: an array holds a reference to its descriptor.
        unsafe { Bound::from_borrowed_ptr(self.object.py(), self.descr().cast()) }
    }

    /// Returns the memory of the elements.
    ///
    /// # Errors
    /// TypeError for elements that are references to objects, and for masked arrays.
    pub(crate) fn memory(&self, argument: &str) -> PyResult<ArrayMemory> {
        let (py, fields) = (self.object.py(), self.fields());
        // SAFETY: the descriptor belongs to a live array, so it has the layout of the running numpy.
        let (flags, width) =
            unsafe { (PyDataType_FLAGS(py, fields.descr), PyDataType_ELSIZE(py, fields.descr)) };
        if flags & NPY_ITEM_REFCOUNT != 0 {
            let message = format!(
                "{argument} has elements of type {}, which are references to Python objects; trundle moves plain bytes",
                self.dtype()
            );
            return Err(PyTypeError::new_err(message));
        }
        if self.object.get_type_ptr() != array_type(py) {
            self.refuse_masked(argument)?;
        }
        let rank = fields.nd.unsigned_abs() as usize;
        // SAFETY: an array has as many sizes and strides as axes; without axes the pointers may be null.
        let (sizes, strides) = unsafe {
            match rank {
                0 => (&[][..], &[][..]),
                _ => (
                    std::slice::from_raw_parts(fields.dimensions, rank),
                    std::slice::from_raw_parts(fields.strides, rank),
                ),
            }
        };
        Ok(ArrayMemory {
            first: fields.data.cast(),
            sizes: SmallVec::from_slice(sizes),
            strides: SmallVec::from_slice(strides),
            width: width.unsigned_abs(),
            device: ArrayDevice::Cpu,
        })
    }

    fn refuse_masked(&self, argument: &str) -> PyResult<()> {
        static MASKED: Lazy<Py<PyAny>> = Lazy::new();
        let masked = MASKED.import(self.object.py(), "numpy.ma", "MaskedArray")?;
        match self.object.is_instance(masked)? {
            true => Err(PyTypeError::new_err(format!(
                "{argument} is a masked array: move its data and its mask separately"
            ))),
            false => Ok(()),
        }
    }

    /// Checks that the array is writable.
    ///
    /// # Errors
    /// ValueError for a read-only array, as in numpy.
    pub(crate) fn check_writable(&self, argument: &str) -> PyResult<()> {
        match self.fields().flags & NPY_ARRAY_WRITEABLE {
            0 => Err(PyValueError::new_err(format!("{argument} array is read-only"))),
            _ => Ok(()),
        }
    }

    /// Checks that `self` has the dtype of `other`.
    ///
    /// # Errors
    /// TypeError if the dtypes differ.
    pub(crate) fn check_dtype(&self, argument: &str, other: &Array<'_>) -> PyResult<()> {
        let (py, own, others) = (self.object.py(), self.descr(), other.descr());
        // SAFETY: both descriptors belong to live arrays.
        let is_same = own == others
            || unsafe {
                PY_ARRAY_API.PyArray_EquivTypes(py, own, others) != 0
                    && PyDataType_ELSIZE(py, own) == PyDataType_ELSIZE(py, others)
            };
        match is_same {
            true => Ok(()),
            false => Err(PyTypeError::new_err(format!(
                "{argument} has elements of type {}, not {}: trundle does not cast",
                self.dtype(),
                other.dtype()
            ))),
        }
    }

    /// Checks that the array has a dtype, which is given in any form that numpy accepts.
    ///
    /// # Errors
    /// TypeError if the dtypes differ; the exceptions of numpy for an invalid dtype.
    pub(crate) fn check_dtype_is(&self, argument: &str, dtype: &Bound<'_, PyAny>) -> PyResult<()> {
        let own = self.dtype();
        let wanted = own.py().import("numpy")?.call_method1("dtype", (dtype,))?;
        match wanted.eq(&own)? {
            true => Ok(()),
            false => Err(PyTypeError::new_err(format!(
                "{argument} has elements of type {own}, not {wanted}: trundle does not cast; use {argument}.astype({wanted})"
            ))),
        }
    }

    /// Creates a contiguous array of the given sizes with the same dtype; returns it and its bytes.
    ///
    /// # Errors
    /// MemoryError, or exceptions of a subclass.
    pub(crate) fn new_like(
        &self,
        sizes: &[isize],
        width: usize,
        class: Class,
    ) -> PyResult<(Array<'py>, Extent)> {
        let bytes = contiguous_bytes(sizes, width);
        let array = if bytes >= recycled::LEAST_BYTES {
            handler::with_recycled(self.object.py(), || self.allocate(sizes, class))?
        } else {
            self.allocate(sizes, class)?
        };
        array.check_made(width, bytes)?;
        let start = array.fields().data.cast();
        Ok((array, Extent { start, bytes, device: ArrayDevice::Cpu }))
    }

    /// Checks that a new array has the requested size. `__array_finalize__` of a subclass may have changed it.
    ///
    /// # Errors
    /// ValueError if the size differs.
    fn check_made(&self, width: usize, bytes: usize) -> PyResult<()> {
        if width == 0 {
            // numpy widens strings of 0 characters to 1. No elements are moved in this case, so fill it here.
            let made = self.memory("the result")?.contiguous_bytes();
            // SAFETY: the array is new and contiguous, and has `made` bytes.
            unsafe { self.fields().data.write_bytes(0, made) };
            return Ok(());
        }
        let is_plain = self.object.get_type_ptr() == array_type(self.object.py());
        if is_plain || self.memory("the result")?.contiguous_bytes() == bytes {
            return Ok(());
        }
        let class = self.object.get_type().name()?;
        let message = format!("__array_finalize__ of {class} changes the size of a new array");
        Err(PyValueError::new_err(message))
    }

    fn allocate(&self, sizes: &[isize], class: Class) -> PyResult<Array<'py>> {
        let py = self.object.py();
        let (subtype, like) = match class {
            Class::Kept if self.object.get_type_ptr() != array_type(py) => {
                (self.object.get_type_ptr(), self.object.as_ptr())
            }
            _ => (array_type(py), null_mut()),
        };
        let rank = c_int::try_from(sizes.len()).unwrap_or(c_int::MAX);
        // SAFETY: the call steals a reference to the descriptor, which is created above, and copies the sizes.
        // It returns a new reference, or null with an exception set.
        let object = unsafe {
            let descr = self.descr();
            pyo3::ffi::Py_INCREF(descr.cast());
            let dims = sizes.as_ptr().cast_mut();
            let array = PY_ARRAY_API.PyArray_NewFromDescr(
                py,
                subtype,
                descr,
                rank,
                dims,
                null_mut(),
                null_mut(),
                0,
                like,
            );
            Bound::from_owned_ptr_or_err(py, array)?
        };
        Ok(Array { object })
    }
}

/// Loads numpy's table of functions. The crate `numpy` does this behind a lock, see [`Lazy`]; therefore it is
/// called when trundle is imported, before another thread can fork during a call.
///
/// # Errors
/// The exceptions of the import of numpy.
pub(crate) fn find_numpy(py: Python<'_>) -> PyResult<()> {
    py.import("numpy")?;
    array_type(py);
    Ok(())
}

fn array_type(py: Python<'_>) -> *mut pyo3::ffi::PyTypeObject {
    // SAFETY: numpy's table of types is available once numpy is imported.
    unsafe { get_type_object(py, NpyTypes::PyArray_Type) }
}
