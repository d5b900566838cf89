//! Runs the example of docs/models.md, which is the function below.

use std::path::Path;

// documented
use trundle_core::Shape;
use trundle_models::{Data, Given, Model, PlannedModel};

fn patches(images: Data, batch: usize) -> Result<Vec<Data>, Box<dyn std::error::Error>> {
    let model = Model::open("patches.onnx".as_ref())?;
    let shape = Shape::new([batch, 224, 224, 3])?;
    let planned = PlannedModel::new(model.resolve(&[Given { shape, data: None }])?, None)?;
    Ok(planned.run(&[images], &mut |_bytes| ())?)
}
// until here

#[test]
fn the_example_in_the_documentation_runs() {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let (_, code) = include_str!("documented.rs").split_once("// documented\n").unwrap();
    let (code, _) = code.split_once("// until here\n").unwrap();
    let text = std::fs::read_to_string(documents.join("models.md")).unwrap();
    assert!(text.contains(&format!("```rust\n{code}```\n")), "docs/models.md has not:\n{code}");

    std::env::set_current_dir(documents.join("examples")).unwrap();
    let elements = 2 * 224 * 224 * 3;
    let bytes: Vec<u8> = (0..elements).flat_map(|at| (at as f32).to_le_bytes()).collect();
    let outputs = patches(Data::Bytes(bytes.into()), 2).unwrap();
    let [Data::Bytes(moved)] = &outputs[..] else { panic!("{} outputs", outputs.len()) };
    // The patch starts at row 1, column 16 of the image.
    let at = (768 + 48) * 4;
    assert_eq!(moved[at..at + 4], ((224 + 16) as f32 * 3.0).to_le_bytes());
}
