//! Tests requests without a command line: decide, report, run, and divide into tasks.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(feature = "zarr")]
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
#[cfg(feature = "zarr")]
use serde_json::json;
use tempfile::TempDir;
use trundle::{DType, Shape};
#[cfg(feature = "zarr")]
use trundle_disk::Observer;
use trundle_files::decide::decide;
use trundle_files::failure::{Failure, Setting};
use trundle_files::request::{Along, Argument, Axis, Operators, Parts, Request, Resources, Work};
use trundle_files::tasks::PlanFile;
use trundle_formats::{NamedTensor, StoredDType, TensorFile, write};

fn input(folder: &TempDir) -> PathBuf {
    let (path, shape) = (folder.path().join("in.npy"), Shape::new([2, 3]).unwrap());
    let (element, bytes) = (StoredDType::new(DType::U8), [0, 1, 2, 3, 4, 5]);
    let tensor = NamedTensor { name: "in", element: &element, shape: &shape, bytes: &bytes };
    write(&path, &[tensor], false, &mut |_| ()).unwrap();
    path
}

fn request(inputs: &[&Path], work: Work, output: &Path) -> Request {
    let mut request = Request::new(inputs.iter().map(|path| path.to_path_buf()).collect(), work);
    request.output.path = Some(output.to_owned());
    request
}

fn chain(text: &str) -> Work {
    Work::chain(Operators::Chain(text.to_owned()))
}

fn relayout() -> Work {
    Work::Relayout { rules: vec!["*: a b -> b a".to_owned()], rule_files: Vec::new() }
}

fn read(path: &Path) -> (Vec<usize>, Vec<u8>) {
    let mut file = TensorFile::open(path).unwrap();
    (file.headers()[0].shape.sizes().to_vec(), file.load(0, &mut |_| ()).unwrap())
}

fn refusal(request: Request) -> Failure {
    decide(request).err().unwrap()
}

#[test]
fn chunk_sizes_with_metadata_only_are_refused() {
    let folder = TempDir::new().unwrap();
    let mut request =
        request(&[&input(&folder)], chain("flip(0)"), &folder.path().join("out.zarr"));
    request.output.metadata_only = true;
    request.output.chunks = Some("1,1".parse().unwrap());
    assert!(refusal(request).to_string().contains("cannot be chosen"));
}

#[test]
fn every_kind_of_work_runs() {
    let folder = TempDir::new().unwrap();
    let input = input(&folder);
    let axis = || Axis::Number(0);
    let roll = Operators::Call {
        operator: "roll".to_owned(),
        arguments: vec![Argument::Integers(vec![1]), Argument::Integers(vec![1])],
        numbers: String::new(),
    };
    let join = |along| Work::Join { along };
    let (once, twice) = (&[&*input][..], &[&*input, &*input][..]);
    let doubled = vec![0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5];
    for (name, inputs, work, sizes, bytes) in [
        ("chain", once, chain("flip(axes=[1])"), vec![2, 3], vec![2, 1, 0, 5, 4, 3]),
        ("call", once, Work::chain(roll), vec![2, 3], vec![2, 0, 1, 5, 3, 4]),
        ("join", twice, join(Along::Axis(axis())), vec![4, 3], doubled.clone()),
        ("stack", twice, join(Along::New(0, None)), vec![2, 2, 3], doubled),
    ] {
        let output = folder.path().join(format!("{name}.npy"));
        let mut request = request(inputs, work, &output);
        request.output.verify = true;
        let outcome = decide(request).unwrap().run(&()).unwrap();
        assert!(outcome.ran.verified, "{name}");
        assert_eq!(read(&output), (sizes, bytes), "{name}");
    }
    let run = |input: &Path, work, output: &Path| {
        decide(request(&[input], work, output)).unwrap().run(&()).unwrap()
    };
    let parts = folder.path().join("part-{}.npy");
    run(&input, Work::Split { axis: axis(), parts: Parts::Count(2) }, &parts);
    assert_eq!(read(&folder.path().join("part-1.npy")), (vec![1, 3], vec![3, 4, 5]));
    let named = folder.path().join("named.safetensors");
    run(&input, Work::chain(Operators::Convert), &named);
    let turned = folder.path().join("turned.safetensors");
    let outcome = run(&named, relayout(), &turned);
    assert_eq!(outcome.report(0.0)["moved"], 1);
    assert_eq!(read(&turned), (vec![3, 2], vec![0, 3, 1, 4, 2, 5]));
}

