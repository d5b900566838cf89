//! The devices of the tests.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cudarc::driver::result;
use cudarc::driver::sys;
use libloading::Library;

use crate::Cuda;

/// The device of most tests. It has memory pools.
pub(crate) const FIRST: usize = 0;

/// The emulated device without memory pools.
pub(crate) const WITHOUT_POOLS: usize = 1;

/// The device on which tests cause failures, which the next wait reports.
pub(crate) const FAILING: usize = 2;

/// Devices whose memory a test fills, one test each.
pub(crate) const FULL: usize = 3;
pub(crate) const CAPTURED: usize = 4;

/// A device for tests of specialised kernels that count compilations.
pub(crate) const COUNTED: usize = 5;

/// The memory of an emulated device in bytes. Most of its pages are never accessed.
pub(crate) const MEMORY: usize = 16 << 30;

enum Driver {
    OfMachine,
    Emulated(Library),
    None,
}

/// Loaded on first use.
fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| match std::env::var_os("TRUNDLE_CUDA") {
        Some(cuda) if cuda == "required" => Driver::OfMachine,
        _ => built().map_or(Driver::None, Driver::Emulated),
    })
}

/// Builds and loads the emulated driver, which cudarc then finds by its name, and sets the variables with which trundle
/// finds the emulated NVRTC. Returns `None` without a C++ compiler or outside Linux.
///
/// A test that starts itself in another process sets all variables, and `TRUNDLE_EMULATED`.
fn built() -> Option<Library> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let folder = emulated_folder();
    if std::env::var_os("TRUNDLE_EMULATED").is_none() {
        let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
        if Command::new(compiler).arg("--version").output().is_err() {
            return None;
        }
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("emulated/build.sh");
        let output = Command::new(build).arg(&folder).output().expect("there is a shell");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let all = [
            ("TRUNDLE_EMULATED_DEVICES", "6".into()),
            ("TRUNDLE_EMULATED_MEMORY", MEMORY.to_string().into()),
            ("TRUNDLE_EMULATED_WITHOUT_POOLS", WITHOUT_POOLS.to_string().into()),
            ("TRUNDLE_NVRTC", folder.join("nvrtc").into_os_string()),
            ("TRUNDLE_KERNELS", "off".into()),
        ];
        for (name, value) in all {
            // SAFETY: only std reads the environment here, and it takes a lock.
            unsafe { std::env::set_var(name, value) };
        }
    }
    // SAFETY: loading runs only the initializers of the kernel name table.
    Some(unsafe { Library::new(folder.join("libcuda.so.1")) }.expect("it can be loaded"))
}

/// The folder of the emulated libraries, beside the tests. Tests load NVRTC from it later.
pub(crate) fn emulated_folder() -> PathBuf {
    let tests = std::env::current_exe().expect("the tests are a file");
    tests.with_file_name("trundle-cuda-emulated")
}

pub(crate) fn library() -> Option<&'static Library> {
    match driver() {
        Driver::Emulated(library) => Some(library),
        Driver::OfMachine | Driver::None => {
            println!("skipped: no driver is emulated");
            None
        }
    }
}

/// Returns a device on its default stream, or `None` if there is no such device.
///
/// # Panics
/// Panics if `TRUNDLE_CUDA=required` is set and the first device is missing.
pub(crate) fn device(ordinal: usize) -> Option<Cuda> {
    match driver() {
        Driver::None => {
            println!("skipped: devices are emulated on Linux, by a C++ compiler");
            None
        }
        Driver::Emulated(_) => {
            let device = Cuda::new(ordinal).expect("it is emulated");
            assert_eq!(device.name(), "emulated", "TRUNDLE_CUDA=required is for this machine");
            Some(device)
        }
        Driver::OfMachine => match Cuda::new(ordinal) {
            Ok(device) => Some(device),
            Err(refusal) if ordinal == FIRST => panic!("{refusal}"),
            Err(refusal) => {
                println!("skipped: {refusal}");
                None
            }
        },
    }
}

pub(crate) fn emulated(ordinal: usize) -> Option<Cuda> {
    library().and_then(|_| device(ordinal))
}

/// A device with its own stream, which is destroyed on drop.
pub(crate) struct OnStream {
    pub(crate) gpu: Cuda,
    pub(crate) stream: sys::CUstream,
}

impl OnStream {
    /// Makes a stream that does not synchronize with the default stream.
    pub(crate) fn new(gpu: &Cuda) -> OnStream {
        OnStream::of_kind(gpu, result::stream::StreamKind::NonBlocking)
    }

    /// Makes a stream that synchronizes with the default stream.
    pub(crate) fn blocking(gpu: &Cuda) -> OnStream {
        OnStream::of_kind(gpu, result::stream::StreamKind::Default)
    }

    fn of_kind(gpu: &Cuda, kind: result::stream::StreamKind) -> OnStream {
        let _current = gpu.stream.context.current().unwrap();
        let stream = result::stream::create(kind).unwrap();
        // SAFETY: the stream belongs to this device, and tests drop its buffers and plans before it.
        let gpu = unsafe { gpu.on(stream.cast::<c_void>()) };
        OnStream { gpu, stream }
    }
}

impl Drop for OnStream {
    fn drop(&mut self) {
        let _current = self.gpu.stream.context.current();
        // SAFETY: the stream was created here.
        let _ = unsafe { result::stream::destroy(self.stream) };
    }
}
