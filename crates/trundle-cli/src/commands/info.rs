//! `trundle info`.

use std::io;
use std::path::Path;

use serde_json::json;
use trundle_formats::{Header, Order, TensorFile};

use crate::args::{BIT_ORDERS, InfoArgs};
use crate::failure::Failure;
use crate::numbers::readable;
use crate::say::{print, print_json};

/// Prints what a file holds, without reading its data; of a stream, it reads on to the end.
///
/// # Errors
/// If the file cannot be read, or is malformed.
pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let input = args.described.of(&args.input)?;
    let file = input.open()?;
    read_on(input.path(), &file)?;
    if args.json {
        return print_json(&json!({
            "file": input.path().to_string_lossy(),
            "format": file.format().name(),
            "tensors": file.headers().iter().map(described).collect::<Vec<_>>(),
        }));
    }
    let mut text = format!("{}: {}\n", input.path().display(), file.format().name());
    for header in file.headers() {
        text.push_str(&line(header)?);
    }
    print(&text)
}

/// Reads a stream of which only the header is wanted to its end: whoever writes to it is not cut
/// off, and it is known to be whole.
///
/// # Errors
/// If it cannot be read, or ends too early.
pub(crate) fn read_on(input: &Path, file: &TensorFile) -> Result<(), Failure> {
    if input != Path::new("-") {
        return Ok(());
    }
    let expected = file.headers().iter().map(|header| header.data_bytes as u64).sum();
    let got = io::copy(&mut io::stdin().lock(), &mut io::sink())
        .map_err(|error| Failure::running(format!("stdin: cannot read: {error}")))?;
    if got < expected {
        return Err(Failure::refused(format!(
            "stdin: truncated: the data has {expected} bytes, but only {got} are there"
        )));
    }
    Ok(())
}

/// A tensor as `--json` has it.
pub(crate) fn described(header: &Header) -> serde_json::Value {
    let mut described = json!({
        "name": header.name,
        "dtype": header.element.name(),
        "shape": header.shape.sizes(),
        "order": order(header),
        "bytes": header.data_bytes,
        "descr": header.element.descr(),
    });
    if let Some(name) = bit_order(header) {
        described["bit_order"] = name.into();
    }
    described
}

/// How the elements are packed, as `--bit-order` names it; `None` for elements of whole bytes.
fn bit_order(header: &Header) -> Option<&'static str> {
    let packing = header.element.width().packing()?;
    BIT_ORDERS.into_iter().find(|(_, order)| *order == packing.order()).map(|(name, _)| name)
}

/// The order in the one letter that numpy uses.
fn order(header: &Header) -> &'static str {
    match header.order {
        Order::RowMajor => "C",
        Order::ColumnMajor => "F",
    }
}

fn line(header: &Header) -> Result<String, Failure> {
    let (packed, unit) = match bit_order(header) {
        Some(name) => (format!(" {name}"), "elements"),
        None => (String::new(), "bytes"),
    };
    Ok(format!(
        "  {}  {}{packed}  {}  {} order, strides {:?} {unit}  {}\n",
        header.name,
        header.element.name(),
        header.shape,
        order(header),
        header.layout()?.strides_bytes(),
        readable(header.data_bytes as u64),
    ))
}
