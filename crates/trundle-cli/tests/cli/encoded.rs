//! Encoded Zarr chunks that are copied without decoding.

use std::fs;

use serde_json::{Value, json};

use crate::Workdir;
use crate::npy::{self, Tensor};
use crate::zarr::{read_metadata, write_group};

/// A u16 tensor in an .npy file and in a store with chunks of [1, 4, 3], perhaps in shards. The store's metadata has a
/// wrong compression level, so that encoding a chunk again changes its bytes.
fn with_store(shape: &[usize], shards: &str) -> Workdir {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, shape);
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    dir.run(&format!("convert x.npy -o x.zarr --codec gzip:9 --chunks 1,4,3 {shards}")).done();
    let text = String::from_utf8(dir.read("x.zarr/zarr.json")).unwrap();
    let level = |level: u8| format!("\"level\": {level}");
    assert!(text.contains(&level(9)));
    dir.write("x.zarr/zarr.json", text.replace(&level(9), &level(0)).as_bytes());
    dir
}

fn copied_chunks(dir: &Workdir, chain: &str, args: &str) -> Value {
    let plan = format!("plan apply x.zarr '{chain}' -o new.zarr --json {args}");
    dir.run(&plan).done().json()["files"]["encoded_chunks"].clone()
}

/// Checks that a chain has the same result for the store and for the .npy file.
fn assert_moves_like_npy(dir: &Workdir, chain: &str, args: &str) {
    let _ = fs::remove_dir_all(dir.path("y.zarr"));
    dir.run(&format!("apply x.npy '{chain}' -o y.npy --row-major --force")).done();
    dir.run(&format!("apply x.zarr '{chain}' -o y.zarr {args}")).done();
    dir.run("cmp y.npy y.zarr").done();
}

#[test]
fn chunks_that_stay_whole_are_copied_without_decoding() {
    let dir = with_store(&[5, 10, 9], "");
    for (chain, chunks, from, to) in [
        ("roll(shift=0, axes=0)", 45, "4/2/2", "4/2/2"),
        ("roll(shift=2, axes=0)", 45, "4/1/0", "1/1/0"),
        ("roll(shift=[1, -3], axes=[0, 2])", 45, "0/1/1", "1/1/0"),
        ("flip(axes=0)", 45, "4/1/0", "0/1/0"),
        ("slice(starts=[2, 4], stops=[4, 10], axes=[0, 1])", 12, "2/2/1", "0/1/1"),
        // Chunks have size 1 along the first axis, which may move anywhere.
        ("transpose(1, 2, 0) | flip(axes=2)", 45, "0/2/1", "2/1/4"),
    ] {
        assert_eq!(copied_chunks(&dir, chain, ""), json!(chunks), "{chain}");
        for verify in ["--verify", ""] {
            assert_moves_like_npy(&dir, chain, verify);
            let chunk = |store: &str, index: &str| dir.read(&format!("{store}/c/{index}"));
            assert_eq!(chunk("y.zarr", to), chunk("x.zarr", from), "{chain}");
        }
    }
    let plan = "plan convert x.zarr -o y.zarr --force";
    let run = dir.run(&plan).done();
    run.prints("nothing is decoded: chunks are copied in encoded form");
    run.prints("\n  encoded chunks copied: 45\n");
    dir.run(&format!("{plan} --verbose")).done().prints("  x: 45 chunks copied without decoding\n");
}

#[test]
fn chunks_that_change_are_decoded() {
    let dir = with_store(&[5, 10, 9], "");
    for (chain, args) in [
        ("roll(shift=1, axes=1)", ""),
        ("roll(shift=4, axes=1)", ""),
        ("flip(axes=2)", ""),
        ("transpose(0, 2, 1)", ""),
        ("slice(starts=0, stops=9, axes=1)", ""),
        ("slice(starts=0, stops=5, axes=0, steps=2) | roll(shift=1, axes=2)", ""),
        ("roll(shift=2, axes=0)", "--codec gzip:1"),
        ("roll(shift=2, axes=0)", "--chunks 1,4,6"),
        ("roll(shift=2, axes=0)", "--shards 2,4,3"),
    ] {
        assert_eq!(copied_chunks(&dir, chain, args), Value::Null, "{chain} {args:?}");
        assert_moves_like_npy(&dir, chain, &format!("{args} --verify"));
    }
    // Outputs are little-endian, so big-endian elements are decoded.
    let metadata = read_metadata(&dir, "x.zarr");
    let mut other = metadata.clone();
    other["codecs"][0]["configuration"]["endian"] = json!("big");
    dir.write("x.zarr/zarr.json", other.to_string().as_bytes());
    assert_eq!(copied_chunks(&dir, "flip(axes=0)", ""), Value::Null);
}

