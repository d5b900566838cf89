//! Encoded Zarr chunks that are copied without decoding.

use std::fs;

use serde_json::{Value, json};

use crate::Workdir;
use crate::npy::{self, Tensor};
use crate::zarr::written;

/// A u16 tensor in an .npy file and in a store with chunks of [1, 4, 3], perhaps in shards. The store's metadata has a
/// wrong compression level, so that encoding a chunk again changes its bytes.
fn with_store(shape: &[usize], shards: &str) -> Workdir {
    let place = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, shape);
    place.write("x.npy", &tensor.file(npy::PLAIN));
    place.run(&format!("convert x.npy -o x.zarr --codec gzip:9 --chunks 1,4,3 {shards}")).done();
    let text = String::from_utf8(place.read("x.zarr/zarr.json")).unwrap();
    let level = |level: u8| format!("\"level\": {level}");
    assert!(text.contains(&level(9)));
    place.write("x.zarr/zarr.json", text.replace(&level(9), &level(0)).as_bytes());
    place
}

fn count(place: &Workdir, chain: &str, args: &str) -> Value {
    let plan = format!("plan apply x.zarr '{chain}' -o new.zarr --json {args}");
    place.run(&plan).done().json()["files"]["encoded_chunks"].clone()
}

/// Compares the result of a chain on the store with that on the .npy file.
fn moved(place: &Workdir, chain: &str, args: &str) {
    let _ = fs::remove_dir_all(place.path("y.zarr"));
    place.run(&format!("apply x.npy '{chain}' -o y.npy --row-major --force")).done();
    place.run(&format!("apply x.zarr '{chain}' -o y.zarr {args}")).done();
    place.run("cmp y.npy y.zarr").done();
}

#[test]
fn chunks_that_stay_whole_are_copied_as_they_are() {
    let place = with_store(&[5, 10, 9], "");
    for (chain, chunks, from, to) in [
        ("roll(shift=0, axes=0)", 45, "4/2/2", "4/2/2"),
        ("roll(shift=2, axes=0)", 45, "4/1/0", "1/1/0"),
        ("roll(shift=[1, -3], axes=[0, 2])", 45, "0/1/1", "1/1/0"),
        ("flip(axes=0)", 45, "4/1/0", "0/1/0"),
        ("slice(starts=[2, 4], stops=[4, 10], axes=[0, 1])", 12, "2/2/1", "0/1/1"),
        // Chunks have size 1 along the first axis, which may move anywhere.
        ("transpose(1, 2, 0) | flip(axes=2)", 45, "0/2/1", "2/1/4"),
    ] {
        assert_eq!(count(&place, chain, ""), json!(chunks), "{chain}");
        for verify in ["--verify", ""] {
            moved(&place, chain, verify);
            let chunk = |store: &str, index: &str| place.read(&format!("{store}/c/{index}"));
            assert_eq!(chunk("y.zarr", to), chunk("x.zarr", from), "{chain}");
        }
    }
    let plan = "plan convert x.zarr -o y.zarr --force";
    let text = place.run(&plan).done().text();
    assert!(text.contains("nothing is decoded: chunks are copied in encoded form"), "{text}");
    assert!(text.contains("\n  encoded chunks copied: 45\n"), "{text}");
    let text = place.run(&format!("{plan} --verbose")).done().text();
    assert!(text.contains("  x: 45 chunks copied without decoding\n"), "{text}");
}

#[test]
fn chunks_that_do_not_are_decoded() {
    let place = with_store(&[5, 10, 9], "");
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
        assert_eq!(count(&place, chain, args), Value::Null, "{chain} {args:?}");
        moved(&place, chain, &format!("{args} --verify"));
    }
    // Outputs are little-endian, so big-endian elements are decoded.
    let metadata = written(&place, "x.zarr");
    let mut other = metadata.clone();
    other["codecs"][0]["configuration"]["endian"] = json!("big");
    place.write("x.zarr/zarr.json", other.to_string().as_bytes());
    assert_eq!(count(&place, "flip(axes=0)", ""), Value::Null);
}

