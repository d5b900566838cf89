//! Tests that an output appears completely or not at all, and only at the requested path.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use trundle_core::{DType, Shape};
use trundle_formats::{
    Error, ExitClass, FileSkeleton, NamedTensor, Output, Problem, StoredDType, TensorFile,
    TensorHint, check_output, stage, write,
};

use crate::support::{names, output_path};

fn write_bytes(path: &Path, bytes: &[u8], overwrite: bool) -> Result<(), Error> {
    let shape = Shape::new([bytes.len()]).unwrap();
    let tensor =
        NamedTensor { name: "x", element: &StoredDType::new(DType::U8), shape: &shape, bytes };
    write(path, &[tensor], overwrite, &mut |_| ())
}

fn load(path: &Path) -> Vec<u8> {
    TensorFile::open(path).unwrap().load(0, &mut |_| ()).unwrap()
}

#[test]
fn an_existing_output_is_refused_or_overwritten() {
    let (folder, path) = output_path("out.npy");
    fs::write(&path, "precious").unwrap();
    for refused in [
        check_output(&path, false),
        Output::create(&path, false).map(drop),
        write_bytes(&path, &[1], false),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error.problem, Problem::Exists), "{error}");
        assert_eq!(error.exit_class(), ExitClass::Usage);
        assert!(error.to_string().starts_with(path.to_str().unwrap()));
    }
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert_eq!(names(folder.path()), ["out.npy"]);

    assert!(check_output(&path, true).is_ok());
    write_bytes(&path, &[1, 2], true).unwrap();
    assert_eq!(load(&path), [1, 2]);
    assert_eq!(names(folder.path()), ["out.npy"]);
}

#[test]
fn a_staged_output_can_be_read_back_before_it_appears() {
    let (folder, path) = output_path("out.npy");
    write_bytes(&path, &[1], false).unwrap();
    let shape = Shape::new([2]).unwrap();
    let element = StoredDType::new(DType::U8);
    let tensor = NamedTensor { name: "x", element: &element, shape: &shape, bytes: &[7, 8] };
    let staged =
        |tensors: &[NamedTensor<'_>]| stage(&path, tensors, &[], true, &mut |_| ()).unwrap();

    let output = staged(&[tensor]);
    assert_eq!(
        output.read_back(&TensorHint::default()).unwrap().load(0, &mut |_| ()).unwrap(),
        [7, 8]
    );
    assert_eq!(load(&path), [1]);
    drop(output);
    assert_eq!((load(&path), names(folder.path())), (vec![1], vec!["out.npy".to_owned()]));

    staged(&[tensor]).finish().unwrap();
    assert_eq!((load(&path), names(folder.path())), (vec![7, 8], vec!["out.npy".to_owned()]));
}

#[test]
fn a_file_created_during_the_run_is_kept() {
    let (folder, path) = output_path("out.npy");
    let mut output = Output::create(&path, false).unwrap();
    output.write_all(b"ours").unwrap();
    fs::write(&path, "theirs").unwrap();
    let error = output.finish().unwrap_err();
    assert_eq!(error.exit_class(), ExitClass::Usage);
    assert_eq!(fs::read(kept(&error, "already exists")).unwrap(), b"ours");
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    assert_eq!(names(folder.path()).len(), 2);
}

/// Returns the path of a finished output that could not be renamed for `reason`.
fn kept(error: &Error, reason: &str) -> PathBuf {
    let Problem::Kept { why, path } = &error.problem else { panic!("{error}") };
    assert!(why.to_string().starts_with(reason), "{error}");
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(".trundle-out.npy-") && name.contains(".finished"), "{name}");
    assert!(error.to_string().ends_with(&format!("kept as {}", path.display())), "{error}");
    path.clone()
}

