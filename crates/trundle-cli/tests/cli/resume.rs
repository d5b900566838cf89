//! Runs that are interrupted and resumed.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trundle_testing::everything;

use crate::Run;
use crate::refusals::unix::is_ignored;
use crate::resumable_move::{ONE_PASS, ResumableMove, TWO_PASSES, signal};
use crate::skip;

/// Returns the movements to interrupt. Unless all tests run, this is only the movement with two passes,
/// which includes what the other one tests.
fn movements() -> &'static [&'static str] {
    if everything() { &[ONE_PASS, TWO_PASSES] } else { &[TWO_PASSES] }
}

/// Kills the program at random points and resumes it, `kills` times, or a quarter of that unless all tests run.
fn kill_and_resume_repeatedly(args: &str, kills: u32, verify: bool) {
    let work = ResumableMove::new(args);
    let kills = if everything() { kills } else { kills / 4 };
    let more = if verify { "--resume --json --verify" } else { "--resume --json" };
    let begin = Instant::now();
    Run::of(&mut work.command(more)).done();
    let all = begin.elapsed();
    work.assert_done();
    let (mut killed, mut had_progress, mut seed) = (0, false, 1u32);
    // A run with recorded progress is resumed.
    let check_resumed = |run: Run, had_progress: bool| {
        let resumed = run.done().json()["resumed"] == true;
        assert!(resumed || !had_progress, "noted work was done again");
    };
    while killed < kills {
        if work.dir.path("y.npy").exists() {
            work.assert_done();
            fs::remove_file(work.dir.path("y.npy")).unwrap();
        }
        let mut child = work.begin(more);
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let moment = f64::from(seed >> 16) / 65536.0;
        // Every second run is killed after its first journal entry, however fast the machine is.
        if killed % 2 == 1 {
            work.suspend_until_entry_is_due(&mut child);
            work.wait(&mut child, ResumableMove::has_recorded_progress);
            sleep(all.mul_f64(moment / 8.0));
        } else {
            sleep(all.mul_f64(moment));
        }
        let is_over = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        let run = Run::from(child.wait_with_output().unwrap());
        match run.code {
            Some(_) => {
                check_resumed(run, had_progress);
                had_progress = false;
            }
            None => {
                // A kill after the renaming does not count.
                killed += u32::from(!work.dir.path("y.npy").exists());
                had_progress = work.has_recorded_progress();
            }
        }
        assert!(!is_over || work.dir.path("y.npy").exists());
    }
    check_resumed(Run::of(&mut work.command(more)), had_progress);
    work.assert_done();
}

/// Unless all tests run, one pass is verified, and two passes are not.
#[test]
fn one_pass_killed_at_any_time_resumes_to_the_same_result() {
    kill_and_resume_repeatedly(ONE_PASS, 10, true);
    if everything() {
        kill_and_resume_repeatedly(ONE_PASS, 10, false);
    }
}

#[test]
fn two_passes_killed_at_any_time_resume_to_the_same_result() {
    kill_and_resume_repeatedly(TWO_PASSES, 12, false);
    if everything() {
        kill_and_resume_repeatedly(TWO_PASSES, 8, true);
    }
}

#[test]
fn verify_covers_elements_written_by_an_earlier_run() {
    let work = ResumableMove::new(ONE_PASS);
    work.start_and_kill("");
    let part = work.dir.temporary(".part").unwrap();
    let file = File::options().read(true).write(true).open(part).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 5000).unwrap();
    assert_ne!(byte, [0], "it is written already");
    file.write_all_at(&[byte[0] ^ 1], 5000).unwrap();
    Run::of(&mut work.command("--resume --verify")).refused(1, "verification failed");
    assert_eq!(work.dir.names(), ["x.npy"]);
}

#[test]
fn resume_without_recorded_progress_starts_over() {
    let starts_over = |work: &ResumableMove| {
        let report = Run::of(&mut work.command("--resume --json")).done().json();
        assert_eq!(report["resumed"], false);
        work.assert_done();
    };
    starts_over(&ResumableMove::new(ONE_PASS));
    // A run that is killed just after it has created its journal leaves an empty one.
    let work = ResumableMove::new(ONE_PASS);
    work.start_and_kill("");
    fs::write(work.dir.temporary(".journal").unwrap(), "").unwrap();
    starts_over(&work);
}

#[test]
fn a_run_without_resume_removes_leftovers() {
    let work = ResumableMove::new(TWO_PASSES);
    work.start_and_kill("");
    // A different plan has temporary files with other names.
    let args = format!("{} --row-major --json", work.args);
    let report = work.dir.run(&args).done().json();
    assert_eq!(report["resumed"], false);
    work.assert_done();
}