#[test]
fn a_plan_is_reported_without_an_output() {
    let folder = TempDir::new().unwrap();
    let input = input(&folder);
    let decided = decide(Request::new(vec![input], chain("flip(axes=[1])"))).unwrap();
    let name = decided.plan_reports().unwrap()[0]["chain"][0].clone();
    assert_eq!(name, "flip(axes=[1])");
    assert!(decided.plan_text(false).unwrap().contains("u8 [2, 3] -> [2, 3]"));
    assert!(decided.plan_text(true).unwrap().contains("tuning: "));
    assert_eq!(decided.run(&()).err().unwrap().to_string(), "an output is missing");
}

#[test]
fn hints_name_settings() {
    let folder = TempDir::new().unwrap();
    let input = input(&folder);
    let failure = refusal(request(&[&input], chain("flip(axes=[1])"), &input));
    assert_eq!(failure.hints()[0].setting, Some(Setting::Force));
    assert_eq!(failure.code(), 2);
    let odd = folder.path().join("out.odd");
    let failure = refusal(request(&[&input], chain("flip(axes=[1])"), &odd));
    assert_eq!(failure.hints()[0].setting, Some(Setting::To));
}

#[test]
fn wrong_calls_and_wrong_inputs_are_refused() {
    let folder = TempDir::new().unwrap();
    let input = input(&folder);
    for (operator, count) in [("rol", 2), ("roll", 1), ("concat", 2)] {
        let call = Operators::Call {
            operator: operator.to_owned(),
            arguments: vec![Argument::Integers(vec![0]); count],
            numbers: String::new(),
        };
        let failure = refusal(Request::new(vec![input.clone()], Work::chain(call)));
        assert_eq!(failure.code(), 2, "{failure}");
    }
    let join = || Work::Join { along: Along::New(0, None) };
    assert_eq!(refusal(Request::new(Vec::new(), join())).code(), 2);
    for work in [chain("flip(axes=[1])"), relayout()] {
        let failure = refusal(Request::new(vec![input.clone(); 2], work));
        assert_eq!(failure.to_string(), "this command takes 1 file, got 2");
    }
    let mut picked = Request::new(vec![input], relayout());
    picked.tensor = Some("in".to_owned());
    assert_eq!(refusal(picked).code(), 2);
}

#[test]
fn a_plan_of_tasks_stores_the_request() {
    let folder = TempDir::new().unwrap();
    let (input, output) = (input(&folder), folder.path().join("out.npy"));
    let mut request = request(&[&input], chain("flip(axes=[1])"), &output);
    request.resources = Resources::new(Some(2), None, None);
    let decided = decide(request).unwrap();
    let text = decided.begin_tasks(PathBuf::new(), None, |plan| plan.text()).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["trundle_tasks"], 2);
    assert_eq!(json["request"]["resources"]["threads"], 2);
    let plan = PlanFile::parse(&text).unwrap();
    assert_eq!(plan.text().unwrap(), text);
    let run = |number| {
        plan.join(None, |mut joined| Ok(joined.job.run(number, &mut joined.sources, &())?))
    };
    assert_eq!(run(0).unwrap(), Some(true));
    assert_eq!(run(0).unwrap(), Some(false));
    plan.join(None, |joined| Ok(joined.job.finish(&())?)).unwrap().unwrap();
    assert_eq!(read(&output), (vec![2, 3], vec![2, 1, 0, 5, 4, 3]));
    assert_eq!(run(0).unwrap(), None);
}

/// Changes the stored chunk of the output when it is about to be verified.
#[cfg(feature = "zarr")]
struct PhaseHook<'a> {
    folder: &'a Path,
    hook: fn(&Path),
}