#[test]
fn shards_are_copied_whole_and_missing_chunks_stay_missing() {
    let place = with_store(&[6, 10, 9], "--shards 2,4,9");
    assert_eq!(count(&place, "roll(shift=2, axes=0)", ""), json!(9));
    moved(&place, "roll(shift=2, axes=0)", "--verify");
    assert_eq!(place.read("x.zarr/c/0/1/0"), place.read("y.zarr/c/1/1/0"));
    // The shift is half the size of a shard.
    assert_eq!(count(&place, "roll(shift=1, axes=0)", ""), Value::Null);
    moved(&place, "roll(shift=1, axes=0)", "--verify");
    // Outputs have the shard index at the end.
    let metadata = written(&place, "x.zarr");
    let mut other = metadata.clone();
    other["codecs"][0]["configuration"]["index_location"] = json!("start");
    place.write("x.zarr/zarr.json", other.to_string().as_bytes());
    assert_eq!(count(&place, "roll(shift=2, axes=0)", ""), Value::Null);
    place.write("x.zarr/zarr.json", metadata.to_string().as_bytes());

    fs::remove_file(place.path("x.zarr/c/2/0/0")).unwrap();
    place.run("convert x.zarr -o z.zarr --verify").done();
    assert!(!place.path("z.zarr/c/2/0/0").exists());
    assert!(place.path("z.zarr/c/2/1/0").exists());
    place.run("cmp x.zarr z.zarr").done();
}

#[test]
fn what_is_damaged_is_found_by_verify_and_what_is_too_long_at_once() {
    let place = with_store(&[5, 10, 9], "");
    let chunk = place.read("x.zarr/c/1/1/1");
    place.write("x.zarr/c/1/1/1", &chunk[..chunk.len() / 2]);
    place.run("flip x.zarr --axes 0 -o y.zarr --verify").refused(3, "chunk c/1/1/1");
    place.write("x.zarr/c/1/1/1", &[0; 1 << 16]);
    place.run("flip x.zarr --axes 0 -o y.zarr").refused(3, "chunk c/1/1/1: is 65536 bytes");
    let left: Vec<String> = place.contents().into_iter().map(|(name, _)| name).collect();
    assert!(left.iter().all(|name| !name.contains("y.zarr")), "{left:?}");
}

#[test]
fn an_array_of_one_chunk_is_copied_as_it_is_and_moved_in_one_pass() {
    for shape in [&[7][..], &[], &[3, 1, 4]] {
        let place = Workdir::new();
        place.write("x.npy", &Tensor::noise("'<u2'", 2, shape).file(npy::PLAIN));
        place.run("convert x.npy -o x.zarr --codec gzip:1").done();
        let plan = place.run("plan convert x.zarr -o y.zarr").done().text();
        assert!(plan.contains("1 pass, nothing is decoded"), "{plan}");
        place.run("convert x.zarr -o y.zarr --verify").done();
        place.run("cmp y.zarr x.npy").done();
        place.run("convert x.zarr -o z.zarr --codec none --verify").done();
        place.run("cmp z.zarr x.npy").done();
    }
}

#[test]
fn tensors_that_are_kept_are_copied_beside_one_that_moves() {
    let place = with_store(&[5, 10, 9], "");
    let group = json!({ "zarr_format": 3, "node_type": "group", "attributes": {} });
    fs::create_dir(place.path("g.zarr")).unwrap();
    place.write("g.zarr/zarr.json", group.to_string().as_bytes());
    fs::rename(place.path("x.zarr"), place.path("g.zarr/a")).unwrap();
    place.run("flip g.zarr/a --axes 1 -o g.zarr/b --to zarr").done();
    place.run("roll g.zarr --tensor b --shift 1 --axes 2 --verify -o h.zarr").done();
    assert_eq!(place.read("h.zarr/a/c/4/2/2"), place.read("g.zarr/a/c/4/2/2"));
    place.run("cmp h.zarr x.npy --tensor a").done();
    let run = place.run("plan roll g.zarr --tensor b --shift 1 --axes 2");
    assert_eq!(run.done().text().matches("encoded chunks copied: 45").count(), 1);
}

#[test]
fn many_small_chunks_are_copied_whatever_the_memory() {
    let place = Workdir::with(&[("x.npy", &Tensor::noise("'|u1'", 1, &[200, 300]))]);
    place.run("convert x.npy -o x.zarr --chunks 10,10").done();
    for memory in ["60K", "64M"] {
        let plan = place.run(&format!("plan convert x.zarr -o y.zarr --max-mem {memory} --force"));
        assert!(plan.done().text().contains("nothing is decoded"), "{memory}");
        let convert = format!("convert x.zarr -o y.zarr --max-mem {memory} --force");
        for verify in ["", "--verify"] {
            place.run(&format!("{convert} {verify}")).done();
            place.run("cmp x.zarr y.zarr").done();
        }
    }
}

