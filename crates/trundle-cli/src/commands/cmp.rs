//! `trundle cmp`: compares the tensors of two files.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use trundle_disk::{Difference, Source, compare};
use trundle_files::decide::plan_options;
use trundle_files::failure::Failure;
use trundle_files::forecast::first_lines;
use trundle_files::input::Input;
use trundle_files::memory::of_texts;
use trundle_files::names::{check_readable, select, shown_path};
use trundle_formats::{Header, Shown, StoredDType, TensorFile};

use crate::args::CmpArgs;
use crate::progress::Progress;
use crate::say::{print, print_json};

/// Compares the tensors of two files, and prints how they differ.
///
/// # Errors
/// If a file cannot be read or is malformed, or if neither file has a tensor with the given name. A difference, once
/// printed, is also a failure, without a message.
pub(crate) fn run(args: &CmpArgs) -> Result<(), Failure> {
    let is_equal = compared(args).map_err(Failure::of_comparison)?;
    if is_equal { Ok(()) } else { Err(Failure::different()) }
}

fn compared(args: &CmpArgs) -> Result<bool, Failure> {
    let start = Instant::now();
    let paths = [&*args.one, &*args.other];
    if paths == [Path::new("-"); 2] {
        return Err(Failure::usage("stdin can supply only one of the two files"));
    }
    let inputs = args.described.description().of_all(&paths)?;
    let mut files = [inputs[0].open()?, inputs[1].open()?];
    let pairs = Pairs::of(&inputs, &files, args.tensor.as_deref())?;
    let verdicts = pairs.verdicts(&inputs, &mut files, args)?;
    let reports: Vec<PairReport<'_>> = pairs.reports(&inputs, &files, verdicts).collect();
    let is_equal = reports.iter().all(|report| report.verdict == Verdict::Equal);
    if args.json {
        print_json(&json!({
            "equal": is_equal,
            "tensors": reports.iter().map(PairReport::report).collect::<Vec<_>>(),
            "seconds": start.elapsed().as_secs_f64(),
        }))?;
    } else if !args.quiet {
        let lines = first_lines(reports.iter().filter_map(PairReport::line));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        print(if is_equal { "equal\n" } else { &lines })?;
    }
    Ok(is_equal)
}

/// Pairs of indices of tensors in the two files; `None` if a file has no such tensor.
struct Pairs(Vec<[Option<usize>; 2]>);

#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    Equal,
    Alone,
    Different(Difference),
}

impl Pairs {
    /// Pairs the selected tensors by name. If each file has a single tensor, names do not matter.
    ///
    /// # Errors
    /// If neither file has a tensor with the name, or if a selected tensor cannot be read.
    fn of(inputs: &[Input], files: &[TensorFile; 2], name: Option<&str>) -> Result<Pairs, Failure> {
        for (input, file) in inputs.iter().zip(files) {
            check_readable(input.path(), file, name)?;
        }
        let [one, other] = chosen(inputs, files, name)?;
        if let ([one], [other]) = (&one[..], &other[..]) {
            return Ok(Pairs(vec![[Some(*one), Some(*other)]]));
        }
        let named = |side: usize, index: usize| &files[side].headers()[index].name;
        let of_name = |index: &usize| {
            other.iter().copied().find(|candidate| named(1, *candidate) == named(0, *index))
        };
        let mut pairs: Vec<_> = one.iter().map(|index| [Some(*index), of_name(index)]).collect();
        let is_alone = |index: &usize| !one.iter().any(|each| named(0, *each) == named(1, *index));
        pairs.extend(other.iter().copied().filter(is_alone).map(|index| [None, Some(index)]));
        // A stream can be read only in the order of the file.
        if files[0].blob().is_some() && files[1].blob().is_none() {
            pairs.sort_by_key(|pair| pair[1]);
        }
        Ok(Pairs(pairs))
    }

    /// Compares each pair. Reads streams to their ends.
    fn verdicts(
        &self,
        inputs: &[Input],
        files: &mut [TensorFile; 2],
        args: &CmpArgs,
    ) -> Result<Vec<Verdict>, Failure> {
        let CmpArgs { means, quiet, json, .. } = args;
        let resources = means.resources();
        let of_texts = of_texts(files, resources.max_mem);
        let options = plan_options(of_texts, &resources)?;
        let progress = Progress::of_report(*json, *quiet);
        let [one, other] = files.each_mut();
        let mut sources = [
            Source { file: one, path: inputs[0].path() },
            Source { file: other, path: inputs[1].path() },
        ];
        let verdict = |pair: &[Option<usize>; 2]| {
            let [Some(one), Some(other)] = *pair else { return Ok(Verdict::Alone) };
            let difference = compare(&mut sources, [one, other], &options, &progress)?;
            Ok(difference.map_or(Verdict::Equal, Verdict::Different))
        };
        let verdicts = self.0.iter().map(verdict).collect::<Result<_, Failure>>()?;
        files.iter_mut().try_for_each(TensorFile::read_on)?;
        Ok(verdicts)
    }