#[test]
fn resume_refuses_changed_files_and_keeps_them() {
    let work = ResumableMove::new(TWO_PASSES);
    work.start_and_kill("");
    let (source, part) = (work.dir.path("x.npy"), work.dir.temporary(".part").unwrap());
    let (journal, intermediate) =
        (work.dir.temporary(".journal").unwrap(), work.dir.temporary(".pass0").unwrap());
    let modified = fs::metadata(&source).unwrap().modified().unwrap();
    let length = fs::metadata(&source).unwrap().len();
    #[track_caller]
    fn refused(work: &ResumableMove, more: &str, message: &str) {
        let before = work.state();
        let run = Run::of(&mut work.command(&format!("--resume {more}")));
        run.refused(3, &format!("cannot resume: [..]{message}"));
        assert_eq!(work.state(), before, "{message}");
    }
    let writable = || File::options().write(true).open(&source).unwrap();

    writable().set_modified(modified + Duration::from_nanos(1000)).unwrap();
    refused(&work, "", "a source has changed");
    writable().set_len(length + 1).unwrap();
    writable().set_modified(modified).unwrap();
    refused(&work, "", "a source has changed");
    writable().set_len(length).unwrap();
    writable().set_modified(modified).unwrap();

    let before = work.state();
    let other = "flip x.npy --axes 1 -o y.npy --resume";
    work.dir.run(&other).refused(3, "cannot resume: the unfinished job differs: the operators");
    assert_eq!(work.state(), before);

    let entries = fs::read(&journal).unwrap();
    let lines: Vec<&[u8]> = entries.split_inclusive(|byte| *byte == b'\n').collect();
    for garbage in [&b"\n"[..], b"{}\n", b"garbage", &[0xff; 100], &entries[..lines[0].len() / 2]] {
        fs::write(&journal, garbage).unwrap();
        refused(&work, "", "the journal cannot be read");
    }
    let more = [lines[0], &b"{\"stages\":3,\"batches\":0}\n"[..]].concat();
    fs::write(&journal, more).unwrap();
    refused(&work, "", "more steps than the job has");
    let more = [lines[0], &b"{\"stages\":0,\"batches\":100000}\n"[..]].concat();
    fs::write(&journal, more).unwrap();
    refused(&work, "", "more steps than the job has");
    fs::write(&journal, &entries).unwrap();

    for file in [&part, &intermediate] {
        let aside = work.dir.path("aside");
        fs::rename(file, &aside).unwrap();
        refused(&work, "", "missing");
        fs::rename(&aside, file).unwrap();
        let length = fs::metadata(file).unwrap().len();
        let opened = File::options().write(true).open(file).unwrap();
        opened.set_len(length - 1).unwrap();
        refused(&work, "", "its length has changed");
        opened.set_len(length).unwrap();
    }

    // The truncated intermediate file is written again.
    fs::write(&journal, lines[0]).unwrap();
    let report = Run::of(&mut work.command("--resume --json")).done().json();
    assert_eq!(report["resumed"], false);
    work.assert_done();
}

#[test]
fn an_incomplete_journal_line_is_ignored() {
    for args in movements() {
        let work = ResumableMove::new(args);
        work.start_and_kill("--verify");
        let journal = work.dir.temporary(".journal").unwrap();
        let entries = fs::read(&journal).unwrap();
        fs::write(&journal, [&entries[..], b"{\"stages\":0,\"batches\":99"].concat()).unwrap();
        // The run is interrupted again, after the incomplete line.
        let mut child = work.begin("--resume --verify");
        let grown = |work: &ResumableMove| {
            work.dir.temporary(".journal").is_some_and(|path| {
                fs::read(path).is_ok_and(|text| text.len() > entries.len() + 40)
            })
        };
        work.wait(&mut child, grown);
        child.kill().unwrap();
        child.wait().unwrap();
        if !work.dir.path("y.npy").exists() {
            Run::of(&mut work.command("--resume --verify")).done();
        }
        work.assert_done();
    }
}

#[test]
fn an_interrupted_run_says_how_to_resume() {
    for name in [Signal::INT, Signal::TERM] {
        let work = ResumableMove::new(TWO_PASSES);
        if is_ignored(name.as_raw()) {
            skip("the tests were started with a signal ignored, and so is the program");
            continue;
        }
        let stderr_of = |patience: u64| {
            let child = work.start_and_suspend("");
            signal(Signal::CONT, &child);
            // The journal entry may not be on the disk yet.
            sleep(Duration::from_millis(patience));
            signal(name, &child);
            let output = child.wait_with_output().unwrap();
            // On a busy machine, the program may have recorded no progress yet, or it may have ended.
            let is_interrupted =
                output.status.signal() == Some(name.as_raw()) && work.has_recorded_progress();
            is_interrupted.then(|| String::from_utf8(output.stderr).unwrap())
        };
        let mut tries = [5, 10, 20, 40, 80, 160].into_iter().cycle().take(60);
        let stderr = tries.find_map(stderr_of).expect("it is stopped with what it has noted");
        assert!(stderr.contains("with --resume continues"), "{stderr}");
        assert!(work.has_recorded_progress());
        let report = Run::of(&mut work.command("--resume --json")).done().json();
        assert_eq!(report["resumed"], true);
        work.assert_done();
    }
}

#[test]
fn a_run_interrupted_early_leaves_no_files() {
    if is_ignored(2) {
        return skip("the tests were started with a signal ignored, and so is the program");
    }
    let work = ResumableMove::new(TWO_PASSES);
    let mut child = work.begin("");
    assert!(work.wait(&mut child, |work| work.dir.temporary(".part").is_some()));
    signal(Signal::INT, &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(work.dir.names(), ["x.npy"]);
}

#[test]
fn an_in_place_run_is_resumed() {
    let mut work = ResumableMove::new(TWO_PASSES);
    let source = work.dir.read("x.npy");
    work.args = work.args.replace("-o y.npy", "-o x.npy") + " --force";
    work.start_and_kill("");
    assert!(work.dir.read("x.npy") == source, "the source is untouched");
    let report = Run::of(&mut work.command("--resume --json")).done().json();
    assert_eq!(report["resumed"], true);
    assert_eq!(work.dir.names(), ["x.npy"]);
    assert!(work.dir.read("x.npy") == *work.expected);
}