#[test]
fn outputs_that_cannot_be_renamed_are_kept_separately() {
    let (folder, path) = output_path("out.npy");
    let tag = "out.npy-0123456789abcdef";
    let mut kept_paths = Vec::new();
    for (overwrite, text) in [(true, "first"), (false, "second"), (true, "third")] {
        let begin = trundle_formats::Begin::Anew;
        let mut output = Output::create_tagged(&path, overwrite, tag, begin).unwrap();
        output.write_all(text.as_bytes()).unwrap();
        // A file cannot be renamed to the path of a folder.
        fs::create_dir(&path).unwrap();
        fs::write(path.join("file"), "").unwrap();
        let error = output.finish().unwrap_err();
        let kept_path = kept(&error, if overwrite { "is a folder" } else { "already exists" });
        assert_eq!(fs::read(&kept_path).unwrap(), text.as_bytes());
        kept_paths.push(kept_path);
        fs::remove_dir_all(&path).unwrap();
    }
    kept_paths.dedup();
    assert_eq!((kept_paths.len(), names(folder.path()).len()), (3, 3));
    assert!(kept_paths.iter().all(|path| path.exists()));
}

#[test]
fn the_output_path_is_free_until_the_output_is_finished() {
    let (folder, path) = output_path("out.npy");
    let mut output = Output::create(&path, false).unwrap();
    output.write_all(b"half").unwrap();
    assert!(!path.exists());
    drop(output);
    assert_eq!(names(folder.path()), [""; 0]);

    let mut output = Output::create(&path, false).unwrap();
    output.write_all(b"whole").unwrap();
    output.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    assert_eq!(names(folder.path()), ["out.npy"]);
}

