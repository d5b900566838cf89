//! NVIDIA's driver, as far as it is used: a device's context with the kernels.
//!
//! It uses the device's *primary* context, which is the one that other libraries use too, so that their pointers and streams
//! are its own. A thread's current context is as before when a function returns.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};
use trundle_core::{Error, Result};
use trundle_gpu::WORKGROUP;

use crate::NoDevice;
use crate::kernel::NAMES;
use crate::launch::Launch;
use crate::ptx::{Ptx, for_capability};

/// The primary context of a device, with the kernels.
pub(crate) struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
    module: sys::CUmodule,
    /// As [`NAMES`].
    functions: Vec<sys::CUfunction>,
    /// What the device is called.
    pub(crate) name: String,
}

// SAFETY: the driver's handles may be used by any thread, by several at once: its documentation says so of all functions that
// are called here.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// The names that NVIDIA gives the driver's library: others that are tried, too, are of no account.
const LIBRARIES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so", "libcuda.so.1"] };

impl Context {
    /// That of a device.
    pub(crate) fn open(ordinal: usize) -> Result<Context, NoDevice> {
        let no_device = |found: String| NoDevice { ordinal, libraries: LIBRARIES, found };
        // SAFETY: to load the driver is to run what the system has installed as such.
        if !unsafe { sys::is_culib_present() } {
            return Err(no_device("there is no such library".to_owned()));
        }
        let refused = |error: DriverError| no_device(format!("the driver says {}", said(error)));
        result::init().map_err(refused)?;
        let count = result::device::get_count().map_err(refused)?;
        let at = i32::try_from(ordinal).ok().filter(|at| *at < count);
        let at = at
            .ok_or_else(|| no_device(format!("the driver has {count}, the first of which is 0")))?;
        let device = result::device::get(at).map_err(refused)?;
        let name = result::device::get_name(device).map_err(refused)?;
        let capability = capability(device).map_err(refused)?;
        let ptx = for_capability(capability).ok_or_else(|| {
            let has = format!("{}.{}", capability / 10, capability % 10);
            no_device(format!("{name} has compute capability {has}, which is less than 7.5"))
        })?;
        Context::of(device, name, ptx).map_err(refused)
    }

    fn of(device: sys::CUdevice, name: String, ptx: &Ptx) -> Result<Context, DriverError> {
        // SAFETY: the driver has given the device.
        let context = unsafe { result::primary_ctx::retain(device)? };
        // From here on it is given back where something fails.
        let functions = Vec::with_capacity(NAMES.len());
        let mut opened = Context { device, context, module: null_mut(), functions, name };
        let current = opened.current()?;
        // SAFETY: the text ends with a zero, and a context is current.
        opened.module = unsafe { result::module::load_data(ptx.text.as_ptr().cast::<c_void>())? };
        for name in NAMES {
            let name = CString::new(name).unwrap_or_default();
            // SAFETY: the module has just been loaded.
            opened.functions.push(unsafe { result::module::get_function(opened.module, name)? });
        }
        drop(current);
        Ok(opened)
    }

