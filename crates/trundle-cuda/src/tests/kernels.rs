//! Kernels that are compiled for the host, to count memory accesses and to test all edges of tiles.

use std::ffi::{CStr, CString, c_char};
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;
use trundle_core::Move;
use trundle_gpu::GpuMove;

use crate::launch::{Launch, Misaligned};
use crate::numbers::Numbers;
use crate::parameters::Parameters;

/// The memory that a launch may access, with the layout of the struct in `kernels/host.h`.
#[repr(C)]
struct LaunchMemory {
    src: u64,
    src_bytes: u64,
    dst: u64,
    dst_bytes: u64,
    numbers: u64,
    numbers_bytes: u64,
    written: *mut u8,
}

/// With the layouts of the structs in `kernels/counts.h`, which describe the counts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) bytes: u64,
    pub(super) requests: u64,
    pub(super) sectors: u64,
    pub(super) lines: u64,
    pub(super) distinct: u64,
    pub(super) partial: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wavefronts {
    pub(super) taken: u64,
    pub(super) least: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) read: Traffic,
    pub(super) written: Traffic,
    pub(super) numbers: Traffic,
    pub(super) shared_read: Wavefronts,
    pub(super) shared_written: Wavefronts,
}

type Run = unsafe extern "C" fn(
    *const c_char,
    *const Parameters,
    u64,
    *const LaunchMemory,
) -> *const c_char;
type CountInto = unsafe extern "C" fn(*mut Counts);

#[derive(Clone, Copy)]
pub(super) struct Kernels(&'static Library);

impl Kernels {
    /// Compiles the kernels once for all tests. Without a compiler, prints a note and returns `None`.
    pub(super) fn new() -> Option<Kernels> {
        static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
        let library = LIBRARY.get_or_init(compiled).as_ref();
        if library.is_none() {
            println!("skipped: counting the kernels needs a C++ compiler, and none was found");
        }
        library.map(Kernels)
    }

    /// Runs a move between two buffers and returns the kernel names.
    ///
    /// # Errors
    /// The fault that a kernel caused.
    pub(super) fn run(
        self,
        work: &Move,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<Vec<&'static str>, String> {
        let mut numbers = Numbers::default();
        let (grain, work) = (work.grain_bytes(), GpuMove::of(work));
        let sums: Vec<_> = work.blocks().iter().map(|block| numbers.sums(block)).collect();
        let mut written = vec![0; dst.len()];
        let memory = LaunchMemory {
            src: src.as_ptr().expose_provenance() as u64,
            src_bytes: src.len() as u64,
            dst: dst.as_mut_ptr().expose_provenance() as u64,
            dst_bytes: dst.len() as u64,
            numbers: numbers.all().as_ptr().expose_provenance() as u64,
            numbers_bytes: 8 * numbers.all().len() as u64,
            written: written.as_mut_ptr(),
        };
        let misaligned = Misaligned::of(memory.src, memory.dst);
        let mut names = Vec::new();
        for (block, sums) in work.blocks().iter().zip(sums) {
            let launch = Launch::of(block, grain, misaligned, sums).expect("no test is too large");
            names.push(launch.kernel.name());
            self.launch(&launch, &memory)?;
        }
        names.dedup();
        Ok(names)
    }

    fn launch(self, launch: &Launch, memory: &LaunchMemory) -> Result<(), String> {
        let parameters = Parameters {
            src: memory.src,
            dst: memory.dst,
            numbers: memory.numbers,
            src_bytes: memory.src_bytes,
            ..launch.parameters
        };
        self.call(launch.kernel.name(), &parameters, launch.blocks, memory)
    }

    /// Runs one block of a kernel that uses only shared memory.
    pub(super) fn run_shared(self, name: &str, rows: u64) -> Result<(), String> {
        let memory = LaunchMemory {
            src: 0,
            src_bytes: 0,
            dst: 0,
            dst_bytes: 0,
            numbers: 0,
            numbers_bytes: 0,
            written: std::ptr::null_mut(),
        };
        self.call(name, &Parameters { rows, ..Parameters::default() }, 1, &memory)
    }

    fn call(
        self,
        kernel: &str,
        parameters: &Parameters,
        blocks: u32,
        memory: &LaunchMemory,
    ) -> Result<(), String> {
        let name = CString::new(kernel).expect("names have no zeros");
        // SAFETY: the function has this type and accesses only the ranges in `memory`, which are borrowed for the
        // call. It returns null or a text that is valid until the next call on this thread.
        let fault = unsafe {
            let run = self.0.get::<Run>("run").expect("the library has it");
            let fault = run(name.as_ptr(), parameters, u64::from(blocks), memory);
            (!fault.is_null()).then(|| CStr::from_ptr(fault).to_string_lossy().into_owned())
        };
        fault.map_or(Ok(()), |fault| Err(format!("{kernel}: {fault}")))
    }

    pub(super) fn counted<T>(self, work: impl FnOnce() -> T) -> (T, Counts) {
        let mut counts = Counts::default();
        // SAFETY: the function has this type, and `counts` outlives the registration, which ends with the null
        // pointer.
        unsafe {
            let count_into = self.0.get::<CountInto>("count_into").expect("the library has it");
            count_into(&raw mut counts);
            let done = work();
            count_into(std::ptr::null_mut());
            (done, counts)
        }
    }
}

/// The compiler, unless the variable `CXX` names another one.
const COMPILER: &str = "c++";

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
    // SAFETY: loading runs only the initializers of the library's name table.
    Some(unsafe { Library::new(&library) }.expect("it can be loaded"))
}

/// Bytes at a given distance after a multiple of 256, where device allocations begin.
pub(super) struct Shifted {
    around: Vec<u8>,
    begin: usize,
    len: usize,
}

impl Shifted {
    pub(super) fn new(bytes: &[u8], shift: usize) -> Shifted {
        let mut around = vec![0; bytes.len() + 512];
        let begin =
            around.as_ptr().addr().next_multiple_of(256) - around.as_ptr().addr() + shift % 256;
        around[begin..begin + bytes.len()].copy_from_slice(bytes);
        Shifted { around, begin, len: bytes.len() }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.around[self.begin..self.begin + self.len]
    }
}
