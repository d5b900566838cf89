//! Compares every element of every result with simple implementations.

use crate::npy::{PLAIN, Style, Tensor};
use crate::{Workdir, is_tried, npy};

pub(crate) struct Case {
    pub(crate) args: &'static str,
    pub(crate) moved: fn(&Tensor) -> Tensor,
}

const fn case(args: &'static str, moved: fn(&Tensor) -> Tensor) -> Case {
    Case { args, moved }
}

fn transposed(tensor: &Tensor, order: &[usize]) -> Tensor {
    let shape: Vec<usize> = order.iter().map(|axis| tensor.shape[*axis]).collect();
    tensor.gather(&shape, |out| {
        let mut source = vec![0; out.len()];
        for (i, axis) in out.iter().zip(order) {
            source[*axis] = *i;
        }
        source
    })
}

pub(crate) fn inverted(tensor: &Tensor) -> Tensor {
    let order: Vec<usize> = (0..tensor.shape.len()).rev().collect();
    transposed(tensor, &order)
}

pub(crate) fn rolled(tensor: &Tensor, shifts: &[(i128, usize)]) -> Tensor {
    tensor.gather(&tensor.shape, |out| {
        let mut source = out.to_vec();
        for (shift, axis) in shifts {
            let size = tensor.shape[*axis] as i128;
            source[*axis] = (source[*axis] as i128 - shift).rem_euclid(size) as usize;
        }
        source
    })
}

pub(crate) fn flipped(tensor: &Tensor, axes: &[usize]) -> Tensor {
    tensor.gather(&tensor.shape, |out| {
        let mut source = out.to_vec();
        for axis in axes {
            source[*axis] = tensor.shape[*axis] - 1 - out[*axis];
        }
        source
    })
}

/// Reverses the first `length(index)` elements along the axis.
fn reversed(tensor: &Tensor, axis: usize, length: impl Fn(&[usize]) -> usize) -> Tensor {
    tensor.gather(&tensor.shape, |out| {
        let mut source = out.to_vec();
        let length = length(out).min(tensor.shape[axis]);
        if out[axis] < length {
            source[axis] = length - 1 - out[axis];
        }
        source
    })
}

/// Movements of a tensor with the shape [3, 5, 4].
pub(crate) const CASES: &[Case] = &[
    case("transpose", inverted),
    case("transpose --order 2,0,1", |x| transposed(x, &[2, 0, 1])),
    case("transpose --order 0,2,1", |x| transposed(x, &[0, 2, 1])),
    case("roll --shift -1,7 --axes 0,-1", |x| rolled(x, &[(-1, 0), (7, 2)])),
    case("roll --shift 2 --axes 0,1,1", |x| rolled(x, &[(2, 0), (4, 1)])),
    case("roll --shift -9223372036854775808,9223372036854775807 --axes 1,-2", |x| {
        rolled(x, &[(-1, 1)])
    }),
    case("flip --axes 0,-1", |x| flipped(x, &[0, 2])),
    case("flip --axes 1", |x| flipped(x, &[1])),
    case("reverse --axis 1 --lengths 0,1,2,3,4,5,6,18446744073709551615,2,3,4,5", |x| {
        let lengths = [0, 1, 2, 3, 4, 5, 6, usize::MAX, 2, 3, 4, 5];
        reversed(x, 1, |out| lengths[out[0] * 4 + out[2]])
    }),
    case("reverse --axis -1 --batch-axis 1 --lengths 0,1,2,3,4", |x| reversed(x, 2, |out| out[1])),
    case("apply 'flip(axes=[2]) | h w c -> c h w | roll(shift=[-1, 9], axes=[0, 2])'", |x| {
        rolled(&transposed(&flipped(x, &[2]), &[2, 0, 1]), &[(-1, 0), (9, 2)])
    }),
    case(
        "apply 'reverse(axis=2, lengths=[4, 2, 3], batch_axis=0) | transpose(2, 0, 1)\
               | reverse(axis=1, lengths=[3, 0, 2, 1], batch_axis=0) | flip(0)'",
        |x| {
            let once = reversed(x, 2, |out| [4, 2, 3][out[0]]);
            let turned = transposed(&once, &[2, 0, 1]);
            flipped(&reversed(&turned, 1, |out| [3, 0, 2, 1][out[0]]), &[0])
        },
    ),
];

/// Runs the program with --verify.
#[track_caller]
fn moved(dir: &Workdir, input: &str, args: &str, width: usize) -> Tensor {
    // The input follows the name of the command.
    let (command, rest) = args.split_once(' ').unwrap_or((args, ""));
    dir.run(&format!("{command} {input} -o moved.npy --force --verify -q {rest}")).done();
    Tensor::read(&dir.read("moved.npy"), width)
}

