//! numpy's arrays: where their elements lie, and new ones.

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

use crate::handler;
use crate::lazy::Lazy;
use crate::memory::{Extent, Memory, contiguous_bytes};
use crate::place::Place;
use crate::recycled;

/// What of an array's class a result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The same, as numpy's function of this name has it.
    Kept,
    /// None: it is a plain array.
    Plain,
}

/// An array of numpy, or of a class derived from its.
#[derive(Debug)]
pub(crate) struct Array<'py> {
    object: Bound<'py, PyAny>,
}

impl<'py> Array<'py> {
    /// The object as an array, if it is one.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> Option<Array<'py>> {
        let is_array = object.get_type_ptr() == array_type(object.py()) || {
            // SAFETY: the interpreter is attached, and both are type objects.
            unsafe {
                pyo3::ffi::PyType_IsSubtype(object.get_type_ptr(), array_type(object.py())) != 0
            }
        };
        is_array.then(|| Array { object: object.clone() })
    }

    /// What `numpy.asarray` makes of anything else: a list, a number, what has `__array__`.
    ///
    /// # Errors
    /// What numpy raises.
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

    /// Whether this is what numpy makes of an object that it knows nothing of: an array of itself.
    pub(crate) fn is_one_object(&self) -> bool {
        // SAFETY: the array's own type, of whichever version of numpy runs.
        let flags = unsafe { PyDataType_FLAGS(self.object.py(), self.descr()) };
        self.fields().nd == 0 && flags & NPY_ITEM_REFCOUNT != 0
    }

    /// The type of the elements, as Python has it.
    pub(crate) fn dtype(&self) -> Bound<'py, PyAny> {
        // SAFETY: an array holds a reference to its type.
        unsafe { Bound::from_borrowed_ptr(self.object.py(), self.descr().cast()) }
    }

    /// Where the elements lie.
    ///
    /// # Errors
    /// TypeError for elements that are references to objects, and for masked arrays.
    pub(crate) fn memory(&self, argument: &str) -> PyResult<Memory> {
        let (py, fields) = (self.object.py(), self.fields());
        // SAFETY: the array's own type, of whichever version of numpy runs.
        let (flags, width) =
            unsafe { (PyDataType_FLAGS(py, fields.descr), PyDataType_ELSIZE(py, fields.descr)) };
        if flags & NPY_ITEM_REFCOUNT != 0 {
            let message = format!(
                "{argument} has elements of type {}, which are references to Python objects: \
                 trundle moves bytes",
                self.dtype()
            );
            return Err(PyTypeError::new_err(message));
        }
        if self.object.get_type_ptr() != array_type(py) {
            self.refuse_masked(argument)?;
        }
        let rank = fields.nd.unsigned_abs() as usize;
        // SAFETY: an array has as many sizes and strides as axes; without axes they may be null.
        let (sizes, strides) = unsafe {
            match rank {
                0 => (&[][..], &[][..]),
                _ => (
                    std::slice::from_raw_parts(fields.dimensions, rank),
                    std::slice::from_raw_parts(fields.strides, rank),
                ),
            }
        };
        Ok(Memory {
            first: fields.data.cast(),
            sizes: SmallVec::from_slice(sizes),
            strides: SmallVec::from_slice(strides),
            width: width.unsigned_abs(),
            place: Place::Cpu,
        })
    }

    fn refuse_masked(&self, argument: &str) -> PyResult<()> {
        static MASKED: Lazy<Py<PyAny>> = Lazy::new();
        let masked = MASKED.import(self.object.py(), "numpy.ma", "MaskedArray")?;
        match self.object.is_instance(masked)? {
            true => Err(PyTypeError::new_err(format!(
                "{argument} is a masked array: move its data and its mask each"
            ))),
            false => Ok(()),
        }
    }

    /// # Errors
    /// ValueError for a read-only array, as numpy raises it.
    pub(crate) fn check_writable(&self, argument: &str) -> PyResult<()> {
        match self.fields().flags & NPY_ARRAY_WRITEABLE {
            0 => Err(PyValueError::new_err(format!("{argument} array is read-only"))),
            _ => Ok(()),
        }
    }

    /// # Errors
    /// TypeError if elements of `self` are not of the type of `other`'s.
    pub(crate) fn check_dtype(&self, argument: &str, other: &Array<'_>) -> PyResult<()> {
        let (py, own, others) = (self.object.py(), self.descr(), other.descr());
        // SAFETY: both are types of arrays that are alive.
        let is_same = own == others
            || unsafe {
                PY_ARRAY_API.PyArray_EquivTypes(py, own, others) != 0
                    && PyDataType_ELSIZE(py, own) == PyDataType_ELSIZE(py, others)
            };
        match is_same {
            true => Ok(()),
            false => Err(PyTypeError::new_err(format!(
                "{argument} has elements of type {}, not {}: trundle moves elements and casts none",
                self.dtype(),
                other.dtype()
            ))),
        }
    }

    /// # Errors
    /// TypeError if elements are not of a type that is given as numpy takes it; what numpy raises
    /// for what is no type.
    pub(crate) fn check_dtype_is(&self, argument: &str, dtype: &Bound<'_, PyAny>) -> PyResult<()> {
        let own = self.dtype();
        let wanted = own.py().import("numpy")?.call_method1("dtype", (dtype,))?;
        match wanted.eq(&own)? {
            true => Ok(()),
            false => Err(PyTypeError::new_err(format!(
                "{argument} has elements of type {own}, not {wanted}: trundle moves elements and \
                 casts none, as {argument}.astype({wanted}) does"
            ))),
        }
    }

    /// A new array of these sizes, contiguous, with elements of the same type, and its bytes.
    ///
    /// # Errors
    /// MemoryError, or what a derived class raises.
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
        Ok((array, Extent { start, bytes, place: Place::Cpu }))
    }

    /// Checks that a new array has the bytes that it was made for: `__array_finalize__` of a
    /// derived class may have given it others.
    ///
    /// # Errors
    /// ValueError if it has.
    fn check_made(&self, width: usize, bytes: usize) -> PyResult<()> {
        if width == 0 {
            // numpy makes texts of 0 characters ones of 1: nothing is moved there.
            let made = self.memory("the result")?.contiguous_bytes();
            // SAFETY: the array is new, contiguous, and of so many bytes.
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
        // SAFETY: the call takes a reference to the type, which is made for it, and copies the
        // sizes. It gives a new reference, or none with an exception set.
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

/// Finds numpy's table of functions, which the crate `numpy` does behind a lock: see [`Lazy`]. It is called
/// while trundle is imported, before any call could be in the middle of it when another thread forks.
///
/// # Errors
/// What the import of numpy raises.
pub(crate) fn find_numpy(py: Python<'_>) -> PyResult<()> {
    py.import("numpy")?;
    array_type(py);
    Ok(())
}

fn array_type(py: Python<'_>) -> *mut pyo3::ffi::PyTypeObject {
    // SAFETY: numpy's table of types is there once numpy can be imported.
    unsafe { get_type_object(py, NpyTypes::PyArray_Type) }
}
