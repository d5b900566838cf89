//! Hostile names in files, whose control and invisible characters are never printed.

use std::ffi::OsString;

use crate::npy::{self, PLAIN, Tensor};
use crate::safetensors::{Named, file};
use crate::{Arguments, Run, Workdir, npz};

/// Sets a terminal's title and colours, breaks lines, reverses text, and has invisible characters.
const HOSTILE: &str = "w\x1b]0;owned\x07\nerror: forged\r\t\x7f\u{9b}31m\u{85}\u{2028}\u{2029}\u{202a}\u{202e}\
                       \u{2066}\u{2069}\u{200b}\u{200e}\u{200f}\u{61c}\u{feff}z";

const PATH: &str = "p\x1b[31m\nerror: forged\u{202e}\u{200b}";

fn path(ending: &str) -> String {
    format!("{PATH}{ending}")
}

fn is_control_or_invisible(character: char) -> bool {
    let code = u32::from(character);
    code < 0x20 && character != '\n'
        || (0x7f..0xa0).contains(&code)
        || code == 0x61c
        || (0x200b..=0x200f).contains(&code)
        || (0x2028..=0x202e).contains(&code)
        || (0x2066..=0x2069).contains(&code)
        || code == 0xfeff
}

/// Returns what is wrong, if anything. If `must_name`, the output must contain the hostile name.
fn fault(run: &Run, must_name: bool) -> Option<String> {
    let output = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
    let fault = if output.contains(is_control_or_invisible) {
        "steers the terminal"
    } else if output.lines().any(|line| line.starts_with("error: forged")) {
        "has a line of the file's own"
    } else if output.contains("panicked") || !matches!(run.code, Some(0..=3)) {
        "has crashed"
    } else if must_name && !output.contains("forged") {
        "names nothing"
    } else {
        return None;
    };
    Some(format!("{fault}: code {:?}, {output:?}", run.code))
}

/// A member with a pickle.
fn objects() -> Vec<u8> {
    npy::header(1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }")
}

fn dir() -> Workdir {
    let dir = Workdir::new();
    let (w, v) = (Tensor::noise("", 4, &[2, 3]), Tensor::noise("", 4, &[3]));
    let record = serde_json::json!({ HOSTILE: format!("o {HOSTILE}") }).to_string();
    let tensors = [Named::new(HOSTILE, "F32", &w), Named::new("v", "F32", &v)];
    dir.write(&path(".safetensors"), &file(&[(HOSTILE, "1"), ("trundle.axes", &record)], &tensors));
    dir.write("plain.safetensors", &file(&[(HOSTILE, HOSTILE)], &tensors));
    let many: Vec<String> = (0..50).map(|number| format!("{HOSTILE}{number}")).collect();
    let many: Vec<Named<'_>> = many.iter().map(|name| Named::new(name, "F32", &v)).collect();
    dir.write("many.safetensors", &file(&[], &many));
    dir.write(&path(".npy"), &Tensor::counting(&[2, 3]).file(PLAIN));
    dir.write(&path(""), b"some text");
    let member = format!("{HOSTILE}.npy");
    let content = Tensor::counting(&[2, 3]).file(PLAIN);
    dir.write("m.npz", &npz::archive(&[(&member, content.clone()), ("n.npy", content.clone())]));
    let both = [(&member[..], objects()), ("n.npy", content.clone())];
    dir.write("objects.npz", &npz::archive(&both));
    dir.write(
        "twice.npz",
        &npz::archive(&[(&member, content.clone()), (&member, content.clone())]),
    );
    let notes = [(HOSTILE, content.clone()), ("n.npy", content)];
    dir.write("notes.npz", &npz::archive(&notes));
    dir.write("rules.txt", format!("{}: a b -> b a\n", HOSTILE.replace('\n', "")).as_bytes());
    let model_xml = format!(
        "<net name=\"{name}\" version=\"11\"><layers><layer id=\"0\" name=\"{name}\" \
         type=\"{name}\" version=\"opset1\"/></layers><edges/></net>",
        name = "n&#10;error: forged\u{202e}\u{200b}"
    );
    dir.write("model.xml", model_xml.as_bytes());
    dir.write("model.onnx", &onnx("Identity"));
    dir.write("unknown.onnx", &onnx(HOSTILE));
    let bad = |name: &str, header: String| {
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
        dir.write(name, &bytes);
    };
    let quoted = serde_json::json!(HOSTILE).to_string();
    bad("key.safetensors", format!("{{\"a\":{{{quoted}:1}}}}"));
    bad(
        "type.safetensors",
        format!("{{\"a\":{{\"dtype\":{quoted},\"shape\":[],\"data_offsets\":[0,1]}}}}"),
    );
    bad(
        "hole.safetensors",
        format!("{{{quoted}:{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}}}"),
    );
    bad("json.safetensors", format!("{{{quoted}{quoted}"));
    let descr = format!("{{'descr': '{HOSTILE}', 'fortran_order': False, 'shape': (1,), }}");
    dir.write("descr.npy", &npy::header(3, &descr));
    let key = format!("{{'{HOSTILE}': 1, }}");
    dir.write("key.npy", &npy::header(3, &key));
    dir
}

