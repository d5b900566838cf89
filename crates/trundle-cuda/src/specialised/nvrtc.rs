//! NVRTC, the compiler of CUDA C++, which is loaded when it is first needed.
//!
//! cudarc loads it too, but only by its name, and panics without it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use cudarc::driver::result::DriverError;
use cudarc::driver::sys;
use libloading::Library;

use super::closing;
use super::warning::warn;

type Program = *mut c_void;

/// The functions of NVRTC. Each returns 0 if it succeeds.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    log_bytes: Size,
    log: Contents,
    cubin_bytes: Size,
    cubin: Contents,
}

type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Contents = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

pub(crate) struct Nvrtc {
    /// The version, such as 12.9.
    pub(crate) version: [c_int; 2],
    functions: Functions,
}

static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Adds folders to search for NVRTC before the folders of the system. Call it before the first plan that needs NVRTC,
/// because NVRTC is searched only once.
pub fn search_nvrtc_in(folders: impl IntoIterator<Item = PathBuf>) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).extend(folders);
}

impl Nvrtc {
    /// Loads NVRTC, once in a process. A driver must be loaded.
    ///
    /// # Errors
    /// The names that were tried. It is also the warning of the process.
    pub(crate) fn get() -> Result<&'static Nvrtc, &'static str> {
        static NVRTC: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
        let found = NVRTC.get_or_init(|| {
            Nvrtc::found().inspect_err(|reason| {
                warn(format!("{reason}; moves on the GPU are right but slower without it"));
            })
        });
        found.as_ref().map_err(String::as_str)
    }

    fn found() -> Result<Nvrtc, String> {
        let newest = newest_version().unwrap_or(0);
        let candidates = candidates(newest);
        for path in &candidates {
            // SAFETY: loading the library runs its initialization code. It is the CUDA toolkit of the system, or one
            // that the user has chosen.
            let Ok(library) = (unsafe { Library::new(path) }) else { continue };
            // SAFETY: NVIDIA documents the functions with these types.
            let Ok(functions) = (unsafe { Functions::of(&library) }) else { continue };
            // Never unloaded, because threads may use it until the process exits.
            std::mem::forget(library);
            let mut version = [0; 2];
            let [major, minor] = &mut version;
            // SAFETY: the pointers point to local variables.
            if unsafe { (functions.version)(major, minor) } == 0 {
                return Ok(Nvrtc { version, functions });
            }
        }
        let tried: Vec<_> = candidates.iter().map(|path| path.to_string_lossy()).collect();
        Err(format!("NVRTC was not found for CUDA {newest}; trundle tried {}", tried.join(", ")))
    }

    /// Prepares for compilations on any thread, in 0.04 to 0.08 s. Later calls do nothing.
    ///
    /// While NVRTC compiles for the first time, it registers functions for the exit of the process that free its memory.
    /// Functions that are registered later are called earlier, so the wait for compilations is registered now.
    pub(crate) fn prepare(&self, capability: u32) {
        static PREPARED: Once = Once::new();
        PREPARED.call_once(|| {
            // The next compilation has the same error.
            let _ = self.compile("extern \"C\" __global__ void empty() {}", capability);
            closing::at_exit();
        });
    }

    /// Compiles a text for a compute capability (times ten) to a cubin. An exit of the process waits until it returns.
    ///
    /// # Errors
    /// The first lines of the compiler's log.
    pub(crate) fn cubin(&self, text: &str, capability: u32) -> Result<Vec<u8>, String> {
        self.prepare(capability);
        closing::unless_closed(|| self.compile(text, capability))
    }