#[test]
fn every_operator_moves_every_element_of_every_type() {
    let types = [
        ("'|b1'", 1),
        ("'<f2'", 2),
        ("'>i4'", 4),
        ("'<f8'", 8),
        ("'>c16'", 16),
        ("'|S3'", 3),
        ("'>U2'", 8),
        ("'<M8[ns]'", 8),
        ("[('a', '>i2'), ('b', '|u1')]", 3),
        ("'|V37'", 37),
    ];
    for (number, (descr, width)) in types.into_iter().enumerate() {
        let tensor = Tensor::noise(descr, width, &[3, 5, 4]);
        let style = Style { version: [1, 2, 3][number % 3], fortran: number % 2 == 1 };
        let dir = Workdir::new();
        dir.write("x.npy", &tensor.file(style));
        let cases = CASES.iter().enumerate().filter(|(other, _)| is_tried(number / 2 + other, 2));
        for (_, case) in cases {
            let expected = (case.moved)(&tensor);
            assert_eq!(
                moved(&dir, "x.npy", case.args, width),
                expected,
                "{descr} {style:?} {:?}",
                case.args
            );
        }
    }
}

#[test]
fn arrays_of_every_shape_and_order_are_moved() {
    let shapes: &[&[usize]] = &[
        &[],
        &[1],
        &[7],
        &[0],
        &[3, 0, 4],
        &[64, 67],
        &[33, 5, 70],
        &[2, 1, 3, 1, 2, 1, 1, 2, 3, 1, 2, 2],
    ];
    for (number, shape) in shapes.iter().enumerate() {
        let tensor = Tensor::noise("'<u4'", 4, shape);
        let axes: Vec<String> = (0..shape.len()).map(|axis| axis.to_string()).collect();
        let axes = axes.join(",");
        for version in [1, 2, 3] {
            for fortran in [false, true] {
                if !is_tried(number + usize::from(version) + usize::from(fortran), 2) {
                    continue;
                }
                let style = Style { version, fortran };
                let dir = Workdir::new();
                dir.write("x.npy", &tensor.file(style));
                let all: Vec<usize> = (0..shape.len()).collect();
                let shifts: Vec<(i128, usize)> = all.iter().map(|axis| (3, *axis)).collect();
                let is = |args: &str, expected: Tensor| {
                    assert_eq!(moved(&dir, "x.npy", args, 4), expected, "{shape:?} {args:?}");
                };
                is("transpose", inverted(&tensor));
                is(&format!("flip --axes '{axes}'"), flipped(&tensor, &all));
                is(&format!("roll --shift 3 --axes '{axes}'"), rolled(&tensor, &shifts));
            }
        }
    }
}

#[test]
fn lengths_are_read_from_files_of_every_integer_type_and_order() {
    let tensor = Tensor::counting(&[2, 3, 4]);
    let lengths = [[1, 2, 3, 4], [3, 9, 0, 2]];
    let expected = reversed(&tensor, 1, |out| lengths[out[0]][out[2]]);
    let values: Vec<usize> = lengths.concat();
    let dir = Workdir::with(&[("x.npy", &tensor)]);
    let args = "reverse --axis 1 --lengths lengths.npy";
    for (descr, width) in [("|u1", 1), ("<i2", 2), (">u4", 4), ("<i8", 8), (">i8", 8), ("<u8", 8)] {
        let bytes = values.iter().flat_map(|value| {
            let mut bytes = value.to_le_bytes()[..width].to_vec();
            if descr.starts_with('>') {
                bytes.reverse();
            }
            bytes
        });
        let bytes: Vec<u8> = bytes.collect();
        for shape in [vec![8], vec![2, 1, 4]] {
            for fortran in [false, true] {
                let descr = format!("'{descr}'");
                let file = Tensor { descr, width, shape: shape.clone(), bytes: bytes.clone() };
                dir.write("lengths.npy", &file.file(Style { version: 1, fortran }));
                assert_eq!(moved(&dir, "x.npy", args, 2), expected, "{file:?} {fortran}");
            }
        }
    }

    let expected = reversed(&tensor, 2, |out| [4, 2][out[0]]);
    for text in ["4,2", "4\n2\n", " 4\t,\r\n2 "] {
        dir.write("lengths.txt", text.as_bytes());
        let args = "reverse --axis 2 --batch-axis 0 --lengths lengths.txt";
        assert_eq!(moved(&dir, "x.npy", args, 2), expected);
    }
    dir.write("lengths.npy", &Tensor::list(&[4, 2]).file(PLAIN));
    for args in [
        "reverse --axis 2 --batch-axis 0 --lengths lengths.npy",
        "apply 'reverse(axis=2, lengths=lengths.npy, batch_axis=0)'",
    ] {
        assert_eq!(moved(&dir, "x.npy", args, 2), expected);
    }
}

