//! The tables and the picture of docs/speed.md agree with the stored record.

use std::fs;
use std::path::Path;

use trundle_bench::Record;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_document_shows_the_record() {
    let record = Record::from_json(&read("bench/records/2-cores-zen5.json")).unwrap();
    let document = read("docs/speed.md");
    let make = "cargo run -p trundle-bench -- --from bench/records/2-cores-zen5.json";
    for table in record.markdown().split("\n\n") {
        assert!(document.contains(table.trim_end()), "`{make} --markdown` makes:\n{table}");
    }
    let picture = "docs/pictures/speed.svg";
    assert!(document.contains("pictures/speed.svg"));
    assert!(read(picture) == record.svg(), "`{make} --svg {picture}` makes another picture");
}