#[test]
fn a_failed_write_leaves_no_files() {
    let (folder, path) = output_path("out.npy");
    let shape = Shape::new([2]).unwrap();
    let element = StoredDType::new(DType::U8);
    let short = NamedTensor { name: "x", element: &element, shape: &shape, bytes: &[1] };
    assert!(write(&path, &[short], false, &mut |_| ()).is_err());
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn paths_that_cannot_be_outputs_are_refused_early() {
    let folder = tempfile::tempdir().unwrap();
    let path_of = |name: &str| folder.path().join(name);
    fs::create_dir(path_of("folder.npy")).unwrap();
    fs::write(path_of("file"), "").unwrap();
    for (name, class, message) in [
        ("folder.npy", ExitClass::Usage, "is a folder"),
        ("none/out.npy", ExitClass::Failed, "the folder "),
        ("file/out.npy", ExitClass::Failed, "cannot write: "),
        (
            "out.txt",
            ExitClass::Usage,
            "unknown ending \".txt\": expected one of .npy .npz .safetensors",
        ),
    ] {
        for refused in [check_output(&path_of(name), true), write_bytes(&path_of(name), &[], true)]
        {
            let error = refused.unwrap_err();
            assert!(error.problem.to_string().starts_with(message), "{error}");
            assert!(!error.to_string().contains(".nii"), "formats that are written: {error}");
            assert_eq!(error.exit_class(), class, "{error}");
        }
    }
    assert_eq!(names(folder.path()), ["file", "folder.npy"]);
    assert!(check_output(&path_of("out.npy"), false).is_ok());
    assert!(check_output(Path::new("-"), false).is_ok());
    assert!(check_output(Path::new("out-in-this-folder.npy"), false).is_ok());
}

#[test]
fn the_input_can_be_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    write_bytes(&path, &[1, 2, 3], false).unwrap();
    let mut input = TensorFile::open(&path).unwrap();
    let mut reversed = input.load(0, &mut |_| ()).unwrap();
    reversed.reverse();
    write_bytes(&path, &reversed, true).unwrap();
    assert_eq!(load(&path), [3, 2, 1]);
    // A reader that opened the file before still reads the old contents.
    assert_eq!(input.load(0, &mut |_| ()).unwrap(), [1, 2, 3]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn permissions_are_the_default_or_kept_from_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let (usual, path) = (folder.path().join("usual"), folder.path().join("out.npy"));
        fs::write(&usual, "").unwrap();
        write_bytes(&path, &[1], false).unwrap();
        assert_eq!(mode(&path), mode(&usual));

        for kept in [0o640, 0o751, 0o444] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            write_bytes(&path, &[2], true).unwrap();
            assert_eq!(mode(&path), kept);
            tagged(&path, true).finish().unwrap();
            assert_eq!(mode(&path), kept);
        }
        fs::remove_file(&path).unwrap();
        tagged(&path, false).finish().unwrap();
        assert_eq!(mode(&path), mode(&usual));
    }

    fn tagged(path: &Path, overwrite: bool) -> Output {
        Output::create_tagged(path, overwrite, "1-2", trundle_formats::Begin::Anew).unwrap()
    }

    #[test]
    fn intermediates_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let begin = trundle_formats::Begin::Anew;
        let file =
            trundle_formats::TemporaryFile::tagged(folder.path(), "1-2", "pass0", begin, None);
        assert_eq!(mode(file.unwrap().path()), 0o600);
    }

    #[test]
    fn a_symbolic_link_is_followed_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path_of = |name: &str| folder.path().join(name);
        fs::create_dir(path_of("far")).unwrap();
        symlink("far/target.npy", path_of("second.npy")).unwrap();
        symlink("second.npy", path_of("first.npy")).unwrap();

        // The links' target does not exist at first.
        write_bytes(&path_of("first.npy"), &[1], false).unwrap();
        assert_eq!(load(&path_of("far/target.npy")), [1]);
        let refused = write_bytes(&path_of("first.npy"), &[2], false).unwrap_err();
        assert!(matches!(refused.problem, Problem::Exists));
        write_bytes(&path_of("first.npy"), &[2], true).unwrap();
        assert_eq!(load(&path_of("far/target.npy")), [2]);
        assert!(path_of("first.npy").is_symlink() && path_of("second.npy").is_symlink());
        assert!(!path_of("far/target.npy").is_symlink());

        symlink("loop.npy", path_of("loop.npy")).unwrap();
        assert!(write_bytes(&path_of("loop.npy"), &[3], true).is_err());
        assert_eq!(names(folder.path()), ["far", "first.npy", "loop.npy", "second.npy"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_device_is_written_and_not_replaced() {
        let mut output = Output::create(Path::new("/dev/null"), false).unwrap();
        output.write_all(b"gone").unwrap();
        output.finish().unwrap();
        let still = fs::metadata("/dev/null").unwrap().file_type();
        assert!(still.is_char_device());

        let mut full = Output::create(Path::new("/dev/full"), false).unwrap();
        assert_eq!(full.write_all(b"x").unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::File;
    use std::os::windows::fs::OpenOptionsExt;

    use super::*;

    /// Opens a file as many programs do: others may not remove it.
    fn open_without_delete(path: &Path) -> File {
        let (read, write) = (1, 2);
        File::options().read(true).share_mode(read | write).open(path).unwrap()
    }

    #[test]
    fn a_file_that_another_program_has_open_is_not_replaced() {
        let (folder, path) = output_path("out.npy");
        write_bytes(&path, &[1], false).unwrap();
        let program = open_without_delete(&path);
        for refused in [Output::check(&path, true), write_bytes(&path, &[2], true)] {
            let message = refused.unwrap_err().to_string();
            assert!(
                message.ends_with("cannot replace: another program has the old file open"),
                "{message}"
            );
        }
        drop(program);
        assert_eq!((load(&path), names(folder.path())), (vec![1], vec!["out.npy".to_owned()]));

        // The program opens it while the output is written.
        let mut output = Output::create(&path, true).unwrap();
        output.write_all(b"new").unwrap();
        let program = open_without_delete(&path);
        let message = output.finish().unwrap_err().to_string();
        drop(program);
        assert!(
            message.contains("another program has the old file open; the finished"),
            "{message}"
        );
        assert_eq!(load(&path), [1]);
        let kept = names(folder.path()).into_iter().find(|name| name.ends_with(".finished"));
        assert_eq!(fs::read(folder.path().join(kept.unwrap())).unwrap(), b"new");
    }

    #[test]
    fn a_read_only_file_is_not_replaced() {
        let (folder, path) = output_path("out.npy");
        write_bytes(&path, &[1], false).unwrap();
        let set = |readonly| {
            let mut permissions = fs::metadata(&path).unwrap().permissions();
            permissions.set_readonly(readonly);
            fs::set_permissions(&path, permissions).unwrap();
        };
        set(true);
        let message = Output::check(&path, true).unwrap_err().to_string();
        assert!(message.ends_with("cannot replace: the old file is read-only"), "{message}");
        set(false);
        write_bytes(&path, &[2], true).unwrap();
        assert_eq!(load(&path), [2]);
    }

    #[test]
    fn names_that_windows_changes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["nul.npy", "ab:c.npy", "a?.npy"] {
            let refused = Output::check(&folder.path().join(name), false).unwrap_err();
            assert!(refused.to_string().contains("not a possible name"), "{refused}");
        }
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn paths_can_be_long() {
        let folder = tempfile::tempdir().unwrap();
        let deep = (0..4).fold(folder.path().to_owned(), |path, _| path.join("x".repeat(100)));
        fs::create_dir_all(&deep).unwrap();
        let path = deep.join("out.npy");
        for (byte, overwrite) in [(1, false), (2, true)] {
            write_bytes(&path, &[byte], overwrite).unwrap();
            assert_eq!((load(&path), names(&deep)), (vec![byte], vec!["out.npy".to_owned()]));
        }
        assert!(matches!(write_bytes(&path, &[3], false).unwrap_err().problem, Problem::Exists));
    }
}

mod tagged {
    use trundle_formats::Begin;

    use super::*;

    #[test]
    fn a_kept_output_is_resumed() {
        let (folder, path) = output_path("out.bin");
        let create = |begin| Output::create_tagged(&path, false, "1-2", begin);
        assert!(create(Begin::Resumed).is_err(), "there is no output to resume");
        let mut output = create(Begin::Anew).unwrap();
        output.write_all(b"first ").unwrap();
        assert!(output.blob(&FileSkeleton::default()).is_ok());
        output.keep(true);
        drop(output);
        assert_eq!(names(folder.path()), [".trundle-1-2.part"]);
        let mut output = create(Begin::Resumed).unwrap();
        assert_eq!(output.blob(&FileSkeleton::default()).unwrap().bytes().unwrap(), 6);
        assert!(!path.exists());
        // Writing starts at the front, and replaces the old contents.
        output.write_all(b"second").unwrap();
        output.finish().unwrap();
        assert_eq!(names(folder.path()), ["out.bin"]);
        assert_eq!(fs::read(&path).unwrap(), b"second");
    }

    #[test]
    fn outputs_that_are_not_kept_are_removed() {
        let (folder, path) = output_path("out.bin");
        let create = || Output::create_tagged(&path, false, "1-2", Begin::Anew).unwrap();
        let mut output = create();
        output.write_all(b"much more than the next one").unwrap();
        output.keep(true);
        drop(output);
        // A new output with the same tag has none of the kept bytes.
        let mut output = create();
        assert_eq!(output.blob(&FileSkeleton::default()).unwrap().bytes().unwrap(), 0);
        output.write_all(b"less").unwrap();
        drop(output);
        assert_eq!(names(folder.path()), [""; 0]);
        let mut output = create();
        output.keep(true);
        output.keep(false);
        drop(output);
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn an_output_is_written_by_one_process_at_a_time() {
        let (_folder, path) = output_path("out.bin");
        let first = Output::create_tagged(&path, false, "1-2", Begin::Anew).unwrap();
        let error = Output::create_tagged(&path, false, "1-2", Begin::Anew).unwrap_err();
        assert!(error.to_string().ends_with("is being written by another process"), "{error}");
        first.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        Output::create_tagged(&path, true, "1-2", Begin::Anew).unwrap().finish().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_with_the_temporary_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "whole").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join(".trundle-1-2.part")).unwrap();
        let path = folder.path().join("out.bin");
        assert!(Output::create_tagged(&path, false, "1-2", Begin::Anew).is_err());
        assert_eq!(fs::read(&victim).unwrap(), b"whole");
    }
}
