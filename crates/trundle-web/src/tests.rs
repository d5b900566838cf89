use serde_json::{Value, json};
use trundle::{Chain, Plan, Shape};

use super::answer_to;

mod spellings;

fn json_answer(question: &Value) -> Value {
    let text = question.to_string();
    answer_to(text.as_bytes(), text.len())
}

fn explained(chain: &str, shape: &[usize]) -> Value {
    json_answer(&json!({ "chain": chain, "shape": shape, "dtype": "u16" }))
}

/// The rows of a table: fields separated by two spaces, and comments after `#`.
fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split("  ").collect())
}

/// The sources of the elements of the result.
fn sources(answer: &Value) -> Vec<i64> {
    let stage = answer["stages"].as_array().and_then(|stages| stages.last());
    let sources = stage.and_then(|stage| stage["sources"].as_array());
    let sources = sources.unwrap_or_else(|| panic!("{answer:#}"));
    sources.iter().filter_map(Value::as_i64).collect()
}

#[test]
fn sources_agree_with_the_index_map() {
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
    let answer = json_answer(&question);
    assert_eq!(sources(&answer), [4, 3, 2, 1, 0]);
    assert_eq!(answer["inputs"][1]["name"], "more");
    assert_eq!(answer["inputs"][1]["base"], 2);
    let refused = json_answer(
        &json!({ "chain": "stack(_, b)", "shape": [2], "dtype": "f32", "others": {"b": [3]} }),
    );
    assert_eq!(refused["inputs"], json!(["x", "b"]));
}

#[test]
fn names_follow_their_axes() {
    let question = json!({
        "chain": "roll(half, dim=lon) | lat lon -> lon lat", "shape": [2, 4], "names": ["lat", "lon"], "dtype": "f32",
    });
    let answer = json_answer(&question);
    assert_eq!(answer["stages"][1]["names"], json!(["lon", "lat"]));
    let text = answer["snippets"]["Python"].as_str().unwrap();
    assert!(text.contains("fftshift(1) | transpose(1, 0)"), "{text}");
}

#[test]
fn errors_point_to_their_place_in_the_text() {
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
    for row in rows(include_str!("tests/expressions.txt")) {
        let (spelled, chain) = (row[0], row[1]);
        let (one, other) = (explained(spelled, &shape), explained(chain, &shape));
        assert_eq!(sources(&one), sources(&other), "{spelled}");
        let last =
            |answer: &Value| answer["stages"].as_array().unwrap().last().unwrap()["shape"].clone();
        assert_eq!(last(&one), last(&other), "{spelled}");
        assert!(one["spelled"].is_string() && other["spelled"].is_null(), "{spelled}");
    }
}

#[test]
fn invalid_questions_get_an_error_message() {
    let chains = rows(include_str!("tests/unanswered.txt")).map(|row| row[0]);
    for chain in chains.chain([""]) {
        let answer = explained(chain, &[2, 3]);
        assert!(
            answer["error"].as_str().is_some_and(|error| !error.is_empty()),
            "{chain:?}: {answer:#}"
        );
    }
    for shape in [json!([u64::MAX]), json!([1u64 << 40, 1u64 << 40]), json!(vec![2; 200])] {
        let answer =
            json_answer(&json!({ "chain": "transpose()", "shape": shape, "dtype": "f64" }));
        assert!(answer["error"].is_string(), "{answer:#}");
    }
    assert!(
        json_answer(&json!({ "chain": "flip(0)", "shape": [2], "dtype": "f7" }))["error"]
            .is_string()
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
