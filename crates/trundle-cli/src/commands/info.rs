//! `trundle info`.

use serde_json::json;
use trundle_formats::{Header, Order, Shown, Unreadable};

use crate::args::{BIT_ORDERS, InfoArgs};
use crate::failure::Failure;
use crate::numbers::readable;
use crate::say::{print, print_json};
use crate::selection::shown_path;

/// Prints what a file holds, without reading its data; of a stream, it reads on to the end.
///
/// # Errors
/// If the file cannot be read, or is malformed.
pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let input = args.described.of(&args.input)?;
    let mut file = input.open()?;
    file.read_on()?;
    if args.json {
        let mut report = json!({
            "file": input.path().to_string_lossy(),
            "format": file.format().name(),
            "tensors": file.headers().iter().map(described).collect::<Vec<_>>(),
        });
        if !file.unreadable().is_empty() {
            report["unreadable"] = file.unreadable().iter().map(report_of).collect();
        }
        return print_json(&report);
    }
    let mut text = format!("{}: {}\n", shown_path(input.path()), file.format().name());
    for header in file.headers() {
        text.push_str(&line(header)?);
    }
    for Unreadable { name, problem } in file.unreadable() {
        text.push_str(&format!("  {}  cannot be read: {}\n", Shown(name), Shown(problem)));
    }
    print(&text)
}

fn report_of(unreadable: &Unreadable) -> serde_json::Value {
    json!({ "name": unreadable.name, "why": unreadable.problem.to_string() })
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
    if let Some(chunk) = &header.chunk {
        described["chunk"] = chunk[..].into();
    }
    if let Some(encoding) = &header.encoding {
        described["codec"] = encoding.codecs.to_string().into();
        if let Some(shard) = &encoding.shard {
            described["shard"] = shard[..].into();
        }
        if let Some(order) = &encoding.order {
            described["chunk_order"] = order[..].into();
        }
    }
    if !header.annotations.dimension_names.is_empty() {
        described["dimension_names"] = json!(header.annotations.dimension_names);
    }
    described
}

/// The names of the axes, in parentheses, if any has one.
fn names_of_axes(header: &Header) -> String {
    let names = &header.annotations.dimension_names;
    if names.is_empty() {
        return String::new();
    }
    let shown = |name: &Option<String>| match name {
        Some(name) => Shown(name).to_string(),
        None => "-".to_owned(),
    };
    format!(" ({})", names.iter().map(shown).collect::<Vec<_>>().join(", "))
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

/// The order of a chunk's elements, if it is not row-major, the shards that chunks are in, if they are, and their
/// codecs.
fn encoding(header: &Header) -> String {
    let Some(encoding) = &header.encoding else { return String::new() };
    let order = encoding.order.as_ref().map(|order| format!(" with axes in order {order:?}"));
    let shards = encoding.shard.as_ref().map(|shard| format!(" in shards of {shard:?}"));
    let (order, shards) = (order.unwrap_or_default(), shards.unwrap_or_default());
    format!("{order}{shards}, codec {}", encoding.codecs)
}

fn line(header: &Header) -> Result<String, Failure> {
    let (packed, unit) = match bit_order(header) {
        Some(name) => (format!(" {name}"), "elements"),
        None => (String::new(), "bytes"),
    };
    let arranged = match &header.chunk {
        Some(chunk) => format!("chunks of {chunk:?}{}", encoding(header)),
        None => {
            let strides = header.layout()?.strides_bytes().to_vec();
            format!("{} order, strides {strides:?} {unit}", order(header))
        }
    };
    Ok(format!(
        "  {}  {}{packed}  {}{}  {arranged}  {}\n",
        Shown(&header.name),
        header.element.name(),
        header.shape,
        names_of_axes(header),
        readable(header.data_bytes as u64),
    ))
}