#[test]
fn shards_are_copied_whole_and_missing_chunks_stay_missing() {
    let dir = with_store(&[6, 10, 9], "--shards 2,4,9");
    assert_eq!(copied_chunks(&dir, "roll(shift=2, axes=0)", ""), json!(9));
    assert_moves_like_npy(&dir, "roll(shift=2, axes=0)", "--verify");
    assert_eq!(dir.read("x.zarr/c/0/1/0"), dir.read("y.zarr/c/1/1/0"));
    // The shift is half the size of a shard.
    assert_eq!(copied_chunks(&dir, "roll(shift=1, axes=0)", ""), Value::Null);
    assert_moves_like_npy(&dir, "roll(shift=1, axes=0)", "--verify");
    // Outputs have the shard index at the end.
    let metadata = read_metadata(&dir, "x.zarr");
    let mut other = metadata.clone();
    other["codecs"][0]["configuration"]["index_location"] = json!("start");
    dir.write("x.zarr/zarr.json", other.to_string().as_bytes());
    assert_eq!(copied_chunks(&dir, "roll(shift=2, axes=0)", ""), Value::Null);
    dir.write("x.zarr/zarr.json", metadata.to_string().as_bytes());

    fs::remove_file(dir.path("x.zarr/c/2/0/0")).unwrap();
    dir.run("convert x.zarr -o z.zarr --verify").done();
    assert!(!dir.path("z.zarr/c/2/0/0").exists());
    assert!(dir.path("z.zarr/c/2/1/0").exists());
    dir.run("cmp x.zarr z.zarr").done();
}

#[test]
fn verify_finds_damaged_chunks_and_oversized_ones_fail_at_once() {
    let dir = with_store(&[5, 10, 9], "");
    let chunk = dir.read("x.zarr/c/1/1/1");
    dir.write("x.zarr/c/1/1/1", &chunk[..chunk.len() / 2]);
    dir.run("flip x.zarr --axes 0 -o y.zarr --verify").refused(3, "chunk c/1/1/1");
    dir.write("x.zarr/c/1/1/1", &[0; 1 << 16]);
    dir.run("flip x.zarr --axes 0 -o y.zarr").refused(3, "chunk c/1/1/1: is 65536 bytes");
    let left = dir.names();
    assert!(left.iter().all(|name| !name.contains("y.zarr")), "{left:?}");
}

#[test]
fn an_array_of_one_chunk_is_copied_in_one_pass_without_decoding() {
    for shape in [&[7][..], &[], &[3, 1, 4]] {
        let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<u2'", 2, shape))]);
        dir.run("convert x.npy -o x.zarr --codec gzip:1").done();
        dir.run("plan convert x.zarr -o y.zarr").done().prints("1 pass, nothing is decoded");
        dir.run("convert x.zarr -o y.zarr --verify").done();
        dir.run("cmp y.zarr x.npy").done();
        dir.run("convert x.zarr -o z.zarr --codec none --verify").done();
        dir.run("cmp z.zarr x.npy").done();
    }
}

#[test]
fn other_tensors_of_a_group_are_copied_without_decoding() {
    let dir = with_store(&[5, 10, 9], "");
    write_group(&dir.path("g.zarr"), &json!({}));
    fs::rename(dir.path("x.zarr"), dir.path("g.zarr/a")).unwrap();
    dir.run("flip g.zarr/a --axes 1 -o g.zarr/b --to zarr").done();
    dir.run("roll g.zarr --tensor b --shift 1 --axes 2 --verify -o h.zarr").done();
    assert_eq!(dir.read("h.zarr/a/c/4/2/2"), dir.read("g.zarr/a/c/4/2/2"));
    dir.run("cmp h.zarr x.npy --tensor a").done();
    let run = dir.run("plan roll g.zarr --tensor b --shift 1 --axes 2");
    assert_eq!(run.done().text().matches("encoded chunks copied: 45").count(), 1);
}

#[test]
fn many_small_chunks_are_copied_whatever_the_memory() {
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'|u1'", 1, &[200, 300]))]);
    dir.run("convert x.npy -o x.zarr --chunks 10,10").done();
    for memory in ["60K", "64M"] {
        let plan = dir.run(&format!("plan convert x.zarr -o y.zarr --max-mem {memory} --force"));
        assert!(plan.done().text().contains("nothing is decoded"), "{memory}");
        let convert = format!("convert x.zarr -o y.zarr --max-mem {memory} --force");
        for verify in ["", "--verify"] {
            dir.run(&format!("{convert} {verify}")).done();
            dir.run("cmp x.zarr y.zarr").done();
        }
    }
}

