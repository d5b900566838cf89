//! Invalid input: messages with values and limits, exit codes, and no files left.

use std::fs;

use crate::Workdir;
use crate::npy::{self, PLAIN, Tensor};

/// Checks the exit code and the message of a run, which must print nothing else and leave no files.
#[track_caller]
#[expect(clippy::print_stdout, reason = "a failed test shows the arguments of the failed run last")]
pub(crate) fn refused(dir: &Workdir, args: &str, code: i32, message: &str) {
    let before = dir.contents();
    println!("trundle {args}");
    let run = dir.run(args);
    run.refused(code, message);
    assert!(run.stdout.is_empty() && run.stderr.starts_with("error: "), "{run:#?}");
    assert_eq!(dir.contents(), before, "{args:?} left something");
}

/// Checks the runs of a list. Each has a line of arguments and an indented line with the exit code and the message. In
/// a message, `\n` is a line break. Lines that begin with `#` are comments.
#[track_caller]
pub(crate) fn refused_as_listed(dir: &Workdir, list: &str) {
    for (args, code, message) in listed(list) {
        refused(dir, args, code, &message);
    }
}

/// Returns the arguments, the exit code and the message of each run in a list.
pub(crate) fn listed(list: &str) -> Vec<(&str, i32, String)> {
    let lines: Vec<&str> = lines_of(list).collect();
    let runs = lines.chunks(2).map(|run| {
        let (code, message) = refusal(run[1]);
        (run[0], code, message)
    });
    runs.collect()
}

fn lines_of(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

/// Reads the exit code and the message from a line of a list.
fn refusal(line: &str) -> (i32, String) {
    let (code, message) = line.trim_start().split_once(':').unwrap();
    (code.parse().unwrap(), message.trim_start().replace("\\n", "\n"))
}

/// A volume, a matrix, lengths for it, a scalar, an empty tensor, and a file without a tensor.
fn dir() -> Workdir {
    let dir = Workdir::with(&[
        ("volume.npy", &Tensor::counting(&[4, 5, 6])),
        ("matrix.npy", &Tensor::counting(&[3, 4])),
        ("scalar.npy", &Tensor::counting(&[])),
        ("empty.npy", &Tensor::counting(&[3, 0, 4])),
        ("lengths.npy", &Tensor::list(&[2, 9, 1])),
        ("column.npy", &Tensor { shape: vec![3, 1], ..Tensor::list(&[2, 4, 1]) }),
        ("floats.npy", &Tensor::noise("'<f4'", 4, &[3])),
    ]);
    dir.write("file.txt", b"precious");
    fs::create_dir(dir.path("folder.npy")).unwrap();
    dir
}

/// The tests of trundle-formats cover every mistake in a header.
#[test]
fn invalid_npy_headers_are_refused() {
    let dir = Workdir::new();
    let volume = Tensor::counting(&[4, 5, 6]).file(PLAIN);
    let tensor = |descr: &str, shape: &str| {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
        [npy::header(1, &text), vec![0; 8]].concat()
    };
    let header_too_long = [&b"\x93NUMPY\x02\x00"[..], &[0xff; 4], &[b' '; 100]].concat();
    // Contents of files, and parts of the messages.
    let files: &[(&[u8], &str)] = &[
        (b"", "truncated[..]8 bytes[..]but has 0"),
        (b"hello, world", "not an .npy file[..]\"hello,\"[..]\"\\x93NUMPY\""),
        (&volume[..volume.len() - 3], "truncated[..]the data should have 240 bytes[..]but has 237"),
        (&header_too_long, "4294967295 bytes[..]1048576"),
        (&tensor("'<f4'", "(1099511627776,)"), "4398046511104 bytes[..]but has 8"),
        (&tensor("'\x1b[31m'", "(1,)"), "\\x1b[31m"),
        (&npy::header(1, &"[".repeat(60_000)), "malformed header"),
        (&[npy::header(3, "{'descr': \"\"\"}"), vec![0; 8]].concat(), "malformed header"),
    ];
    for (bytes, message) in files {
        dir.write("x.npy", bytes);
        for args in [
            "info x.npy",
            "transpose x.npy -o out.npy",
            "view x.npy -o out.png",
            "plan transpose x.npy",
            "flip x.npy --axes 0 -o x.npy --force",
        ] {
            refused(&dir, args, 3, message);
        }
        let run = dir.run_on(bytes, "transpose - -o -");
        assert_eq!((run.code, &run.stdout[..]), (Some(3), &b""[..]), "{run:?}");
        assert!(run.stderr.starts_with("error: "), "{run:?}");
    }
}

#[test]
fn huge_shapes_without_data_are_moved() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[4]))]);
    let text = "{'descr': '|S0', 'fortran_order': False, 'shape': (4611686018427387904,), }";
    dir.write("huge.npy", &npy::header(1, text));
    dir.run("flip huge.npy --axes 0 -o out.npy --verify").done();
    let text = "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 4294967296, 4294967296), }";
    dir.write("none.npy", &npy::header(1, text));
    dir.run("transpose none.npy -o out.npy --force --verify").done();
    let args = "reverse x.npy --axis 0 --lengths huge.npy -o y.npy";
    refused(&dir, args, 3, "huge.npy: lengths must be integers, got S0");
}