#[cfg(feature = "zarr")]
impl Observer for PhaseHook<'_> {
    fn phase(&self, name: &str, _: u64) {
        if name == "verifying" {
            let folders = fs::read_dir(self.folder).unwrap().map(|entry| entry.unwrap().path());
            let written = folders.filter(|path| path.file_name().unwrap() != "in.zarr");
            let mut chunks = written.map(|path| path.join("s/c/0")).filter(|path| path.exists());
            // The other tensor is verified before the chunk is written.
            if let Some(chunk) = chunks.next() {
                (self.hook)(&chunk);
            }
        }
    }

    fn advance(&self, _: u64) {}
}

#[cfg(feature = "zarr")]
#[test]
fn a_wrongly_copied_encoded_chunk_is_detected() {
    let array = |dtype: &str, codec: &str, fill: Value| {
        json!({
            "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": dtype, "fill_value": fill,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [2] } },
            "chunk_key_encoding": { "name": "default" }, "codecs": [{ "name": codec }],
        })
    };
    type Hook = fn(&Path);
    let hooks: [(bool, Hook); 4] = [
        (true, |_| ()),
        (false, |chunk| fs::write(chunk, b"encodeD").unwrap()),
        (false, |chunk| fs::write(chunk, b"encoded!").unwrap()),
        (false, |chunk| fs::remove_file(chunk).unwrap()),
    ];
    for (is_right, hook) in hooks {
        let folder = TempDir::new().unwrap();
        let (input, output) = (folder.path().join("in.zarr"), folder.path().join("out.zarr"));
        fs::create_dir_all(input.join("v")).unwrap();
        fs::create_dir_all(input.join("s/c")).unwrap();
        let group = json!({ "zarr_format": 3, "node_type": "group" });
        fs::write(input.join("zarr.json"), group.to_string()).unwrap();
        let v = array("uint8", "bytes", json!(0));
        fs::write(input.join("v/zarr.json"), v.to_string()).unwrap();
        let s = array("string", "vlen-utf8", json!(""));
        fs::write(input.join("s/zarr.json"), s.to_string()).unwrap();
        fs::write(input.join("s/c/0"), b"encoded").unwrap();
        let observer = PhaseHook { folder: folder.path(), hook };
        let mut whole = request(&[&input], Work::chain(Operators::Convert), &output);
        whole.output.verify = true;
        let done = decide(whole).unwrap().run(&observer);
        match is_right {
            true => drop(done.unwrap()),
            false => {
                let error = done.err().unwrap().to_string();
                assert!(error.contains("the output of \"s\" differs from its input"), "{error}");
            }
        }
        assert_eq!(output.exists(), is_right);
    }
}

#[test]
fn plans_of_other_versions_are_refused() {
    let older = PlanFile::parse(r#"{"trundle_tasks": 1, "command": []}"#).unwrap_err();
    assert_eq!(
        older.to_string(),
        "an older trundle wrote this plan; run `trundle plan --tasks` again"
    );
    let newer = PlanFile::parse(r#"{"trundle_tasks": 3}"#).unwrap_err();
    assert_eq!(newer.to_string(), "is not a task plan: its version is 3, not 2");
}

#[test]
fn stored_requests_are_read_back() {
    let join = |along| Work::Join { along };
    let works = [
        Work::chain(Operators::Convert),
        join(Along::Axis(Axis::Name("time".to_owned()))),
        join(Along::New(-1, Some("time".to_owned()))),
        Work::Split { axis: Axis::Number(-1), parts: Parts::Count(3) },
        Work::Split { axis: Axis::Number(0), parts: Parts::Sizes("1,-1".parse().unwrap()) },
        relayout(),
    ];
    for work in works {
        let mut request = Request::new(vec!["in.bin".into()], work);
        request.described.dtype = Some(">f4".parse().unwrap());
        request.described.shape = Some("2,-1".parse().unwrap());
        request.described.bit_order = Some("low-first".parse().unwrap());
        request.described.format = Some("raw".parse().unwrap());
        request.output.chunks = Some("lat=24,time=-1".parse().unwrap());
        request.output.codecs = Some("zstd:3".parse().unwrap());
        request.resources.max_mem = Some("4M".parse().unwrap());
        let text = serde_json::to_string(&request).unwrap();
        let read: Request = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{request:?}"));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
    let wrong = serde_json::from_str::<Axis>("[]").unwrap_err();
    assert!(wrong.to_string().contains("Axis"), "{wrong}");
}