#[test]
fn an_order_of_axes_can_be_metadata_alone() {
    let place = with_store(&[5, 10, 9], "");
    let only = "--metadata-only";
    let codecs = |store: &str| written(&place, store)["codecs"].clone();
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
        assert_eq!(count(&place, chain, ""), expected, "{chain}");
        assert_eq!(count(&place, chain, only), json!(45), "{chain}");
        moved(&place, chain, &format!("{only} --verify"));
        let found = codecs("y.zarr")[0].clone();
        match &order {
            Value::Null => assert_eq!(found["name"], "bytes", "{chain}"),
            order => assert_eq!(&found["configuration"]["order"], order, "{chain}: {found}"),
        }
        let chunk = |store: &str, index: &str| place.read(&format!("{store}/c/{index}"));
        assert_eq!(chunk("y.zarr", to), chunk("x.zarr", from), "{chain}");
    }
    // Moving it again restores the order.
    moved(&place, "transpose(2, 1, 0)", only);
    let info = place.run("info y.zarr --json").done().json();
    assert_eq!(info["tensors"][0]["chunk_order"], json!([2, 1, 0]));
    let text = place.run("info y.zarr").done().text();
    assert!(text.contains("chunks of [3, 4, 1] with axes in order [2, 1, 0], codec"), "{text}");
    for args in ["", only] {
        place.run(&format!("apply y.zarr 'transpose(2, 1, 0)' -o z.zarr --force {args}")).done();
        place.run("cmp x.npy z.zarr").done();
        assert_eq!(codecs("z.zarr")[0]["name"], "bytes");
        assert_eq!(place.read("z.zarr/c/4/2/1"), place.read("x.zarr/c/4/2/1"));
    }
    place.run("apply y.zarr 'roll(shift=1, axes=0)' -o z.npy").done();
    place.run("apply y.npy 'roll(shift=1, axes=0)' -o r.npy").done();
    place.run("cmp r.npy z.npy").done();
    place.run("convert y.zarr -o z.npz").done();
    place.run("cmp y.zarr z.npz").done();
}

#[test]
fn what_metadata_alone_cannot_do_is_refused() {
    let place = with_store(&[5, 10, 9], "");
    for (chain, why) in [
        ("roll(shift=1, axes=1)", "axis 1 is not moved by whole chunks of 4"),
        ("flip(axes=2)", "axis 2 is not moved by whole chunks of 3"),
        ("a b c -> (a b) c", "the operation does more than transpose, roll and slice"),
    ] {
        place
            .run(&format!("apply x.zarr '{chain}' -o y.zarr --metadata-only"))
            .refused(2, &format!("metadata only: {why}"));
    }
    let npy = place.run("flip x.zarr --axes 0 -o y.npy --metadata-only");
    assert!(npy.stderr.contains("metadata only: format npy has no chunks to copy"), "{npy:?}");
    let npy = place.run("flip x.npy --axes 0 -o y.zarr --metadata-only");
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
fn chunks_longer_than_an_axis_and_arrays_of_nothing_are_metadata_too() {
    let place = with_store(&[5, 10, 9], "");
    let text = written(&place, "x.zarr");
    for (shape, chunk) in [([5, 3, 9], [1, 4, 3]), ([0, 10, 9], [1, 4, 3])] {
        let mut other = text.clone();
        other["shape"] = json!(shape);
        other["chunk_grid"]["configuration"]["chunk_shape"] = json!(chunk);
        place.write("x.zarr/zarr.json", other.to_string().as_bytes());
        for command in ["convert x.zarr", "apply x.zarr 'transpose(2, 1, 0)'"] {
            let args = "-o y.zarr --metadata-only --verify --force";
            place.run(&format!("{command} {args}")).done();
            let order = if command.starts_with("convert") { "0, 1, 2" } else { "2, 1, 0" };
            place.run(&format!("apply y.zarr 'transpose({order})' -o z.npy --force")).done();
            place.run("cmp x.zarr z.npy").done();
        }
        let found = &written(&place, "y.zarr")["chunk_grid"]["configuration"]["chunk_shape"];
        assert!(shape[0] == 0 || found == &json!([3, 4, 1]), "{found}");
    }
}