#[test]
fn arguments_invalid_for_an_operator_are_refused() {
    let dir = dir();
    refused_as_listed(&dir, include_str!("refusals/operators.txt"));
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let dir = dir();
    refused_as_listed(&dir, include_str!("refusals/lengths.txt"));
}

#[test]
fn mistakes_in_chains_are_underlined() {
    let dir = dir();
    let lines: Vec<&str> = lines_of(include_str!("refusals/chains.txt")).collect();
    for mistake in lines.chunks(3) {
        let [chain, carets, outcome] = [0, 1, 2].map(|line| mistake[line]);
        let (code, message) = refusal(outcome);
        let args = format!("apply volume.npy '{chain}' -o out.npy");
        refused(&dir, &args, code, &message);
        refused(&dir, &format!("plan {args}"), code, &message);
        let stderr = dir.run(&args).stderr;
        let lines: Vec<&str> = stderr.lines().collect();
        assert_eq!(lines[1..3], [format!("  {chain}"), format!("  {carets}")], "{stderr}");
    }
    // An empty chain has nothing to underline.
    let stderr = dir.run("apply volume.npy ' ' -o out.npy").stderr;
    assert!(stderr.starts_with("error: the chain is empty\n  a stage is a call"), "{stderr}");
}

#[test]
fn extreme_chains_are_refused_with_short_messages() {
    let dir = dir();
    for chain in [
        "flip(".repeat(10_000),
        "|".repeat(10_000),
        "x ".repeat(50_000) + "->",
        "[".repeat(50_000),
        format!("flip({})", "0,".repeat(50_000)),
        format!("roll(1, [{}])", vec!["7"; 50_000].join(",")),
        "\u{1}\u{1b}[31m".to_owned(),
        "→→→ \u{202e} 🙂 | 🙂".to_owned(),
        "reverse(axis=0, lengths=\"\")".to_owned(),
        "transpose(2,1,0)|".repeat(3) + "é",
    ] {
        let run = dir.run(&format!("apply volume.npy '{chain}' -o out.npy"));
        assert!(matches!(run.code, Some(2 | 3)), "{run:?}");
        run.refused(run.code.unwrap(), "error: ");
        assert!(run.stderr.len() < 2000, "{} bytes", run.stderr.len());
        assert!(!run.stderr.contains('\x1b'), "{run:?}");
    }
}

#[test]
fn files_that_cannot_be_read_or_written_are_refused() {
    let dir = dir();
    refused_as_listed(&dir, include_str!("refusals/files.txt"));
}

#[test]
fn meaningless_arguments_are_refused() {
    let dir = dir();
    refused_as_listed(&dir, include_str!("refusals/arguments.txt"));
}

#[test]
fn huge_shifts_are_exact_and_invalid_numbers_are_refused() {
    let dir = dir();
    let roll = |shift: &'static str, axes: &'static str| {
        format!("roll volume.npy --shift {shift} --axes '{axes}' -o out.npy --verify")
    };
    dir.run(&format!("{} --force", roll("-9223372036854775808", "0,1,2"))).done();
    dir.run(&format!("{} --force", roll("9223372036854775807,-1", "0,0"))).done();
    fs::remove_file(dir.path("out.npy")).unwrap();
    for (shift, axis, code, message) in [
        ("-9223372036854775809", "0", 2, "-9223372036854775809[..]--shift"),
        ("1", "9223372036854775807", 3, "axis 9223372036854775807[..]rank 3"),
        ("1e3", "0", 2, "1e3[..]--shift"),
    ] {
        refused(&dir, &roll(shift, axis), code, message);
    }
}