#[test]
fn streams_are_read_and_written() {
    let tensor = Tensor::noise("'<f4'", 4, &[30, 40, 50]);
    let dir = Workdir::new();
    let run = dir.run_on(&tensor.file(PLAIN), "transpose - -o -").done();
    assert!(Tensor::read(&run.stdout, 4) == inverted(&tensor));
    let back = dir.run_on(&run.stdout, "transpose - -o - -q").done();
    // The file, including the header, equals numpy's.
    let (back, original) = (back.stdout, tensor.file(PLAIN));
    assert!(back[back.len() - tensor.bytes.len()..] == tensor.bytes);
    assert!(Tensor::read(&back, 4) == Tensor::read(&original, 4));
    assert_eq!(dir.contents(), []);

    dir.write("x.npy", &tensor.file(PLAIN));
    let run = dir.run("flip x.npy --axes 1 -o -").done();
    assert!(Tensor::read(&run.stdout, 4) == flipped(&tensor, &[1]));
    dir.run_on(&run.stdout, "flip - --axes 1 -o y.npy --verify").done();
    assert!(Tensor::read(&dir.read("y.npy"), 4) == tensor);
}

#[test]
fn the_output_can_replace_the_input() {
    let tensor = Tensor::counting(&[4, 5]);
    for verify in ["", "--verify"] {
        let dir = Workdir::with(&[("x.npy", &tensor)]);
        dir.run(&format!("transpose x.npy -o x.npy --force {verify}")).done();
        assert_eq!(Tensor::read(&dir.read("x.npy"), 2), inverted(&tensor));
        assert_eq!(dir.contents().len(), 1);
    }
}

#[test]
fn inverting_all_axes_of_an_npy_changes_only_the_header() {
    let tensor = Tensor::noise("'<u4'", 4, &[3, 5, 4]);
    let dir = Workdir::with(&[("x.npy", &tensor)]);
    let order = |args: &str, input: &str| {
        let run = dir.run(&format!("transpose {input} -o y.npy --force --verify {args}")).done();
        assert_eq!(run.stderr.contains("--row-major moves them"), args.is_empty(), "{run:?}");
        let file = dir.read("y.npy");
        assert_eq!(Tensor::read(&file, 4), inverted(&tensor));
        let stays = file.ends_with(&tensor.bytes);
        (String::from_utf8_lossy(&file[..128]).contains("'fortran_order': True"), stays)
    };
    assert_eq!(order("", "x.npy"), (true, true));
    assert_eq!(order("--row-major", "x.npy"), (false, false));
    // One axis is both row-major and column-major.
    dir.write("list.npy", &Tensor::list(&[3, 1, 2]).file(PLAIN));
    dir.run("transpose list.npy -o y.npy --force").done();
    assert!(dir.read("y.npy") == dir.read("list.npy"));
    // A column-major file becomes row-major without moving elements.
    dir.write("x.npy", &tensor.file(Style { version: 1, fortran: true }));
    let run = dir.run("transpose x.npy -o y.npy --force").done();
    let file = dir.read("y.npy");
    assert!(String::from_utf8_lossy(&file[..128]).contains("'fortran_order': False"), "{run:?}");
    assert_eq!(Tensor::read(&file, 4), inverted(&tensor));
}

#[test]
fn the_simple_implementations_match_the_specifications() {
    // The examples of the specifications of Transpose-1, Roll-7 and ReverseSubsequences.
    let x = Tensor::counting(&[2, 3]);
    let mut indices = Vec::new();
    npy::for_each_index(&[2, 2], |index| indices.push(index.to_vec()));
    assert_eq!(indices, [[0, 0], [0, 1], [1, 0], [1, 1]]);
    let numbers =
        |tensor: &Tensor| -> Vec<u8> { tensor.bytes.iter().step_by(2).copied().collect() };
    assert_eq!(numbers(&inverted(&x)), [0, 3, 1, 4, 2, 5]);
    assert_eq!(numbers(&rolled(&x, &[(1, 1)])), [2, 0, 1, 5, 3, 4]);
    assert_eq!(numbers(&flipped(&x, &[0])), [3, 4, 5, 0, 1, 2]);
    assert_eq!(numbers(&reversed(&x, 1, |out| 2 + out[0])), [1, 0, 2, 5, 4, 3]);
}
