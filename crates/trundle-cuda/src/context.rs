//! The primary context of a device, and the kernels that are loaded into it.
//!
//! CUDA's runtime and other libraries use the primary context too, so their pointers and streams are valid in it. Every
//! function of this crate restores the thread's current context before it returns.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

use crate::NoDevice;
use crate::failure::message_of;
use crate::kernel::{Kernel, NAMES};
use crate::ptx;
use crate::specialised::Kernels;
use crate::staging::Staging;

pub(crate) struct Context {
    /// Device index, from 0.
    pub(crate) ordinal: usize,
    pub(crate) name: String,
    /// Whether the device can allocate and free memory in the order of a stream.
    pub(crate) has_pools: bool,
    /// The compute capability, times ten.
    pub(crate) capability: u32,
    /// The kernels that were generated for plans.
    pub(crate) kernels: Kernels,
    context: sys::CUcontext,
    /// One function for each name in [`NAMES`].
    functions: Vec<sys::CUfunction>,
    dropped: Mutex<Vec<(sys::CUstream, u64)>>,
    pub(crate) staging: Staging,
}

// SAFETY: by the documentation of the driver, all functions that are called with these handles may be called from any
// thread and concurrently.
unsafe impl Send for Context {}
// SAFETY: as for `Send`.
unsafe impl Sync for Context {}

/// NVIDIA's names for the driver library. cudarc also tries others.
const LIBRARIES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so", "libcuda.so.1"] };

impl Context {
    /// Returns the context of a device, opened on first use and never closed, because streams and graphs of the caller
    /// may still contain launches of the kernels.
    pub(crate) fn of_device(ordinal: usize) -> Result<&'static Context, NoDevice> {
        static OPENED: Mutex<BTreeMap<usize, &'static Context>> = Mutex::new(BTreeMap::new());
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = opened.get(&ordinal) {
            return Ok(context);
        }
        let context = Box::leak(Box::new(Context::open(ordinal)?));
        opened.insert(ordinal, context);
        Ok(context)
    }

    fn open(ordinal: usize) -> Result<Context, NoDevice> {
        let no_device = |found: String| NoDevice { ordinal, libraries: LIBRARIES, found };
        // SAFETY: loading the library runs its initialization code. It is the CUDA driver of the system.
        if !unsafe { sys::is_culib_present() } {
            return Err(no_device("found no such library".to_owned()));
        }
        let refused =
            |error: DriverError| no_device(format!("the driver says {}", message_of(error)));
        result::init().map_err(refused)?;
        let count = result::device::get_count().map_err(refused)?;
        let at = i32::try_from(ordinal).ok().filter(|at| *at < count);
        let at = at.ok_or_else(|| no_device(format!("the driver has {count}, numbered from 0")))?;
        let device = result::device::get(at).map_err(refused)?;
        let name = result::device::get_name(device).map_err(refused)?;
        let capability = capability(device).map_err(refused)?;
        if capability < ptx::LEAST_CAPABILITY {
            let [has, least] = [capability, ptx::LEAST_CAPABILITY]
                .map(|capability| format!("{}.{}", capability / 10, capability % 10));
            let found = format!("{name} has compute capability {has}, which is less than {least}");
            return Err(no_device(found));
        }
        let mut opened = Context {
            ordinal,
            name,
            has_pools: has_pools(device).map_err(refused)?,
            capability,
            kernels: Kernels::new(),
            // SAFETY: `device` comes from the driver.
            context: unsafe { result::primary_ctx::retain(device) }.map_err(refused)?,
            functions: Vec::new(),
            dropped: Mutex::new(Vec::new()),
            staging: Staging::new(),
        };
        opened.load().map_err(|error| {
            // SAFETY: the context was retained once above.
            let _ = unsafe { result::primary_ctx::release(device) };
            refused(error)
        })?;
        Ok(opened)
    }

    fn load(&mut self) -> Result<(), DriverError> {
        let _current = self.current()?;
        // SAFETY: the text ends with a zero byte, and a context is current.
        let module = unsafe { result::module::load_data(ptx::TEXT.as_ptr().cast::<c_void>())? };
        for name in NAMES {
            let name = CString::new(name).unwrap_or_default();
            // SAFETY: the module was just loaded.
            self.functions.push(unsafe { result::module::get_function(module, name)? });
        }
        Ok(())
    }

    /// Makes this context the current one of the calling thread, until the returned guard is dropped.
    pub(crate) fn current(&self) -> Result<Current, DriverError> {
        let mut current = null_mut();
        // SAFETY: the pointer points to a local variable.
        unsafe { sys::cuCtxGetCurrent(&raw mut current) }.result()?;
        let is_pushed = current != self.context;
        if is_pushed {
            // SAFETY: the context is retained.
            unsafe { sys::cuCtxPushCurrent_v2(self.context) }.result()?;
        }
        Ok(Current { is_pushed })
    }

    pub(crate) fn function(&self, kernel: Kernel) -> sys::CUfunction {
        self.functions[kernel.number()]
    }

    /// Returns the address and the size of the allocation that contains an address, or `None` if the driver does not
    /// know it.
    pub(crate) fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        let _current = self.current().ok()?;
        let (mut begin, mut bytes) = (0, 0);
        // SAFETY: the pointers point to local variables, and a context is current.
        let found =
            unsafe { sys::cuMemGetAddressRange_v2(&raw mut begin, &raw mut bytes, address) };
        found.result().ok().map(|()| (begin, bytes as u64))
    }

    /// Memory that was dropped but not yet freed: the stream and the address.
    pub(crate) fn dropped(&self) -> MutexGuard<'_, Vec<(sys::CUstream, u64)>> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Restores the previous context if [`Context::current`] changed it.
pub(crate) struct Current {
    is_pushed: bool,
}

impl Drop for Current {
    fn drop(&mut self) {
        if self.is_pushed {
            let mut popped = null_mut();
            // SAFETY: this thread pushed the context in `Context::current`.
            let _ = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) };
        }
    }
}

/// Returns the compute capability, times ten.
fn capability(device: sys::CUdevice) -> Result<u32, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let [major, minor] = [
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    ]
    // SAFETY: `device` comes from the driver.
    .map(|attribute| unsafe { result::device::get_attribute(device, attribute) });
    Ok(10 * major?.unsigned_abs() + minor?.unsigned_abs())
}

fn has_pools(device: sys::CUdevice) -> Result<bool, DriverError> {
    let pools = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    // SAFETY: `device` comes from the driver.
    Ok(unsafe { result::device::get_attribute(device, pools) }? != 0)
}