#[cfg(unix)]
pub(crate) mod unix {
    use std::fs::File;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::{Run, skip};

    #[test]
    fn output_that_does_not_fit_on_stdout_is_an_error() {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            return skip("there is no /dev/full");
        };
        let dir = dir();
        for args in [
            "transpose volume.npy -o -",
            "transpose volume.npy -o out.npy --force --json",
            "info volume.npy",
            "info volume.npy --json",
            "plan transpose volume.npy",
            "view volume.npy",
            "view volume.npy -o -",
            "completions bash",
            "man",
        ] {
            let run = Run::of(dir.command(args).stdout(full.try_clone().unwrap()));
            run.refused(1, "stdout: [..]No space left on device");
        }
    }

    #[test]
    fn a_full_stderr_does_not_change_the_exit_code() {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            return skip("there is no /dev/full");
        };
        let dir = dir();
        let code = |args: &str| Run::of(dir.command(args).stderr(full.try_clone().unwrap())).code;
        assert_eq!(code("transpose volume.npy -o out.npy"), Some(0));
        assert_eq!(code("transpose volume.npy -o out.npy"), Some(2));
        assert_eq!(code("transpose none.npy -o new.npy"), Some(1));
    }

    #[test]
    fn devices_and_link_loops_are_written_or_refused() {
        if !Path::new("/dev/full").exists() {
            return skip("there is no /dev/full");
        }
        let dir = dir();
        symlink("/dev/full", dir.path("full.npy")).unwrap();
        symlink("/dev/null", dir.path("null.npy")).unwrap();
        symlink("loop.npy", dir.path("loop.npy")).unwrap();
        let verified = "transpose volume.npy -o null.npy --verify";
        let names = |dir: &Workdir| fs::read_dir(dir.path("")).unwrap().count();
        let before = names(&dir);
        let to = |output: &'static str| dir.run(&format!("transpose volume.npy -o {output}"));
        to("full.npy").refused(1, "full.npy: cannot write[..]No space left on device");
        dir.run(&verified).refused(2, "null.npy: --verify[..]files only");
        to("null.npy").done();
        to("loop.npy").refused(1, "loop.npy");
        dir.run("info loop.npy").refused(1, "loop.npy: cannot open");
        dir.run("info null.npy").refused(3, "null.npy: truncated[..]but has 0");
        assert_eq!(names(&dir), before);
    }

    #[test]
    fn a_full_disk_leaves_no_files() {
        let dir = Workdir::with(&[
            ("small.npy", &Tensor::noise("'|u1'", 1, &[100])),
            ("large.npy", &Tensor::noise("'|u1'", 1, &[300_000])),
        ]);
        fs::create_dir(dir.path("disk")).unwrap();
        // A disk of 64 KiB that only this process and its children can see.
        let script = "mount -t tmpfs -o size=64k tmpfs disk || exit 99
            \"$0\" flip small.npy --axes 0 -o disk/small.npy -q || exit 98
            \"$0\" flip large.npy --axes 0 -o disk/large.npy && exit 97
            \"$0\" flip large.npy --axes 0 -o disk/small.npy --force && exit 96
            cmp -s small.npy disk/small.npy && exit 95
            ls -A disk";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script]);
        command.arg(env!("CARGO_BIN_EXE_trundle")).current_dir(dir.path(""));
        let Ok(output) = command.output() else { return skip("unshare is missing") };
        let run = Run::from(output);
        if !matches!(run.code, Some(0 | 95..=98)) {
            return skip(&format!("no disk can be mounted: {}", run.stderr));
        }
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(run.text(), "small.npy\n");
        assert_eq!(
            run.stderr.matches("disk: 293.1 KiB of disk space are needed").count(),
            2,
            "{run:?}"
        );
    }

    #[test]
    fn a_read_only_folder_is_refused() {
        let dir = dir();
        let folder = dir.path("locked");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
        if File::create(folder.join("probe")).is_ok() {
            return skip("this user may write everywhere");
        }
        let run = dir.run("transpose volume.npy -o locked/out.npy");
        run.refused(1, "locked/out.npy: cannot create[..]Permission denied");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn a_failed_allocation_is_reported() {
        let dir = Workdir::new();
        dir.write_zeros("x.npy", "|u1", 1, &[64 << 20]);
        let mut refused = 0;
        // The debug build of the program itself takes 62 MiB.
        for limit in (80..=200).step_by(20) {
            let script = format!("ulimit -v {} || exit 0; exec \"$0\" \"$@\"", limit << 10);
            let mut command = Command::new("sh");
            command.args(["-c", &script, env!("CARGO_BIN_EXE_trundle"), "flip", "x.npy"]);
            command.args("--axes 0 -o out.npy --force -q --threads 1".split(' '));
            // The C library reserves 64 MiB of address space for each thread, perhaps beyond the limit.
            command.env("MALLOC_ARENA_MAX", "1");
            let run = Run::from(command.current_dir(dir.path("")).output().unwrap());
            // The standard library aborts the process if a new thread cannot allocate the stack for its
            // signal handler.
            if run.stderr.contains("failed to allocate an alternative stack") {
                dir.run("clean --force").done();
                continue;
            }
            let files = fs::read_dir(dir.path("")).unwrap().count();
            if run.code == Some(0) {
                assert_eq!(files, 2);
                fs::remove_file(dir.path("out.npy")).unwrap();
            } else {
                run.refused(1, "not enough memory");
                assert_eq!(files, 1);
                refused += 1;
            }
        }
        if refused == 0 {
            skip("memory cannot be limited here");
        }
    }

    /// Whether a signal was ignored when this process was started, as for a background process of a script.
    pub(crate) fn is_ignored(signal: i32) -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }

    #[test]
    fn an_interrupted_run_leaves_no_files() {
        let dir = Workdir::new();
        let files = |elements: u32| {
            let bytes: Vec<u8> = (0..elements).map(|n| (n / 1000) as u8).collect();
            let text =
                format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({elements},), }}");
            let input = [npy::header(1, &text), bytes].concat();
            let mut output = input.clone();
            output[128..].reverse();
            (input, output)
        };
        let (mut input, mut output) = files(32 << 20);
        let names = || {
            let entries = fs::read_dir(dir.path("")).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap())
        };
        for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
            if is_ignored(number) {
                skip("the tests were started with a signal ignored, and so is the program");
                continue;
            }
            // The program may finish before the signal arrives. Then the next attempt uses a larger file.
            let stopped = (0..50).any(|attempt| {
                if attempt == 10 && input.len() < 100 << 20 {
                    (input, output) = files(160 << 20);
                }
                dir.write("x.npy", &input);
                let args = "flip x.npy --axes 0 -o x.npy --force -q";
                let mut child = dir.command(&args).spawn().unwrap();
                // A shell that is already running has less delay.
                let mut killer = Command::new("sh")
                    .args(["-c", &format!("read go; kill {signal} {}", child.id())])
                    .stdin(Stdio::piped())
                    .spawn()
                    .unwrap();
                let is_writing = loop {
                    if names().any(|name| name.ends_with(".part")) {
                        break true;
                    }
                    if child.try_wait().unwrap().is_some() {
                        break false;
                    }
                };
                if is_writing {
                    drop(killer.stdin.take());
                } else {
                    killer.kill().unwrap();
                }
                killer.wait().unwrap();
                let ended_by = child.wait().unwrap().signal();
                assert_eq!(names().collect::<Vec<_>>(), ["x.npy"]);
                let left = dir.read("x.npy");
                assert!(left == input || left == output, "not whole");
                ended_by == Some(number) && left == input
            });
            assert!(stopped, "{signal} never came in time");
        }
    }

    #[test]
    fn paths_need_not_be_unicode_but_chains_must_be() {
        let dir = dir();
        let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe.npy");
        let run = Run::of(dir.command("info").arg(odd));
        run.refused(1, "cannot open");
        let run = Run::of(dir.command("apply volume.npy -o out.npy").arg(odd));
        run.refused(2, "UTF-8");
        let run = Run::of(dir.command("transpose volume.npy -o").arg(odd));
        run.done();
        Run::of(dir.command("info").arg(odd)).done().prints("u16  [6, 5, 4]");
    }
}

#[test]
fn the_workers_option_is_refused_with_alternatives() {
    for command in ["apply", "plan apply"] {
        let args = format!("{command} volume.npy flip(0) -o out.npy --workers=2");
        let message = "'--workers'[..]--threads N[..]'plan --tasks'[..]Usage";
        refused(&dir(), &args, 2, message);
    }
}
