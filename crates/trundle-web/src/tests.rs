use serde_json::{Value, json};
use trundle::{Chain, Plan, Shape};

use super::answer_to;

mod spellings;

fn asked(question: &Value) -> Value {
    let text = question.to_string();
    answer_to(text.as_bytes(), text.len())
}

fn explained(chain: &str, shape: &[usize]) -> Value {
    asked(&json!({ "chain": chain, "shape": shape, "dtype": "u16" }))
}

/// The sources of the elements of the result.
fn sources(answer: &Value) -> Vec<i64> {
    let stage = answer["stages"].as_array().and_then(|stages| stages.last());
    let sources = stage.and_then(|stage| stage["sources"].as_array());
    let sources = sources.unwrap_or_else(|| panic!("{answer:#}"));
    sources.iter().filter_map(Value::as_i64).collect()
}

#[test]
fn elements_come_from_where_the_index_map_says() {
    let (text, sizes) = ("roll(1, 2) | flip(0) | a (b c) d -> (d a) c b, c=2", [3, 4, 5]);
    let shape = Shape::new(sizes).unwrap();
    let chain: Chain = text.parse().unwrap();
    let map = chain.index_map(&shape).unwrap();
    let mut expected = Vec::new();
    map.out_shape().for_each_index(|index| {
        expected.push(shape.ravel(&map.source_of(index)).cast_signed() as i64);
    });
    let answer = explained(text, &sizes);
    assert_eq!(sources(&answer), expected);
    let plan = Plan::row_major(&chain, 2, &shape, Some(1)).unwrap();
    assert_eq!(answer["plan"], plan.to_string());
    assert_eq!(answer["passes"], 1);
    assert_eq!(answer["stages"][1]["shape"], json!([3, 4, 5]));
}

#[test]
fn stages_that_keep_all_bytes_in_order_are_free() {
    let answer = explained("reshape(2, 6) | transpose() | reshape(12)", &[3, 4]);
    let copies = [0, 1, 2].map(|stage: usize| answer["stages"][stage]["copies"].clone());
    assert_eq!(copies, [json!(true), json!(false), json!(true)]);
}

#[test]
fn constants_and_several_tensors_have_their_own_numbers() {
    assert_eq!(sources(&explained("pad(1, value=7)", &[2])), [-1, 0, 1, -1]);
    let question = json!({
        "chain": "concat(_, more, axis=0) | flip(0)", "shape": [2], "dtype": "f32", "others": {"more": [3]},
    });
    let answer = asked(&question);
    assert_eq!(sources(&answer), [4, 3, 2, 1, 0]);
    assert_eq!(answer["inputs"][1]["name"], "more");
    assert_eq!(answer["inputs"][1]["base"], 2);
    let refused = asked(
        &json!({ "chain": "stack(_, b)", "shape": [2], "dtype": "f32", "others": {"b": [3]} }),
    );
    assert_eq!(refused["inputs"], json!(["x", "b"]));
}

#[test]
fn names_follow_their_axes() {
    let question = json!({
        "chain": "roll(half, dim=lon) | lat lon -> lon lat", "shape": [2, 4], "names": ["lat", "lon"], "dtype": "f32",
    });
    let answer = asked(&question);
    assert_eq!(answer["stages"][1]["names"], json!(["lon", "lat"]));
    let text = answer["snippets"]["Python"].as_str().unwrap();
    assert!(text.contains("fftshift(1) | transpose(1, 0)"), "{text}");
}

#[test]
fn a_fault_has_its_place_in_the_text() {
    let answer = explained("→ | tanspose(1, 0)", &[2, 3]);
    assert!(answer["error"].as_str().unwrap().contains('^'), "{answer:#}");
    let answer = explained("flip(0) | roll(1, 5)", &[2, 3]);
    assert_eq!(answer["span"], json!([10, 20]));
    // JavaScript counts units of UTF-16.
    let answer = explained("h w → w h | flop(0)", &[2, 3]);
    assert_eq!(answer["span"], json!([12, 16]));
    assert!(answer["error"].as_str().unwrap().contains("did you mean \"flip\"?"));
}

