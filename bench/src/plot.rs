//! Draws a record: one strip for each suite, one dot for each case.

use std::fmt::{Display, Write as _};

use crate::record::{CaseRecord, Record, SuiteRecord};

const WIDTH: f64 = 860.0;
const TOP: f64 = 78.0;
const STRIP: f64 = 56.0;
const BOTTOM: f64 = 62.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 120.0;
const RADIUS: f64 = 3.5;

/// The speeds of copies vary around 1.
const MOST: f64 = 1.1;

/// The colours are distinguishable on light and on dark backgrounds.
const STYLE: &str = "\
text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.suite { font-weight: 600; }
.soft { fill: #656d76; font-size: 11px; }
.grid { stroke: #d0d7de; }
.copy { stroke: #1f2328; stroke-width: 1.5; }
.dot { fill: #0969da; fill-opacity: .55; }
.mean { fill: #bc4c00; }
.bar { stroke: #bc4c00; stroke-width: 2; }
.least { stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .soft { fill: #8d96a0; }
  .grid { stroke: #30363d; }
  .copy { stroke: #e6edf3; }
  .dot { fill: #58a6ff; }
  .mean { fill: #f0883e; }
  .bar { stroke: #f0883e; }
}
";

impl Record {
    /// Returns an SVG picture of the suites whose results are fractions.
    pub fn svg(&self) -> String {
        let suites: Vec<_> = self.suites.iter().filter(|suite| !suite.is_timed()).collect();
        let end = TOP + STRIP * suites.len() as f64;
        let height = end + BOTTOM;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
             <title>Speed as a fraction of a copy's</title>\n<style>\n{STYLE}</style>\n"
        );
        text(&mut svg, (16.0, 26.0), "title", "Speed as a fraction of a copy of the same bytes");
        text(&mut svg, (16.0, 45.0), "soft", &self.machine_line());
        grid(&mut svg, end);
        for (number, suite) in suites.into_iter().enumerate() {
            strip(&mut svg, TOP + STRIP * number as f64, suite);
        }
        legend(&mut svg, end + 44.0);
        svg + "</svg>\n"
    }
}

impl Record {
    fn machine_line(&self) -> String {
        match (&self.device, self.threads) {
            (Some(device), _) => format!("{}: {}", device.by, device.name),
            (None, Some(1)) => format!("{}; 1 thread", self.machine),
            (None, Some(threads)) => format!("{}; {threads} threads", self.machine),
            (None, None) => self.machine.to_string(),
        }
    }
}

fn x_of(fraction: f64) -> f64 {
    LEFT + fraction.clamp(0.0, MOST) / MOST * (WIDTH - LEFT - RIGHT)
}

fn grid(svg: &mut String, end: f64) {
    for fifths in 0..=5 {
        let fraction = f64::from(fifths) / 5.0;
        let (x, class) = (x_of(fraction), if fifths == 5 { "copy" } else { "grid" });
        line(svg, (x, TOP - 6.0), end, class);
        let label = if fifths == 5 { "1 = copy" } else { &format!("{fraction:.1}") };
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" class=\"soft\" text-anchor=\"middle\">{label}</text>",
            end + 16.0
        );
    }
}

fn strip(svg: &mut String, top: f64, suite: &SuiteRecord) {
    let middle = top + STRIP / 2.0;
    text(svg, (16.0, middle - 3.0), "suite", &suite.name);
    let count = format!("{} cases", suite.cases.len());
    let against = if suite.is_of_single() { ", of one operator" } else { "" };
    text(svg, (16.0, middle + 12.0), "soft", &format!("{count}{against}"));
    for (bar, class) in [(suite.bars.mean, "bar"), (suite.bars.least, "bar least")] {
        if let Some(bar) = bar {
            line(svg, (x_of(bar), top + 5.0), top + STRIP - 5.0, class);
        }
    }
    for (case, (x, y)) in dots(&suite.cases) {
        let y = middle + y;
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" class=\"dot\"><title>{}</title>\
             </circle>",
            escaped(format_args!(
                "{} {} {}: {:.2}",
                case.name,
                case.dtype,
                case.shape(),
                case.fraction()
            ))
        );
    }
    diamond(svg, (x_of(suite.mean), middle));
    let x = WIDTH - RIGHT + 14.0;
    text(svg, (x, middle - 3.0), "suite", &format!("{:.2} mean", suite.mean));
    text(svg, (x, middle + 12.0), "soft", &format!("{:.2} least", suite.least));
}

/// Places the dots so that they overlap as little as possible.
fn dots(cases: &[CaseRecord]) -> Vec<(&CaseRecord, (f64, f64))> {
    /// Distances from the middle of the strip.
    const ROWS: [f64; 5] = [0.0, -1.0, 1.0, -2.0, 2.0];
    let mut sorted: Vec<&CaseRecord> = cases.iter().collect();
    sorted.sort_by(|left, right| left.fraction().total_cmp(&right.fraction()));
    let mut last = [f64::NEG_INFINITY; ROWS.len()];
    let placed = sorted.into_iter().map(|case| {
        let x = x_of(case.fraction());
        let free = last.iter().position(|last| x - last >= 2.0 * RADIUS);
        // If all rows are occupied, the dot overlaps least where the last dot is farthest to the left.
        let farthest = || last.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        let row = free.or_else(|| farthest().map(|(row, _)| row)).unwrap_or(0);
        last[row] = x;
        (case, (x, ROWS[row] * 2.0 * RADIUS))
    });
    placed.collect()
}

fn legend(svg: &mut String, y: f64) {
    let _ = writeln!(svg, "<circle cx=\"{LEFT}\" cy=\"{y}\" r=\"{RADIUS}\" class=\"dot\"/>");
    text(svg, (LEFT + 10.0, y + 4.0), "soft", "a case");
    diamond(svg, (LEFT + 78.0, y));
    text(svg, (LEFT + 90.0, y + 4.0), "soft", "geometric mean");
    line(svg, (LEFT + 200.0, y - 7.0), y + 7.0, "bar");
    text(svg, (LEFT + 208.0, y + 4.0), "soft", "goal for the mean");
    line(svg, (LEFT + 330.0, y - 7.0), y + 7.0, "bar least");
    text(svg, (LEFT + 338.0, y + 4.0), "soft", "goal for the slowest case");
}

fn text(svg: &mut String, (x, y): (f64, f64), class: &str, content: &str) {
    let content = escaped(content);
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{content}</text>");
}

fn line(svg: &mut String, (x, y): (f64, f64), end: f64, class: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{x:.1}\" y2=\"{end:.1}\" class=\"{class}\"/>"
    );
}

fn diamond(svg: &mut String, (x, y): (f64, f64)) {
    let _ = writeln!(svg, "<path d=\"M{:.1} {y:.1} l6 -8 l6 8 l-6 8 z\" class=\"mean\"/>", x - 6.0);
}

fn escaped(content: impl Display) -> String {
    content.to_string().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Bars;
    use crate::device::DeviceRecord;
    use crate::machine::MachineRecord;
    use crate::record::tests::case;

    fn record(fractions: &[f64]) -> Record {
        let cases = fractions.iter().map(|fraction| case(*fraction, None, None)).collect();
        let bars = Bars { mean: Some(0.9), least: None };
        let suites = vec![
            SuiteRecord::new("some", "about", bars, cases),
            SuiteRecord::new("timed", "about", bars, vec![case(0.1, None, Some(100.0))]),
        ];
        let machine = MachineRecord { cpu: Some("A&B <C>".to_owned()), ..MachineRecord::detect() };
        let (device, threads) = (None, Some(1));
        Record { machine, device, threads, rounds: 1, large_pages: false, suites }
    }

    #[test]
    fn every_case_compared_with_a_copy_has_a_dot() {
        let svg = record(&[0.2, 0.5, 1.5]).svg();
        let dots = svg.matches("class=\"dot\"").count();
        assert_eq!(dots, 3 + 1, "one for each case and one in the legend");
        assert!(svg.contains(">some<") && !svg.contains(">timed<"));
        assert!(svg.contains("A&amp;B &lt;C&gt;, ") && svg.contains("; 1 thread<"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn a_picture_names_its_device() {
        let (by, name) = ("wgpu".to_owned(), "some, emulated".to_owned());
        let device = Some(DeviceRecord { by, name, emulated: true });
        let svg = Record { device, threads: None, ..record(&[0.5]) }.svg();
        assert!(svg.contains(">wgpu: some, emulated<") && !svg.contains("A&amp;B"));
    }

    #[test]
    fn dots_do_not_overlap() {
        let record = record(&[0.5, 0.501, 0.502, 0.503, 0.504, 0.9]);
        let dots = dots(&record.suites[0].cases);
        for (number, (_, (x, y))) in dots.iter().enumerate() {
            for (_, (left, right)) in &dots[..number] {
                let apart = (x - left).hypot(y - right);
                assert!(apart >= 2.0 * RADIUS - 1e-9, "{apart}");
            }
        }
    }
}