    /// Makes the context the thread's current one for as long as what is given lives.
    fn current(&self) -> Result<Current, DriverError> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { sys::cuCtxPushCurrent_v2(self.context) }.result().map(|()| Current)
    }

    /// New memory, all of it 0.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<u64> {
        let what = || format!("a buffer of {bytes} bytes on {}", self.name);
        let out_of_memory = DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let refused = |error| match error == out_of_memory {
            true => Error::TooLarge { what: what() },
            false => failed(error),
        };
        if bytes > isize::MAX.unsigned_abs() {
            return Err(Error::TooLarge { what: what() });
        }
        let _current = self.current().map_err(failed)?;
        // SAFETY: a context is current. Memory of no bytes is none.
        let pointer = unsafe { result::malloc_sync(bytes.max(1)) }.map_err(refused)?;
        // SAFETY: so many bytes have just been allocated.
        match unsafe { result::memset_d8_sync(pointer, 0, bytes.max(1)) } {
            Ok(()) => Ok(pointer),
            Err(error) => {
                // SAFETY: nobody else has the pointer.
                let _ = unsafe { result::free_sync(pointer) };
                Err(failed(error))
            }
        }
    }

    /// Whether both are the same context of the same device.
    pub(crate) fn is(&self, other: &Context) -> bool {
        self.context == other.context
    }

    /// Gives memory back, when all is done that was begun on the default stream.
    ///
    /// # Safety
    /// It was allocated here, and nobody uses it any more, but for what was begun on the default stream.
    pub(crate) unsafe fn free(&self, pointer: u64) {
        if let Ok(_current) = self.current() {
            // SAFETY: the default stream is always there.
            let _ = unsafe { result::stream::synchronize(null_mut()) };
            // SAFETY: the caller says so. A device that was lost has no memory to give back.
            let _ = unsafe { result::free_sync(pointer) };
        }
    }

    /// Copies from the host, in the order of the default stream.
    ///
    /// # Safety
    /// So many bytes are there.
    pub(crate) unsafe fn write<T: Copy>(&self, pointer: u64, values: &[T]) -> Result<()> {
        let _current = self.current().map_err(failed)?;
        // SAFETY: the caller says so.
        unsafe { result::memcpy_htod_sync(pointer, values) }.map_err(failed)
    }

    /// Copies to the host, when all is done that was begun on the default stream.
    ///
    /// # Safety
    /// So many bytes are there.
    pub(crate) unsafe fn read(&self, pointer: u64, bytes: &mut [u8]) -> Result<()> {
        let _current = self.current().map_err(failed)?;
        // SAFETY: the caller says so.
        unsafe { result::memcpy_dtoh_sync(bytes, pointer) }.map_err(failed)
    }

    /// Copies within the device, in the order of the default stream, and does not wait for it.
    ///
    /// # Safety
    /// So many bytes are at both, which do not overlap, and stay until it is done.
    pub(crate) unsafe fn copy(&self, src: u64, dst: u64, bytes: usize) -> Result<()> {
        let _current = self.current().map_err(failed)?;
        // SAFETY: the caller says so; the default stream is always there.
        unsafe { result::memcpy_dtod_async(dst, src, bytes, null_mut()) }.map_err(failed)
    }

    /// Waits for the default stream.
    pub(crate) fn wait(&self) -> Result<()> {
        let _current = self.current().map_err(failed)?;
        // SAFETY: the default stream is always there.
        unsafe { result::stream::synchronize(null_mut()) }.map_err(failed)
    }

    /// Launches kernels on a stream, one after another, and does not wait for them.
    ///
    /// # Safety
    /// The stream is one of this context or null, and what the launches read and write may be read and written until they are
    /// done.
    pub(crate) unsafe fn launch(
        &self,
        stream: *mut c_void,
        launches: impl Iterator<Item = Result<Launch>>,
    ) -> Result<()> {
        let _current = self.current().map_err(failed)?;
        for launch in launches {
            let mut launch = launch?;
            let function = self.functions[launch.kernel.number()];
            let mut parameters = [(&raw mut launch.parameters).cast::<c_void>()];
            let (grid, threads) = ((launch.blocks, 1, 1), (WORKGROUP as u32, 1, 1));
            let stream = stream.cast::<sys::CUstream_st>();
            // SAFETY: the kernel takes one struct of this layout, which the driver copies before it returns; the rest is as
            // the caller says.
            unsafe { result::launch_kernel(function, grid, threads, 0, stream, &mut parameters) }
                .map_err(failed)?;
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.module.is_null()
            && let Ok(_current) = self.current()
        {
            // SAFETY: it was loaded once, and nobody else has it.
            let _ = unsafe { result::module::unload(self.module) };
        }
        // SAFETY: it was retained once.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// A context that is the thread's current one.
struct Current;

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = null_mut();
        // SAFETY: this thread has pushed it.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) };
    }
}

/// Ten times the compute capability.
fn capability(device: sys::CUdevice) -> Result<u32, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let [major, minor] = [
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    ]
    // SAFETY: the driver has given the device.
    .map(|attribute| unsafe { result::device::get_attribute(device, attribute) });
    Ok(10 * major?.unsigned_abs() + minor?.unsigned_abs())
}

/// What the driver says of an error.
fn said(error: DriverError) -> String {
    match error.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => format!("error {}", error.0 as u32),
    }
}

fn failed(error: DriverError) -> Error {
    Error::DeviceFailed { message: said(error) }
}
