//! The table and the record.

use std::fmt::Write as _;

use trundle_cpu::Machine;

use crate::cases::Case;
use crate::measure::Measured;
use crate::options::Options;

pub(crate) fn print_head(options: &Options) {
    let machine = Machine { threads: options.threads, ..Machine::detect().clone() };
    println!("machine: {machine}");
    println!("of copy: the median of {} rounds, movement and copy in turn\n", options.rounds);
    println!(
        "{:<36} {:>5} {:>8} {:>8} {:>8} {:>6}  kernels",
        "case", "type", "of copy", "GB/s", "copy", "bar"
    );
}

pub(crate) fn print_row(case: &Case, result: &Measured) {
    let copy = 2.0 * result.bytes as f64 / result.copy.as_secs_f64() / 1e9;
    println!(
        "{:<36} {:>5} {:>8.2} {:>8.1} {:>8.1} {:>6}  {}",
        case.name,
        case.dtype,
        result.of_copy(),
        result.gigabytes_per_second(),
        copy,
        case.bar.map_or(String::new(), |bar| format!("{bar:.2}")),
        result.kernels
    );
}

pub(crate) fn print_means(results: &[(Case, Measured)]) {
    let fractions: Vec<f64> = results.iter().map(|(_, result)| result.of_copy()).collect();
    if fractions.is_empty() {
        return println!("no case has that name");
    }
    let mean = fractions.iter().map(|fraction| fraction.ln()).sum::<f64>() / fractions.len() as f64;
    let least = fractions.iter().copied().fold(f64::INFINITY, f64::min);
    println!(
        "\n{} cases: geometric mean {:.2} of copy, least {least:.2}",
        fractions.len(),
        mean.exp()
    );
}

/// The results as JSON; names are plain ASCII without quotes.
pub(crate) fn json(results: &[(Case, Measured)], options: &Options) -> String {
    let mut text = format!(
        "{{\"machine\": \"{}\", \"threads\": {}, \"rounds\": {}, \"cases\": [",
        Machine::detect(),
        options.threads,
        options.rounds
    );
    for (number, (case, result)) in results.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}\n  {{\"name\": \"{}\", \"dtype\": \"{}\", \"sizes\": {:?}, \"of_copy\": {:.3}, \
             \"seconds\": {:.6}, \"copy_seconds\": {:.6}, \"kernels\": \"{}\"}}",
            case.name,
            case.dtype,
            case.sizes,
            result.of_copy(),
            result.time.as_secs_f64(),
            result.copy.as_secs_f64(),
            result.kernels
        );
    }
    text.push_str("\n]}\n");
    text
}