    fn reports<'a>(
        &self,
        inputs: &'a [Input],
        files: &'a [TensorFile; 2],
        verdicts: Vec<Verdict>,
    ) -> impl Iterator<Item = PairReport<'a>> {
        self.0.iter().zip(verdicts).map(move |(pair, verdict)| {
            let header = |side: usize| pair[side].map(|index: usize| &files[side].headers()[index]);
            let (headers, paths) = ([header(0), header(1)], [inputs[0].path(), inputs[1].path()]);
            PairReport { paths, headers, verdict }
        })
    }
}

/// If only one file has a tensor with the name, and the format of the other holds a single unnamed tensor, that one is
/// selected.
fn chosen(
    inputs: &[Input],
    files: &[TensorFile; 2],
    name: Option<&str>,
) -> Result<[Vec<usize>; 2], Failure> {
    let select = |side: usize| select(inputs[side].path(), files[side].headers(), name);
    let instead = |side: usize| match files[side].format().holds_one() {
        true => vec![0],
        false => Vec::new(),
    };
    Ok(match [select(0), select(1)] {
        [Ok(one), Ok(other)] => [one, other],
        [Ok(one), Err(_)] => [one, instead(1)],
        [Err(_), Ok(other)] => [instead(0), other],
        [Err(error), Err(_)] => return Err(error),
    })
}

struct PairReport<'a> {
    paths: [&'a Path; 2],
    headers: [Option<&'a Header>; 2],
    verdict: Verdict,
}

impl PairReport<'_> {
    /// Describes the difference in one line; `None` if the tensors are equal.
    fn line(&self) -> Option<String> {
        let (name, headers) = (self.name(), self.headers);
        let difference_text = match (&self.verdict, headers) {
            (Verdict::Equal, _) => return None,
            (Verdict::Different(difference), [Some(one), Some(other)]) => match difference {
                Difference::Headers => headers_text([one, other]),
                Difference::Elements { count, index, element, values } => {
                    let [one, other] = texts(element, values);
                    let of = format!("{count} of {} elements", self.elements());
                    match count {
                        1 => format!("{of} differs, at {index:?}: {one} and {other}"),
                        _ => format!("{of} differ, the first at {index:?}: {one} and {other}"),
                    }
                }
            },
            (_, headers) => {
                let side = usize::from(headers[0].is_none());
                format!("only in {}", shown_path(self.paths[side]))
            }
        };
        Some(format!("{name}: {difference_text}"))
    }

    fn name(&self) -> String {
        let mut names: Vec<String> = self
            .headers
            .iter()
            .flatten()
            .map(|each| format!("\"{}\"", Shown(&each.name)))
            .collect();
        names.dedup();
        names.join(" and ")
    }

    fn elements(&self) -> usize {
        self.headers[0].map_or(0, |header| header.shape.elements())
    }

    fn report(&self) -> Value {
        let of_each = |what: fn(&Header) -> Value| self.headers.map(|header| header.map(what));
        let mut report = json!({
            "names": of_each(|header| header.name.clone().into()),
            "dtypes": of_each(|header| header.element.name().into()),
            "shapes": of_each(|header| header.shape.sizes().into()),
            "equal": self.verdict == Verdict::Equal,
        });
        match &self.verdict {
            Verdict::Equal => report["different"] = 0.into(),
            Verdict::Different(Difference::Elements { count, index, element, values }) => {
                report["different"] = (*count).into();
                report["first"] = json!({ "index": index, "values": texts(element, values) });
            }
            Verdict::Alone | Verdict::Different(Difference::Headers) => {}
        }
        report
    }
}

fn headers_text(headers: [&Header; 2]) -> String {
    let [one, other] = headers.map(|header| &header.element);
    let is_named_alike = one.name() == other.name() && !one.is_alike(other);
    let text = |header: &Header| {
        let element = &header.element;
        let name = if is_named_alike { element.descr() } else { element.name() };
        format!("{} {}", Shown(name), header.shape)
    };
    format!("{} differs from {}", text(headers[0]), text(headers[1]))
}

/// Adds the bits if the texts are equal.
fn texts(element: &StoredDType, values: &[Vec<u8>; 2]) -> [String; 2] {
    let texts = [element.text(&values[0]), element.text(&values[1])];
    if texts[0] != texts[1] {
        return texts;
    }
    [0, 1].map(|side| format!("{} ({})", texts[side], element.bits_text(&values[side])))
}
