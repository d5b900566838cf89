//! Numbered tasks have the output of a single run: in any order, repeated, at the same time, and after kills.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::npy::Tensor;
use crate::{Run, Workdir, chance};

const CHAIN: &str = "t y x -> y x t | roll(shift=[90], axes=[1]) | flip(axes=[0])";

/// Arguments for the output, and the memory limit in MiB.
type Job = (&'static str, usize);

/// One pass to a store, two passes to a store, and a move to a file.
const JOBS: [Job; 3] = [
    ("-o out.zarr --chunks 24,48,-1", 64),
    ("-o out.zarr --chunks 24,48,-1 --codec crc32c", 1),
    ("-o out.npy", 1),
];

/// Returns the arguments to run the job in one process.
fn apply((output, memory): Job) -> String {
    format!("apply in.zarr '{CHAIN}' {output} --max-mem {memory}M")
}

/// A plan of tasks, and the output of a single run.
struct Planned {
    dir: Workdir,
    output: String,
    stages: Vec<std::ops::Range<usize>>,
    expected: BTreeMap<String, Vec<u8>>,
}

impl Planned {
    fn new(job: Job) -> Planned {
        let dir = Workdir::with(&[("in.npy", &Tensor::noise("'<u2'", 2, &[40, 91, 180]))]);
        dir.run("convert in.npy -o in.zarr --chunks 8,30,45").done();
        let once = apply(job);
        dir.run(&once).done();
        let output = job.0.split(' ').nth(1).unwrap().to_owned();
        let expected = tree(&dir.path(&output));
        remove(&dir.path(&output));
        let plan = format!("plan {once} --tasks plan.json --task-size 100K --json");
        let planned = dir.run(&plan).done().json();
        let stage = |stage: &Value| {
            let first = stage["first"].as_u64().unwrap() as usize;
            first..first + stage["tasks"].as_u64().unwrap() as usize
        };
        let stages: Vec<_> = planned["stages"].as_array().unwrap().iter().map(stage).collect();
        assert!(stages.iter().map(ExactSizeIterator::len).sum::<usize>() > 3, "{stages:?}");
        Planned { dir, output, stages, expected }
    }

    fn task(&self, number: usize) -> Run {
        self.dir.run(&format!("task plan.json {number}"))
    }

    fn begin(&self, number: usize) -> Child {
        let args = format!("task plan.json {number} --wait");
        self.dir.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn finish(&self) -> Run {
        self.dir.run("finish plan.json")
    }

    /// Checks that the output equals the output of a single run, and that there are no other files.
    fn check(&self) {
        assert!(tree(&self.dir.path(&self.output)) == self.expected, "it differs");
        assert_eq!(self.dir.names(), ["in.npy", "in.zarr", &self.output, "plan.json"]);
    }
}

/// Returns the contents of a file, or of all files in a folder, by path.
fn tree(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    if path.is_file() {
        files.insert(String::new(), fs::read(path).unwrap());
        return files;
    }
    for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        for (below, bytes) in tree(&entry.path()) {
            files.insert(format!("{name}/{below}"), bytes);
        }
    }
    files
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

#[test]
fn a_process_that_ends_right_after_the_renaming_has_finished() {
    let dir = Workdir::with(&[("in.npy", &Tensor::noise("'<u2'", 2, &[40, 90]))]);
    let args = "in.npy -o out.zarr --chunks 20,30 --codec none --force --shift 1 --axes";
    let roll = |command: &str, axis: usize| dir.run(&format!("{command} {args} {axis}"));
    roll("roll", 0).done();
    let expected = tree(&dir.path("out.zarr"));
    // The older output has files with the same names and sizes.
    roll("roll", 1).done();
    let planned = roll("plan roll --tasks plan.json --json", 0).done().json();
    for number in 0..planned["tasks"].as_u64().unwrap() {
        dir.run(&format!("task plan.json {number}")).done();
    }
    // The steps of `finish` before it removes the older output.
    let part = dir.temporary(".part").unwrap();
    let (out, aside) = (dir.path("out.zarr"), dir.path("aside"));
    fs::rename(&out, &aside).unwrap();
    fs::rename(&part, &out).unwrap();
    fs::rename(&aside, &part).unwrap();
    dir.run("finish plan.json").done().says("was finished before");
    assert!(tree(&out) == expected, "the older output came back");
    assert_eq!(dir.names(), ["in.npy", "out.zarr", "plan.json"]);
}

#[test]
fn tasks_in_any_order_or_repeated_match_a_single_run() {
    for (job, stages) in JOBS.into_iter().zip([1, 2, 1]) {
        let planned = Planned::new(job);
        assert_eq!(planned.stages.len(), stages);
        assert_eq!(planned.finish().code, Some(1));
        for stage in &planned.stages {
            for number in stage.clone().rev() {
                assert!(!planned.dir.path(&planned.output).exists());
                planned.task(number).done();
                planned.task(number).done().says("was done before");
            }
        }
        planned.finish().done();
        planned.check();
        planned.task(0).done().says("the output is complete");
        assert!(planned.finish().done().stderr.contains("was finished before"));
        planned.check();
    }
}

#[test]
fn concurrent_tasks_match_a_single_run() {
    for job in JOBS {
        let planned = Planned::new(job);
        for stage in &planned.stages {
            let twice = stage.clone().flat_map(|number| [number, number]);
            let children: Vec<Child> = twice.map(|number| planned.begin(number)).collect();
            for mut child in children {
                assert!(child.wait().unwrap().success());
            }
        }
        planned.finish().done();
        planned.check();
    }
}

#[test]
fn killed_tasks_that_run_again_match_a_single_run() {
    let kills = if trundle_testing::everything() { 100 } else { 6 };
    for (number, job) in JOBS.into_iter().enumerate() {
        let planned = Planned::new(job);
        let all: Vec<usize> = planned.stages.iter().cloned().flatten().collect();
        let start = Instant::now();
        planned.task(all[0]).done();
        let whole = start.elapsed();
        let mut state = number as u64;
        for _ in 0..kills {
            let mut child = planned.begin(all[chance(&mut state, all.len())]);
            thread::sleep(whole.mul_f64(chance(&mut state, 100) as f64 / 100.0));
            let _ = child.kill();
            child.wait().unwrap();
            assert!(!planned.dir.path(&planned.output).exists());
        }
        for number in all {
            planned.task(number).done();
        }
        planned.finish().done();
        planned.check();
    }
}

#[test]
fn missing_tasks_are_listed() {
    let planned = Planned::new(JOBS[1]);
    let second = planned.stages[1].clone();
    planned.task(second.start).refused(1, "tasks are not done yet: 0-");
    for number in planned.stages[0].clone() {
        planned.task(number).done();
    }
    for number in second.clone().filter(|number| *number != second.start + 1) {
        planned.task(number).done();
    }
    let missing = planned.finish();
    let message = format!("1 task is not done yet: {}", second.start + 1);
    missing.refused(1, &message);
    planned.task(second.start + 1).done();
    // Removed and truncated files are detected.
    let chunk = planned.dir.temporary(".part").unwrap().join("c/0/0/0");
    let bytes = fs::read(&chunk).unwrap();
    fs::write(&chunk, &bytes[..bytes.len() - 1]).unwrap();
    planned.finish().refused(1, "1 task is not done yet");
    for number in second {
        planned.task(number).done();
    }
    planned.finish().done();
    planned.check();
}

#[test]
fn tasks_refuse_changed_plans_and_inputs() {
    let planned = Planned::new(JOBS[0]);
    planned.task(10_000).refused(3, "task 10000 does not exist");
    planned.dir.run("task plan.json").refused(2, "required");
    planned.dir.run("task plan.json --array").refused(2, "SLURM_ARRAY_TASK_ID");
    planned.dir.run("task none.json 0").refused(1, "cannot read");
    let plan = planned.dir.read("plan.json");
    let text = String::from_utf8(plan.clone()).unwrap();
    for (from, to, code, message) in [
        (
            "\"trundle_tasks\": 2",
            "\"trundle_tasks\": 1",
            3,
            "an older trundle wrote this plan; run",
        ),
        ("\"trundle_tasks\": 2", "\"trundle_tasks\": 3", 3, "version is 3, not 2"),
        ("\"24,48,-1\"", "\"24,24,-1\"", 3, "differs from the plan"),
        ("shift=[90]", "shift=[91]", 3, "differs from the plan: the operators"),
        ("\"operators\"", "\"operator\"", 3, "is not a task plan"),
        ("{", "[", 3, "is not a task plan"),
    ] {
        assert!(text.contains(from));
        planned.dir.write("plan.json", text.replacen(from, to, 1).as_bytes());
        planned.task(0).refused(code, message);
    }
    for length in (0..plan.len()).step_by(97) {
        planned.dir.write("plan.json", &plan[..length]);
        planned.task(0).refused(3, "is not a task plan");
    }
    planned.dir.write("plan.json", &plan);
    planned.task(0).done();
    let chunk = planned.dir.path("in.zarr/c/0/0/0");
    let bytes = fs::read(&chunk).unwrap();
    fs::write(&chunk, [&bytes[..], b"x"].concat()).unwrap();
    planned.task(1).refused(1, "in.zarr: changed while it was read");
    fs::write(&chunk, bytes).unwrap();
    planned.task(1).refused(1, "in.zarr: changed while it was read");
    planned.dir.run("clean --force").done();
    planned.finish().refused(3, "are gone: plan the tasks again");
}

#[test]
fn array_job_variables_give_the_task_number() {
    let planned = Planned::new(JOBS[0]);
    for variable in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"] {
        let mut command = planned.dir.command("task plan.json --array --json");
        let run = Run::of(command.env(variable, "1")).done();
        assert_eq!(run.json()["task"], 1);
        let mut command = planned.dir.command("task plan.json --array");
        Run::of(command.env(variable, "one")).refused(2, "not a task number");
    }
}

#[test]
fn clean_keeps_files_in_use_by_tasks() {
    let planned = Planned::new(JOBS[1]);
    let waiting = planned.stages[1].start;
    let mut child = planned.begin(waiting);
    let start = Instant::now();
    let state = |left: Value| left["left"][0]["state"].as_str().map(str::to_owned);
    while state(planned.dir.run("clean --json").done().json()).as_deref() != Some("in use") {
        assert!(start.elapsed() < Duration::from_secs(20) && child.try_wait().unwrap().is_none());
    }
    let left = planned.dir.run("clean --force --json").done().json();
    assert!(left["removed_bytes"] == 0 && state(left).as_deref() == Some("in use"));
    for number in planned.stages[0].clone() {
        planned.task(number).done();
    }
    assert!(child.wait().unwrap().success());
}

/// If a process is killed before it has written the plan, the next run removes its files.
#[test]
fn files_of_an_unfinished_plan_are_removed_by_the_next_run() {
    let planned = Planned::new(JOBS[2]);
    let temporary_names = || {
        let names = planned.dir.names().into_iter();
        names.filter(|name| name.starts_with(".trundle-")).collect::<Vec<_>>()
    };
    let kept = temporary_names();
    assert_eq!(kept.len(), 2, "{kept:?}");
    planned.dir.run(&apply(JOBS[2])).done();
    assert_eq!(temporary_names(), kept, "the plan was kept");
    let folder = kept.iter().find(|name| name.ends_with(".tasks")).unwrap();
    fs::remove_file(planned.dir.path(folder).join("planned")).unwrap();
    remove(&planned.dir.path(&planned.output));
    planned.dir.run(&apply(JOBS[2])).done();
    planned.check();
}

#[test]
fn chunks_that_stay_whole_are_copied_by_tasks_too() {
    let dir = Workdir::with(&[("in.npy", &Tensor::noise("'<u2'", 2, &[40, 90, 180]))]);
    dir.run("convert in.npy -o in.zarr --chunks 8,30,45").done();
    let roll = "roll in.zarr --shift 30,45 --axes 1,2 -o";
    dir.run(&format!("{roll} once.zarr")).done();
    for verify in ["", "--verify"] {
        let more = "out.zarr --tasks plan.json --task-size 100K --force";
        let plan = format!("plan {roll} {more} {verify}");
        dir.run(&plan).done();
        let tasks = dir.run(&format!("{plan} --json")).done().json()["tasks"].clone();
        assert!(tasks.as_u64() > Some(4), "{tasks}");
        for number in (0..tasks.as_u64().unwrap()).rev() {
            dir.run(&format!("task plan.json {number}")).done();
        }
        dir.run("finish plan.json").done();
        assert!(tree(&dir.path("out.zarr")) == tree(&dir.path("once.zarr")), "{verify:?}");
    }
}

#[test]
fn two_plans_of_one_job_are_independent() {
    let planned = Planned::new(JOBS[2]);
    let other = apply(JOBS[2]);
    planned.dir.run(&format!("plan {other} --tasks other.json --task-size 200K")).done();
    planned.task(0).done();
    planned.task(1).done();
    assert_eq!(planned.dir.run("finish other.json").code, Some(1));
    for number in planned.stages[0].clone() {
        planned.task(number).done();
    }
    planned.finish().done();
    assert!(tree(&planned.dir.path(&planned.output)) == planned.expected, "it differs");
    // The files of the other plan are left. Its task still runs, although its output exists.
    planned.dir.run("task other.json 0").done().says("task 0 is done");
}

#[test]
fn finish_refuses_the_output_of_another_run() {
    for _ in 0..3 {
        let planned = Planned::new(JOBS[2]);
        planned.task(0).done();
        planned.dir.run("clean --force").done();
        planned.dir.run(&format!("flip in.zarr --axes 0 -o {}", planned.output)).done();
        planned.finish().refused(3, "tasks are gone");
    }
}

#[test]
fn a_run_with_the_same_output_keeps_the_files_of_tasks() {
    let planned = Planned::new(JOBS[1]);
    planned.task(0).done();
    planned.dir.run(&apply(JOBS[1])).done();
    remove(&planned.dir.path(&planned.output));
    for number in planned.stages.iter().cloned().flatten() {
        planned.task(number).done();
    }
    planned.finish().done();
    planned.check();
}

#[test]
fn a_plan_that_cannot_be_written_leaves_nothing() {
    let dir = Workdir::with(&[("in.npy", &Tensor::noise("'<u2'", 2, &[40, 91, 180]))]);
    for (plan, code) in [("in.npy", 2), ("out.npy", 2), ("none/plan.json", 1)] {
        let args = format!("plan flip in.npy --axes 0 -o out.npy --force --tasks {plan}");
        let before = dir.contents();
        let run = dir.run(&args);
        assert!(run.code == Some(code), "{run:?}");
        assert!(dir.contents() == before, "{plan}");
    }
}

#[test]
fn a_waiting_task_fails_if_its_files_are_removed() {
    let planned = Planned::new(JOBS[1]);
    let child = planned
        .dir
        .command(&format!("task plan.json {} --wait", planned.stages[1].start))
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(300));
    while let Some(path) = planned.dir.temporary("") {
        remove(&path);
    }
    Run::awaited(child).refused(3, "tasks are gone");
}
