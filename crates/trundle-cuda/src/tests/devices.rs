//! The devices of the tests.

use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use cudarc::driver::result;
use cudarc::driver::sys;
use libloading::Library;

use crate::Cuda;

/// The device that most tests are for. It has pools of memory.
pub(crate) const FIRST: usize = 0;

/// Of the emulated devices that without pools.
pub(crate) const WITHOUT_POOLS: usize = 1;

/// That on which something goes wrong: a failure is told to whoever waits next.
pub(crate) const FAILING: usize = 2;

/// That of which a test takes all memory, and that of which another one does.
pub(crate) const FULL: usize = 3;
pub(crate) const CAPTURED: usize = 4;

/// The bytes of an emulated device, most of which nobody touches.
pub(crate) const MEMORY: usize = 16 << 30;

enum Driver {
    OfMachine,
    Emulated(Library),
    None,
}

/// The driver that is loaded for all tests. It is not looked for before this is asked.
fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| match std::env::var_os("TRUNDLE_CUDA") {
        Some(cuda) if cuda == "required" => Driver::OfMachine,
        _ => built().map_or(Driver::None, Driver::Emulated),
    })
}

/// The emulated driver, which is found by its name once it is loaded; `None` without a compiler, and but on Linux.
fn built() -> Option<Library> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if Command::new(compiler).arg("--version").output().is_err() {
        return None;
    }
    let folder = tempfile::tempdir().expect("there is room for a library");
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("emulated/build.sh");
    let output = Command::new(build).arg(folder.path()).output().expect("there is a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = [
        ("TRUNDLE_EMULATED_DEVICES", "5".to_owned()),
        ("TRUNDLE_EMULATED_MEMORY", MEMORY.to_string()),
        ("TRUNDLE_EMULATED_WITHOUT_POOLS", WITHOUT_POOLS.to_string()),
    ];
    for (name, value) in all {
        // SAFETY: nobody reads the environment meanwhile but by std, which has a lock for it.
        unsafe { std::env::set_var(name, value) };
    }
    // SAFETY: nothing runs when it is loaded but what the kernels' names are kept by.
    Some(unsafe { Library::new(folder.path().join("libcuda.so.1")) }.expect("it can be loaded"))
}

/// The driver, if it is emulated.
pub(crate) fn library() -> Option<&'static Library> {
    match driver() {
        Driver::Emulated(library) => Some(library),
        Driver::OfMachine | Driver::None => {
            println!("skipped: no driver is emulated");
            None
        }
    }
}

/// A device, on its default stream. That of a machine may have only some of them.
///
/// # Panics
/// If the first is not there, though it has to be.
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

/// An emulated device.
pub(crate) fn emulated(ordinal: usize) -> Option<Cuda> {
    library().and_then(|_| device(ordinal))
}

/// A device on a stream of the test's own, which ends with it.
pub(crate) struct OnStream {
    pub(crate) gpu: Cuda,
    pub(crate) stream: sys::CUstream,
}

impl OnStream {
    /// A stream that does not wait for the default one.
    pub(crate) fn new(gpu: &Cuda) -> OnStream {
        OnStream::of_kind(gpu, result::stream::StreamKind::NonBlocking)
    }

    /// One that waits for the default stream, and is waited for.
    pub(crate) fn blocking(gpu: &Cuda) -> OnStream {
        OnStream::of_kind(gpu, result::stream::StreamKind::Default)
    }

    fn of_kind(gpu: &Cuda, kind: result::stream::StreamKind) -> OnStream {
        let _current = gpu.stream.context.current().unwrap();
        let stream = result::stream::create(kind).unwrap();
        // SAFETY: it is of this device, and tests that drop it have dropped all that is of it.
        let gpu = unsafe { gpu.on(stream.cast::<c_void>()) };
        OnStream { gpu, stream }
    }
}

impl Drop for OnStream {
    fn drop(&mut self) {
        let _current = self.gpu.stream.context.current();
        // SAFETY: it was created here.
        let _ = unsafe { result::stream::destroy(self.stream) };
    }
}
