//! `trundle info`: prints the headers of a file.

use std::collections::{BTreeSet, HashMap};

use serde_json::json;
use trundle_files::failure::Failure;
use trundle_files::names::shown_path;
use trundle_files::numbers::readable;
use trundle_files::report::{bit_order, header_report, order};
use trundle_formats::{Header, Shown, Unreadable};

use crate::args::InfoArgs;
use crate::say::{print, print_json};

/// Prints the tensors of a file without reading their data. Only a stream is read to its end.
///
/// # Errors
/// If the file cannot be read or is malformed.
pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let input = args.described.description().of(&args.input)?;
    let mut file = input.open()?;
    file.read_on()?;
    let undecoded =
        file.undecoded().iter().map(|undecoded| (&*undecoded.header.name, &undecoded.header));
    let undecoded: HashMap<&str, &Header> = undecoded.collect();
    let of_tensors = file.headers().iter().flat_map(|header| &header.annotations.unread);
    let not_read: BTreeSet<&String> = file.unread().iter().chain(of_tensors).collect();
    if args.json {
        let mut report = json!({
            "file": input.path().to_string_lossy(),
            "format": file.format().name(),
            "tensors": file.headers().iter().map(header_report).collect::<Vec<_>>(),
        });
        if !file.unreadable().is_empty() {
            let report_of = |tensor: &Unreadable| report_of(tensor, undecoded.get(&*tensor.name));
            report["unreadable"] = file.unreadable().iter().map(report_of).collect();
        }
        if !not_read.is_empty() {
            report["not_read"] = json!(not_read);
        }
        return print_json(&report);
    }
    let mut text = format!("{}: {}\n", shown_path(input.path()), file.format().name());
    for header in file.headers() {
        text.push_str(&line(header)?);
    }
    for tensor in file.unreadable() {
        let (name, why) = (Shown(&tensor.name), Shown(&tensor.problem));
        text.push_str(&match undecoded.get(&*tensor.name) {
            None => format!("  {name}  cannot be read: {why}\n"),
            Some(header) => format!(
                "  {name}  {}  {}{}  can only be copied as it is stored: {why}\n",
                Shown(header.element.name()),
                header.shape,
                names_of_axes(header),
            ),
        });
    }
    for what in not_read {
        text.push_str(&format!("  not read: {}\n", Shown(what)));
    }
    print(&text)
}

fn report_of(unreadable: &Unreadable, undecoded: Option<&&Header>) -> serde_json::Value {
    let mut report = json!({ "name": unreadable.name, "why": unreadable.problem.to_string() });
    if let Some(header) = undecoded {
        report["dtype"] = header.element.name().into();
        report["shape"] = header.shape.sizes().into();
        report["copied_as_stored"] = true.into();
    }
    report
}

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

/// The axis order if it is not row-major, the shards if there are any, and the codecs. If an output would not keep a
/// codec, also names it.
fn encoding(header: &Header) -> String {
    let Some(encoding) = &header.encoding else { return String::new() };
    let order = encoding.order.as_ref().map(|order| format!(" with axes in order {order:?}"));
    let shards = encoding.shard.as_ref().map(|shard| format!(" in shards of {shard:?}"));
    let (order, shards) = (order.unwrap_or_default(), shards.unwrap_or_default());
    let replaced = match &encoding.not_kept[..] {
        [] => String::new(),
        codecs => format!(" in an output: {}", Shown(codecs.join(", "))),
    };
    format!("{order}{shards}, codec {}{replaced}", encoding.codecs)
}

fn line(header: &Header) -> Result<String, Failure> {
    let (packed, unit) = match bit_order(header) {
        Some(name) => (format!(" {name}"), "elements"),
        None => (String::new(), "bytes"),
    };
    let arranged = match &header.chunk {
        Some(chunk) => format!("chunks of {chunk:?}{}", encoding(header)),
        None if header.element.holds_texts() => format!("{} order", order(header)),
        None => {
            let strides = header.layout()?.strides_bytes().to_vec();
            format!("{} order, strides {strides:?} {unit}", order(header))
        }
    };
    // The file states the length of each string with the string.
    let size = match header.element.holds_texts() {
        true => String::new(),
        false => format!("  {}", readable(header.data_bytes as u64)),
    };
    Ok(format!(
        "  {}  {}{packed}  {}{}  {arranged}{size}\n",
        Shown(&header.name),
        header.element.name(),
        header.shape,
        names_of_axes(header),
    ))
}
