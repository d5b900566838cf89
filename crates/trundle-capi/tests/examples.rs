//! Compiles the C and C++ examples, also in documents, with warnings as errors, links them to both libraries, and runs
//! them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// System libraries that a static Rust library needs on Linux; `install` writes them to trundle.pc.
const STATIC_LIBRARIES: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

const PLANES: &str = "  3  6  9 13 16 19\n  2  5  8 12 15 18\n  1  4  7 11 14 17\n\
                      order entry 3 is out of range for rank 3: expected 0..=2\n";
const CHAIN: &str = "1 pass over memory\n  2  1  0  5  4  3\n  8  7  6 11 10  9\n \
                     14 13 12 17 16 15\n 20 19 18 23 22 21\nunknown stage \"tanspose\"\n  \
                     flip(axes=[2]) | tanspose(2, 0, 1)\n                   ^^^^^^^^\n  \
                     did you mean \"transpose\"?\n";
const CACHE: &str = "  41  42  43  44\n  51  52  53  54\n   1   2   3   4\n  31  32  33  34\n   \
                     9  10  11  12\n  21  22  23  24\n  43  44\n  53  54\n   3   4\n  33  34\n  \
                     11  12\n  23  24\n\
                     index 4 at [1, 0] is out of range for an axis of size 4: expected -4..=3\n\
                     the plan is for 2 inputs, but is run on 1\n";
const MODEL: &str = "patches: ONNX, opset 17\ninput image: f32 -1 224 224 3\nits elements decide: 0\n\
                     1 pass over memory, 1204224 bytes\noutput patches: f32 2 196 768\n672 672\n1672 1672\n\
                     input \"image\" must have shape [batch, 224, 224, 3], got [2, 224, 3]\n";
const SEQUENCES: &str = "2 1 3 4 8 7 6 5 11 10 9 12 \n2 1 3 4 8 7 6 5 11 10 9 12 \n";
const DOCUMENT: &str = "1 4\n2 5\n3 6\n";
const MODELS: &str = "1\n";

struct Compiler {
    program: &'static str,
    standard: &'static str,
}

const C: Compiler = Compiler { program: "cc", standard: "-std=c99" };
const CPP: Compiler = Compiler { program: "c++", standard: "-std=c++11" };

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn root() -> PathBuf {
    package().join("../..")
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The folder of both libraries, which `examples/libraries.rs` builds.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap().join("examples");
    let modified = |path: PathBuf| std::fs::metadata(path).and_then(|found| found.modified()).ok();
    let built = modified(folder.join("liblibraries.so"));
    let sources =
        std::fs::read_dir(package().join("src")).unwrap().map(|file| file.unwrap().path());
    assert!(
        built.is_some() && sources.map(modified).all(|source| source < built),
        "run `cargo test -p trundle-capi`: with `--test`, cargo does not build the libraries"
    );
    folder
}

impl Compiler {
    /// Prints a line if the compiler is not installed, even if the test passes.
    fn is_installed(&self) -> bool {
        let there = Command::new(self.program).arg("--version").output().is_ok();
        if !there {
            let message = format!("SKIPPED: no {} on this machine\n", self.program);
            std::io::stderr().write_all(message.as_bytes()).unwrap();
        }
        there
    }

    fn command(&self, source: &Path, program: &Path) -> Command {
        let mut command = Command::new(self.program);
        command
            .args([self.standard, "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"])
            .arg("-I")
            .arg(package().join("include"))
            .arg(source)
            .arg("-o")
            .arg(program);
        command
    }

    /// Links an example to each library, and runs it in the folder of the models. Both programs must print `expected`.
    fn try_example(&self, source: &Path, expected: &str) {
        let (libraries, folder) = (libraries(), tempfile::tempdir().unwrap());
        let program = folder.path().join("example");
        let mut shared = self.command(source, &program);
        shared.arg("-L").arg(&libraries).arg("-llibraries");
        output(&mut shared);
        let run = || {
            let mut run = Command::new(&program);
            run.current_dir(root().join("docs/examples"));
            run
        };
        let path = source.display();
        assert_eq!(output(run().env("LD_LIBRARY_PATH", &libraries)), expected, "{path}, shared");

        let mut linked = self.command(source, &program);
        // In a test of the whole workspace, the library contains codecs of Zarr, which need the C++ library.
        output(linked.arg(libraries.join("liblibraries.a")).args(STATIC_LIBRARIES).arg("-lstdc++"));
        assert_eq!(output(run().env_remove("LD_LIBRARY_PATH")), expected, "{path}, static");
    }
}

#[test]
fn the_examples_work() {
    let example = |name| package().join("examples").join(name);
    for (name, expected) in
        [("planes.c", PLANES), ("chain.c", CHAIN), ("cache.c", CACHE), ("model.c", MODEL)]
    {
        C.try_example(&example(name), expected);
    }
    if CPP.is_installed() {
        CPP.try_example(&example("sequences.cpp"), SEQUENCES);
    }
}

#[test]
fn the_examples_in_the_documents_work() {
    try_document("docs/c.md", DOCUMENT);
    try_document("docs/models.md", MODELS);
}

/// Tests the first C program in a document.
fn try_document(path: &str, expected: &str) {
    let document = std::fs::read_to_string(root().join(path)).unwrap();
    let (_, block) = document.split_once("\n```c\n").unwrap();
    let (code, _) = block.split_once("\n```\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("document.c");
    std::fs::write(&source, format!("{code}\n")).unwrap();
    C.try_example(&source, expected);
}

#[test]
fn the_header_alone_is_c_and_cpp() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, name) in [(C, "alone.c"), (CPP, "alone.cpp")] {
        if compiler.is_installed() {
            let source = folder.path().join(name);
            std::fs::write(&source, "#include <trundle.h>\n#include <trundle.h>\n").unwrap();
            let object = folder.path().join("alone.o");
            output(compiler.command(&source, &object).arg("-c"));
        }
    }
}
