//! The kernels as functions of the host: a backend that runs their own text without a device, for tests.

use std::convert::Infallible;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;
use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, Result};

use crate::DeviceBytes;
use crate::launch::{Ends, Launch, Misaligned};
use crate::parameters::Parameters;
use crate::prepared::Prepared;

/// What a launch may touch, as the struct of the same name in `kernels/host.h`.
#[repr(C)]
struct Memory {
    src: u64,
    src_bytes: u64,
    dst: u64,
    dst_bytes: u64,
    numbers: u64,
    numbers_bytes: u64,
    written: *mut u8,
}

type Run =
    unsafe extern "C" fn(*const c_char, *const Parameters, u64, *const Memory) -> *const c_char;

/// Runs kernels that the host's compiler has compiled.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    library: &'static Library,
    /// Whether all is divided as in moves of more than 2 GiB.
    wide: bool,
}

/// The compiler that is asked for, where `CXX` names no other.
const COMPILER: &str = "c++";

impl Host {
    /// The kernels, compiled once for all tests; `None`, and a line that says so, without a compiler.
    pub(crate) fn new() -> Option<Host> {
        static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
        let library = LIBRARY.get_or_init(compiled).as_ref();
        if library.is_none() {
            println!("skipped: the kernels are tested by a C++ compiler, and there is none");
        }
        library.map(|library| Host { library, wide: false })
    }

    /// Kernels that divide as in moves of more than 2 GiB.
    pub(crate) fn widened(self) -> Host {
        Host { wide: true, ..self }
    }

    /// A number of the library's.
    pub(crate) fn size(self, name: &str) -> u64 {
        // SAFETY: the numbers that kernels.cu exports are of this type.
        unsafe { **self.library.get::<*const u64>(name).expect("the library has it") }
    }

    fn launch(self, launch: &Launch, memory: &Memory) {
        let name = CString::new(launch.kernel.name()).expect("names have no zeros");
        // SAFETY: this is the type of the function of this name, which touches nothing but what `memory` says, and that is
        // borrowed until it returns. What it gives is null or a text that stays until the next call of this thread.
        let fault = unsafe {
            let run = self.library.get::<Run>("run").expect("the library has it");
            let blocks = u64::from(launch.blocks);
            let fault = run(name.as_ptr(), &raw const launch.parameters, blocks, memory);
            (!fault.is_null()).then(|| CStr::from_ptr(fault).to_string_lossy())
        };
        assert!(
            fault.is_none(),
            "{}: {}\n{launch:?}",
            launch.kernel.name(),
            fault.unwrap_or_default()
        );
    }
}

fn compiled() -> Option<Library> {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| COMPILER.into());
    let folder = tempfile::tempdir().expect("there is room for a library");
    let library = folder.path().join("kernels.so");
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/kernels.cu");
    let flags =
        ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-x", "c++"];
    let run = Command::new(compiler).args(flags).arg(kernels).arg("-o").arg(&library).output();
    let output = run.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // SAFETY: nothing runs when it is loaded but what its own names are kept by.
    Some(unsafe { Library::new(&library) }.expect("it can be loaded"))
}

/// What the host does.
pub(crate) struct HostPlan {
    pub(crate) prepared: Prepared,
    numbers: Vec<i64>,
}

impl fmt::Display for HostPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.prepared.work.fmt(f)
    }
}

impl Backend for Host {
    type Buffer = [u8];
    type Plan = HostPlan;
    type FilledPlan = Infallible;
    type InPlacePlan = Infallible;

    fn plan(&self, work: &Move) -> HostPlan {
        let (prepared, numbers) = Prepared::of(work);
        HostPlan { prepared, numbers: numbers.all().to_vec() }
    }

    fn budget(&self) -> Budget {
        trundle_gpu::budget()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<[u8]>> {
        Ok(vec![0; bytes].into())
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<[u8]>> {
        Ok(bytes.into())
    }

    fn bytes_of(&self, buffer: &[u8]) -> usize {
        buffer.len()
    }

    fn run_while(
        &self,
        plan: &HostPlan,
        src: &[u8],
        dst: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        plan.prepared.work.check(src.len(), dst.len())?;
        let mut written = vec![0; dst.len()];
        let memory = Memory {
            src: src.as_ptr().expose_provenance() as u64,
            src_bytes: src.len() as u64,
            dst: dst.as_mut_ptr().expose_provenance() as u64,
            dst_bytes: dst.len() as u64,
            numbers: plan.numbers.as_ptr().expose_provenance() as u64,
            numbers_bytes: 8 * plan.numbers.len() as u64,
            written: written.as_mut_ptr(),
        };
        let ends = Ends {
            src: DeviceBytes { address: memory.src, bytes: src.len() },
            dst: DeviceBytes { address: memory.dst, bytes: dst.len() },
            numbers: memory.numbers,
        };
        for launch in plan.prepared.launches(Misaligned::of(memory.src, memory.dst))?.iter() {
            if !go_on() {
                return Err(Error::Stopped);
            }
            let mut launch = Launch { parameters: launch.between(&ends), ..*launch };
            if self.wide {
                launch.parameters = launch.parameters.widened();
            }
            self.launch(&launch, &memory);
        }
        Ok(())
    }
}