#[test]
fn expressions_are_chains() {
    let shape = [2, 3, 4, 5];
    for (spelled, chain) in [
        ("x.transpose(0, 3, 1, 2)", "transpose(0, 3, 1, 2)"),
        ("np.transpose(x, (0, -1, 1, 2))", "transpose(0, 3, 1, 2)"),
        ("x.T", "transpose()"),
        ("x.permute([3, 2, 1, 0]).contiguous()", "transpose()"),
        ("x.transpose(1, -1)", "transpose(0, 3, 2, 1)"),
        ("np.moveaxis(x, 0, -1)", "transpose(1, 2, 3, 0)"),
        ("np.swapaxes(x, 1, 2)", "transpose(0, 2, 1, 3)"),
        ("np.roll(x, 1, axis=0)", "roll(1, 0)"),
        ("np.roll(x, (1, -2), axis=(2, 3))", "roll([1, -2], [2, 3])"),
        ("torch.roll(x, shifts=1, dims=3)", "roll(1, 3)"),
        ("np.fft.fftshift(x)", "fftshift()"),
        ("np.fft.ifftshift(x, axes=(1, 2))", "ifftshift(1, 2)"),
        ("x[..., ::-1]", "flip(3)"),
        ("x[::-1, :, ::-1]", "flip(0, 2)"),
        ("x[:, 1:3, ::2]", "slice([1, 0], [3, 4], [1, 2], [1, 2])"),
        ("x[..., 3:1:-1]", "slice(3, 1, 3, -1)"),
        ("x[:, -1]", "slice(2, 3, 1) | reshape(2, 4, 5)"),
        ("x[:, None]", "reshape(2, 1, 3, 4, 5)"),
        ("x[0, ..., ::-1]", "flip(3) | slice(0, 1, 0) | reshape(3, 4, 5)"),
        ("np.flip(x)", "flip(0, 1, 2, 3)"),
        ("x.flip(1, 2)", "flip(1, 2)"),
        ("np.rot90(x, 3, axes=(2, 3))", "rot90(3, [2, 3])"),
        ("x.reshape(6, -1)", "reshape(6, 20)"),
        ("np.reshape(x, (6, 20)).T", "reshape(6, 20) | transpose()"),
        ("x.unsqueeze(-1).squeeze()", "reshape(2, 3, 4, 5, 1) | reshape(2, 3, 4, 5)"),
        ("np.tile(x, (2, 1, 1, 1))", "tile(2, 1, 1, 1)"),
        ("np.repeat(x, 2, axis=1)", "repeat(2, 1)"),
        ("np.take(x, [2, 0], axis=1)", "take([2, 0], 1)"),
        ("np.pad(x, 1, mode='edge')", "pad(1, mode=\"edge\")"),
        ("rearrange(x, 'b (h p) w c -> b h (p w) c', p=3)", "b (h p) w c -> b h (p w) c, p=3"),
        ("einops.rearrange(x, \"b h w c -> b c h w\")[:, ::-1]", "b h w c -> b c h w | flip(1)"),
        (
            "np.ascontiguousarray(x[..., ::-1].transpose(0, 3, 1, 2))",
            "flip(3) | transpose(0, 3, 1, 2)",
        ),
    ] {
        let (one, other) = (explained(spelled, &shape), explained(chain, &shape));
        assert_eq!(sources(&one), sources(&other), "{spelled}");
        let last =
            |answer: &Value| answer["stages"].as_array().unwrap().last().unwrap()["shape"].clone();
        assert_eq!(last(&one), last(&other), "{spelled}");
        assert!(one["spelled"].is_string() && other["spelled"].is_null(), "{spelled}");
    }
}

#[test]
fn what_cannot_be_answered_is_refused_in_words() {
    for chain in [
        "",
        "|",
        "x",
        "x.",
        "x.sum()",
        "x[",
        "x[9",
        "x[0, 0, 0]",
        "x[..., ...]",
        "x[::0]",
        "np.roll(x, 1)",
        "np.roll(",
        "rearrange(x)",
        "rearrange(x, 'a b -> b a",
        "x.transpose(5, 6)",
        "x.reshape(7, -1)",
        "x.reshape((((((1))))))",
        "reverse(axis=1, lengths=lengths.npy)",
        "tile(99999999999, 9999999999)",
        "take(indices=[9], axis=0)",
        "\u{1F980} | flip(0)",
        "x.\u{e9}()",
        "x[99999999999999999999:]",
        "pad(value=300)",
        "flip(dim=lat)",
    ] {
        let answer = explained(chain, &[2, 3]);
        assert!(
            answer["error"].as_str().is_some_and(|error| !error.is_empty()),
            "{chain:?}: {answer:#}"
        );
    }
    for shape in [json!([u64::MAX]), json!([1u64 << 40, 1u64 << 40]), json!(vec![2; 200])] {
        let answer = asked(&json!({ "chain": "transpose()", "shape": shape, "dtype": "f64" }));
        assert!(answer["error"].is_string(), "{answer:#}");
    }
    assert!(
        asked(&json!({ "chain": "flip(0)", "shape": [2], "dtype": "f7" }))["error"].is_string()
    );
    assert!(answer_to(b"{]", 2)["error"].is_string());
    assert!(answer_to(b"{}", 100)["error"].is_string());
}

#[test]
fn a_large_tensor_is_planned_and_not_drawn() {
    let answer = explained("h w c -> c h w", &[1024, 1024, 3]);
    assert!(answer["stages"][0]["sources"].is_null());
    assert_eq!(answer["bytes"], 6 << 20);
}

#[test]
fn the_header_of_a_file_is_read_from_its_beginning() {
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4, 88), }";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16 + 1).to_le_bytes());
    npy.extend(header.bytes().chain([b'\n']));
    npy.extend([0; 100]);
    let ask = |name: &str, bytes: &[u8], of: usize| {
        let question = json!({ "file": name, "bytes": of }).to_string();
        answer_to(&[question.as_bytes(), bytes].concat(), question.len())
    };
    let answer = ask("volume.npy", &npy, npy.len() + 4124);
    assert_eq!(answer["tensors"][0]["shape"], json!([3, 4, 88]), "{answer:#}");
    assert_eq!(answer["tensors"][0]["column_major"], true);
    assert_eq!(answer["tensors"][0]["name"], "volume");
    assert!(ask("volume.npy", &npy, npy.len())["error"].as_str().unwrap().contains("truncated"));
    for (name, bytes) in [
        ("a.npy", &b"not one"[..]),
        ("a.safetensors", b"\xff\xff\xff\xff\xff\xff\xff\xff{"),
        ("a.onnx", b"\x08"),
        ("a.txt", b""),
        ("", b""),
    ] {
        assert!(ask(name, bytes, bytes.len())["error"].is_string(), "{name}");
    }
}