/// A protobuf field with a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 128 {
        bytes.push(length as u8 | 128);
        length >>= 7;
    }
    bytes.push(length as u8);
    [bytes, content.to_vec()].concat()
}

/// Returns an ONNX model of one operator.
fn onnx(operator: &str) -> Vec<u8> {
    let name = HOSTILE.as_bytes();
    let (x, y) = ([name, b"x"].concat(), [name, b"y"].concat());
    // f32 [2, NAME]
    let shape = [field(1, &[8, 2]), field(1, &field(2, name))].concat();
    let tensor = [vec![8, 1], field(2, &shape)].concat();
    let value = |name: &[u8]| [field(1, name), field(2, &field(1, &tensor))].concat();
    let node = [field(1, &x), field(2, &y), field(3, name), field(4, operator.as_bytes())].concat();
    let graph = [field(1, &node), field(2, name), field(11, &value(&x)), field(12, &value(&y))];
    [vec![8, 8], field(7, &graph.concat()), field(8, &[16, 17])].concat()
}

#[test]
fn hostile_names_are_printed_without_control_characters() {
    let dir = dir();
    let paths = [
        ("{s}", path(".safetensors")),
        ("{npy}", path(".npy")),
        ("{bare}", path("")),
        ("{nowhere}", path(".nowhere")),
        ("{out}", path("-out.safetensors")),
        ("{npy_out}", path("-out.npy")),
        ("{png}", path("-out.png")),
        ("{x}", format!("{HOSTILE}x={}", path(".npy"))),
        ("{hostile}", HOSTILE.to_owned()),
    ];
    let in_full = |word: OsString| {
        let word = word.into_string().unwrap();
        paths.iter().fold(word, |word, (name, text)| word.replace(name, text))
    };
    let lines = include_str!("hostile.txt").lines().filter(|line| !line.starts_with('#'));
    let commands = lines.map(|line| match line.strip_prefix("? ") {
        Some(args) => (args, false),
        None => (line, true),
    });
    let faults: Vec<String> = commands
        .filter_map(|(args, must_name)| {
            let words: Vec<String> = args.list().into_iter().map(in_full).collect();
            Some(format!("{args}: {}", fault(&dir.run(&words), must_name)?))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// File names need not be valid UTF-8.
#[cfg(unix)]
#[test]
fn invalid_utf8_paths_are_printed_without_control_characters() {
    use std::os::unix::ffi::OsStringExt;

    let dir = Workdir::new();
    let name = OsString::from_vec(b"\xff\x1b[31m\nerror: forged.npy".to_vec());
    let args = [OsString::from("info"), name];
    assert_eq!(fault(&dir.run(&args), true), None);
}