#[test]
fn metadata_only_changes_the_axis_order_without_decoding() {
    let dir = with_store(&[5, 10, 9], "");
    let only = "--metadata-only";
    let codecs = |store: &str| read_metadata(&dir, store)["codecs"].clone();
    for (chain, order, from, to) in [
        ("transpose(0, 2, 1)", json!([0, 2, 1]), "4/2/1", "4/1/2"),
        ("transpose(2, 1, 0)", json!([2, 1, 0]), "4/2/1", "1/2/4"),
        ("transpose(1, 2, 0)", Value::Null, "4/2/1", "2/1/4"),
        ("transpose(2, 0, 1) | roll(shift=3, axes=0)", json!([1, 2, 0]), "4/2/1", "2/4/2"),
        ("roll(shift=2, axes=0)", Value::Null, "4/1/0", "1/1/0"),
    ] {
        // The order of axes within chunks changes only with --metadata-only, because readers must then
        // transpose every chunk.
        let expected = if order.is_null() { json!(45) } else { Value::Null };
        assert_eq!(copied_chunks(&dir, chain, ""), expected, "{chain}");
        assert_eq!(copied_chunks(&dir, chain, only), json!(45), "{chain}");
        assert_moves_like_npy(&dir, chain, &format!("{only} --verify"));
        let found = codecs("y.zarr")[0].clone();
        match &order {
            Value::Null => assert_eq!(found["name"], "bytes", "{chain}"),
            order => assert_eq!(&found["configuration"]["order"], order, "{chain}: {found}"),
        }
        let chunk = |store: &str, index: &str| dir.read(&format!("{store}/c/{index}"));
        assert_eq!(chunk("y.zarr", to), chunk("x.zarr", from), "{chain}");
    }
    // Moving it again restores the order.
    assert_moves_like_npy(&dir, "transpose(2, 1, 0)", only);
    let info = dir.run("info y.zarr --json").done().json();
    assert_eq!(info["tensors"][0]["chunk_order"], json!([2, 1, 0]));
    dir.run("info y.zarr").done().prints("chunks of [3, 4, 1] with axes in order [2, 1, 0], codec");
    for args in ["", only] {
        dir.run(&format!("apply y.zarr 'transpose(2, 1, 0)' -o z.zarr --force {args}")).done();
        dir.run("cmp x.npy z.zarr").done();
        assert_eq!(codecs("z.zarr")[0]["name"], "bytes");
        assert_eq!(dir.read("z.zarr/c/4/2/1"), dir.read("x.zarr/c/4/2/1"));
    }
    dir.run("apply y.zarr 'roll(shift=1, axes=0)' -o z.npy").done();
    dir.run("apply y.npy 'roll(shift=1, axes=0)' -o r.npy").done();
    dir.run("cmp r.npy z.npy").done();
    dir.run("convert y.zarr -o z.npz").done();
    dir.run("cmp y.zarr z.npz").done();
}

#[test]
fn metadata_only_refuses_operations_that_need_decoding() {
    let dir = with_store(&[5, 10, 9], "");
    for (chain, why) in [
        ("roll(shift=1, axes=1)", "axis 1 is not moved by whole chunks of 4"),
        ("flip(axes=2)", "axis 2 is not moved by whole chunks of 3"),
        ("a b c -> (a b) c", "the operation does more than transpose, roll and slice"),
    ] {
        dir.run(&format!("apply x.zarr '{chain}' -o y.zarr --metadata-only"))
            .refused(2, &format!("metadata only: {why}"));
    }
    let npy = dir.run("flip x.zarr --axes 0 -o y.npy --metadata-only");
    assert!(npy.stderr.contains("metadata only: format npy has no chunks to copy"), "{npy:?}");
    let npy = dir.run("flip x.npy --axes 0 -o y.zarr --metadata-only");
    assert!(npy.stderr.contains("metadata only: the source has no chunks"), "{npy:?}");
    let shards = with_store(&[6, 10, 9], "--shards 2,4,9");
    // Chunks are row-major within a shard.
    for (order, code) in [("1,0,2", Some(0)), ("2,0,1", Some(2))] {
        let chain = format!("transpose({order})");
        let out = "-o y.zarr --metadata-only --verify --force";
        let run = shards.run(&format!("apply x.zarr '{chain}' {out}"));
        assert_eq!(run.code, code, "{run:?}");
        if code == Some(0) {
            shards.run(&format!("apply x.npy '{chain}' -o y.npy")).done();
            shards.run("cmp y.zarr y.npy").done();
        } else {
            assert!(
                run.stderr.contains("the order of the chunks within a shard changes"),
                "{run:?}"
            );
        }
    }
}

#[test]
fn metadata_only_handles_long_chunks_and_empty_arrays() {
    let dir = with_store(&[5, 10, 9], "");
    let text = read_metadata(&dir, "x.zarr");
    for (shape, chunk) in [([5, 3, 9], [1, 4, 3]), ([0, 10, 9], [1, 4, 3])] {
        let mut other = text.clone();
        other["shape"] = json!(shape);
        other["chunk_grid"]["configuration"]["chunk_shape"] = json!(chunk);
        dir.write("x.zarr/zarr.json", other.to_string().as_bytes());
        for command in ["convert x.zarr", "apply x.zarr 'transpose(2, 1, 0)'"] {
            let args = "-o y.zarr --metadata-only --verify --force";
            dir.run(&format!("{command} {args}")).done();
            let order = if command.starts_with("convert") { "0, 1, 2" } else { "2, 1, 0" };
            dir.run(&format!("apply y.zarr 'transpose({order})' -o z.npy --force")).done();
            dir.run("cmp x.zarr z.npy").done();
        }
        let found = &read_metadata(&dir, "y.zarr")["chunk_grid"]["configuration"]["chunk_shape"];
        assert!(shape[0] == 0 || found == &json!([3, 4, 1]), "{found}");
    }
}