    fn compile(&self, text: &str, capability: u32) -> Result<Vec<u8>, String> {
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let options = [format!("--gpu-architecture=sm_{capability}"), "--std=c++17".to_owned()];
        let options = options.map(|option| CString::new(option).unwrap_or_default());
        let given = options.each_ref().map(|option| option.as_ptr());
        let Functions { create, compile, log_bytes, log, cubin_bytes, cubin, .. } = &self.functions;
        let mut program = Compiling { program: null_mut(), nvrtc: self };
        let pointer = &raw mut program.program;
        // SAFETY: the text ends with a zero byte and outlives the program. There are no headers.
        let code =
            unsafe { create(pointer, text.as_ptr(), c"moved.cu".as_ptr(), 0, null(), null()) };
        if code != 0 {
            return Err(format!("NVRTC refused the text with error {code}"));
        }
        // SAFETY: the program was created above, and the two options end with zero bytes.
        let code = unsafe { compile(program.program, 2, given.as_ptr()) };
        if code != 0 {
            let log = program.contents(*log_bytes, *log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let lines: Vec<&str> = log.trim_end_matches('\0').lines().take(3).collect();
            return Err(format!("NVRTC failed with error {code}: {}", lines.join("; ")));
        }
        match program.contents(*cubin_bytes, *cubin) {
            Some(cubin) if !cubin.is_empty() => Ok(cubin),
            _ => Err("NVRTC made no cubin".to_owned()),
        }
    }
}

/// A program, destroyed on drop.
struct Compiling<'a> {
    program: Program,
    nvrtc: &'a Nvrtc,
}

impl Compiling<'_> {
    fn contents(&self, size: Size, contents: Contents) -> Option<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program exists, and the pointer points to a local variable.
        let code = unsafe { size(self.program, &raw mut bytes) };
        let mut all = vec![0u8; bytes];
        // SAFETY: NVRTC writes as many bytes as it said.
        (code == 0 && unsafe { contents(self.program, all.as_mut_ptr().cast()) } == 0)
            .then_some(all)
    }
}

impl Drop for Compiling<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program was created and has no other user.
            unsafe { (self.nvrtc.functions.destroy)(&raw mut self.program) };
        }
    }
}

impl Functions {
    /// # Safety
    /// The library must have these functions with these types.
    unsafe fn of(library: &Library) -> Result<Functions, libloading::Error> {
        // SAFETY: the caller guarantees the types.
        unsafe {
            Ok(Functions {
                version: *library.get("nvrtcVersion")?,
                create: *library.get("nvrtcCreateProgram")?,
                destroy: *library.get("nvrtcDestroyProgram")?,
                compile: *library.get("nvrtcCompileProgram")?,
                log_bytes: *library.get("nvrtcGetProgramLogSize")?,
                log: *library.get("nvrtcGetProgramLog")?,
                cubin_bytes: *library.get("nvrtcGetCUBINSize")?,
                cubin: *library.get("nvrtcGetCUBIN")?,
            })
        }
    }
}

/// Returns the major version of CUDA that the driver supports. It may refuse cubins of later compilers.
fn newest_version() -> Result<c_int, DriverError> {
    let mut version = 0;
    // SAFETY: the pointer points to a local variable, and the driver is loaded.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(version / 1000)
}

/// Returns the paths to try. `TRUNDLE_NVRTC` is a library, or a folder, and excludes all others.
fn candidates(newest: c_int) -> Vec<PathBuf> {
    let names: Vec<String> = (OLDEST..=newest).rev().map(name).collect();
    let within = |folder: &Path| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
    if let Some(path) = std::env::var_os("TRUNDLE_NVRTC").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        return if path.is_dir() { within(&path) } else { vec![path] };
    }
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    folders.push(PathBuf::new()); // The loader's own search.
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(std::env::var_os);
    let toolkits = toolkits.map(PathBuf::from).chain([PathBuf::from("/usr/local/cuda")]);
    folders
        .extend(toolkits.map(|toolkit| toolkit.join(if cfg!(windows) { "bin" } else { "lib64" })));
    folders.iter().flat_map(|folder| within(folder)).collect()
}

/// The first major version with all compute capabilities for which this crate has kernels.
const OLDEST: c_int = 12;

fn name(major: c_int) -> String {
    match cfg!(windows) {
        true => format!("nvrtc64_{major}0_0.dll"),
        false => format!("libnvrtc.so.{major}"),
    }
}
