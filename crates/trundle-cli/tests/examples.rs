//! Tests the examples in the README, in some documents and in `tests/cmd/*.md`.
//!
//! Each ```` ```console ```` block is run: lines that begin with `$ trundle` are commands, followed by their whole
//! output. The commands of a document run in order, in a new folder with the files of [`inputs`]. Other blocks (````
//! ```sh ````, ```` ```text ````) are not run.
//!
//! `TRYCMD=overwrite cargo test -p trundle-cli --test examples` writes the current output into the
//! documents.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

#[path = "cli/npy.rs"]
#[allow(dead_code, reason = "examples need not all of it")]
mod npy;

#[path = "cli/safetensors.rs"]
mod safetensors;

use std::fs;
use std::path::{Path, PathBuf};

use npy::{PLAIN, Style, Tensor};
use safetensors::Named;

fn inputs() -> [(&'static str, Vec<u8>); 10] {
    let image = Tensor::noise("'|u1'", 1, &[4, 6, 3]);
    let batch = Tensor::counting(&[3, 4]);
    [
        ("volume.npy", Tensor::counting(&[2, 3, 4]).file(PLAIN)),
        ("fortran.npy", Tensor::counting(&[2, 3, 4]).file(Style { version: 2, fortran: true })),
        ("image.npy", image.file(PLAIN)),
        ("batch.npy", batch.file(PLAIN)),
        ("lengths.npy", Tensor::list(&[2, 4, 3]).file(PLAIN)),
        ("ramp.npy", Tensor::counting(&[8, 16]).file(PLAIN)),
        ("weights.bin", (0..12).map(|byte| byte * 21).collect()),
        ("model.safetensors", model()),
        ("heads.onnx", include_bytes!("../../../docs/examples/heads.onnx").to_vec()),
        ("heads.npy", Tensor::noise("'<f4'", 4, &[2, 49, 96]).file(PLAIN)),
    ]
}

/// Weights of two convolutions, with PyTorch's order of axes, and the bias of one.
fn model() -> Vec<u8> {
    let (conv1, conv2) = (Tensor::noise("", 4, &[4, 3, 5, 5]), Tensor::noise("", 4, &[8, 4, 3, 3]));
    let bias = Tensor::noise("", 4, &[4]);
    let tensors = [
        Named::new("conv1.bias", "F32", &bias),
        Named::new("conv1.weight", "F32", &conv1),
        Named::new("conv2.weight", "F32", &conv2),
    ];
    safetensors::file(&[("format", "pt")], &tensors)
}

#[test]
fn the_examples_print_the_documented_output() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<PathBuf> = fs::read_dir(package.join("tests/cmd"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    documents.sort();
    let others = ["../../README.md", "../../docs/chains.md", "../../docs/files.md"];
    documents.extend(others.map(|path| package.join(path)));
    for document in documents {
        assert!(document.exists(), "{} is missing", document.display());
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in inputs() {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        // Commands run in this process's folder, which may change because there is only this test.
        std::env::set_current_dir(folder.path()).unwrap();
        trycmd::TestCases::new()
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1")
            .env("TRUNDLE_NUM_THREADS", "2")
            .env("TRUNDLE_OWN_MEMORY", "0")
            .case(&document)
            .run();
        std::env::set_current_dir(package).unwrap();
    }
}
