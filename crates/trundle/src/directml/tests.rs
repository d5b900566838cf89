use std::ops::RangeInclusive;

use trundle_core::{BitOrder, DType};

use super::{BufferTensorDesc, Error, FeatureLevel, ReverseSubsequencesOperatorDesc};

fn tensor(data_type: DType, sizes: &[u32]) -> BufferTensorDesc<'_> {
    packed(data_type, None, sizes)
}

fn packed(data_type: DType, bit_order: Option<BitOrder>, sizes: &[u32]) -> BufferTensorDesc<'_> {
    let any = BufferTensorDesc {
        data_type,
        bit_order,
        sizes,
        strides: None,
        total_tensor_size_in_bytes: 0,
    };
    BufferTensorDesc { total_tensor_size_in_bytes: any.minimum_buffer_bytes().unwrap(), ..any }
}

fn operator<'a>(
    data: BufferTensorDesc<'a>,
    lengths: BufferTensorDesc<'a>,
    axis: u32,
) -> ReverseSubsequencesOperatorDesc<'a> {
    ReverseSubsequencesOperatorDesc {
        input_tensor: data,
        sequence_lengths_tensor: lengths,
        output_tensor: data,
        axis,
    }
}

fn message(checked: Result<(), Error>) -> String {
    checked.unwrap_err().to_string()
}

/// The tables of the documentation: level, ranks, data types, length types.
const TABLES: [(FeatureLevel, RangeInclusive<usize>, &str, &str); 4] = [
    (FeatureLevel::Level2_1, 4..=4, "f32 f16 i32 i16 i8 u32 u16 u8", "u32"),
    (FeatureLevel::Level3_0, 4..=5, "f32 f16 i32 i16 i8 u32 u16 u8", "u32"),
    (FeatureLevel::Level4_0, 1..=8, "f32 f16 i32 i16 i8 u32 u16 u8", "u32"),
    (FeatureLevel::Level5_0, 1..=8, "f64 f32 f16 i64 i32 i16 i8 u64 u32 u16 u8", "u64 u32"),
];

fn holds(names: &str, dtype: DType) -> bool {
    names.split(' ').any(|name| name == dtype.to_string())
}

/// Checks that an operator is valid without a level, and that the level accepts it or refuses it with the message
/// `fault`.
#[track_caller]
fn check_level(
    level: FeatureLevel,
    each: ReverseSubsequencesOperatorDesc<'_>,
    fault: Option<&str>,
) {
    assert_eq!(each.check(None), Ok(()));
    let found = each.check(Some(level)).err().map(|error| error.to_string());
    assert_eq!(found.as_deref(), fault);
}

#[test]
fn a_level_has_the_ranks_and_types_of_its_table() {
    let rows = |dtype, of_lengths| {
        operator(tensor(dtype, &[1, 2, 3, 4]), tensor(of_lengths, &[1, 2, 1, 4]), 2)
    };
    for (level, ranks, names, of_lengths) in TABLES {
        for rank in 1..=12 {
            let sizes = vec![1; rank];
            let ones = operator(tensor(DType::F32, &sizes), tensor(DType::U32, &sizes), 0);
            let (least, most) = (ranks.start(), ranks.end());
            let fault = format!("InputTensor has rank {rank}: {level} supports {least}..={most}");
            check_level(level, ones, (!ranks.contains(&rank)).then_some(&*fault));
        }
        for dtype in DType::NAMED.iter().copied().chain([DType::Bytes(12)]) {
            let fault = format!("InputTensor has element type {dtype}: {level} supports {names}");
            check_level(level, rows(dtype, DType::U32), (!holds(names, dtype)).then_some(&*fault));
        }
        for dtype in [DType::U32, DType::U64] {
            let tensor = "SequenceLengthsTensor";
            let fault = format!("{tensor} has element type {dtype}: {level} supports {of_lengths}");
            let is_there = holds(of_lengths, dtype);
            check_level(level, rows(DType::I8, dtype), (!is_there).then_some(&*fault));
        }
    }
}

#[test]
fn other_types_of_lengths_are_refused_without_a_level() {
    for dtype in DType::NAMED.iter().filter(|dtype| !matches!(dtype, DType::U32 | DType::U64)) {
        let each = operator(tensor(DType::F32, &[2, 3]), tensor(*dtype, &[2, 1]), 1);
        assert_eq!(
            message(each.check(None)),
            format!("SequenceLengthsTensor must have element type u32 or u64, got {dtype}")
        );
    }
}

#[test]
fn level_numbers_are_rounded_down_to_a_known_level() {
    for (number, level) in [
        (0x2100, FeatureLevel::Level2_1),
        (0x3000, FeatureLevel::Level3_0),
        (0x3100, FeatureLevel::Level3_0),
        (0x4000, FeatureLevel::Level4_0),
        (0x4100, FeatureLevel::Level4_0),
        (0x5000, FeatureLevel::Level5_0),
        (0x6400, FeatureLevel::Level5_0),
    ] {
        assert_eq!(FeatureLevel::from_number(number), Some(level));
    }
    for number in [0, 0x1000, 0x2000, 0x20ff] {
        assert_eq!(FeatureLevel::from_number(number), None);
    }
    for level in FeatureLevel::ALL {
        assert_eq!(FeatureLevel::from_number(level.number()), Some(level));
    }
    assert_eq!(FeatureLevel::Level2_1.to_string(), "DML_FEATURE_LEVEL_2_1");
}

#[test]
fn sizes_of_zero_are_refused_by_levels_only() {
    let empty = operator(tensor(DType::U8, &[1, 2, 0, 4]), tensor(DType::U32, &[1, 2, 1, 4]), 2);
    assert_eq!(empty.check(None), Ok(()));
    assert_eq!(empty.run(&[], &[0; 32], &mut []), Ok(()));
    for level in FeatureLevel::ALL {
        assert_eq!(
            message(empty.check(Some(level))),
            "InputTensor has size 0 on axis 2: DirectML needs sizes of 1 or more"
        );
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_level_has_up_to_32_bits_of_elements() {
    // Nothing is allocated: the tensors are only described.
    let most: [u32; 4] = [1, 1, 65537, 65535];
    let fits = operator(tensor(DType::U8, &most), tensor(DType::U32, &[1, 1, 65537, 1]), 3);
    assert_eq!(fits.check(Some(FeatureLevel::Level2_1)), Ok(()));
    let over = [1, 1, 65536, 65536];
    let large = operator(tensor(DType::U8, &over), tensor(DType::U32, &[1, 1, 65536, 1]), 3);
    assert_eq!(large.check(None), Ok(()));
    assert_eq!(
        message(large.check(Some(FeatureLevel::Level5_0))),
        "InputTensor has 4294967296 elements: DirectML allows at most 4294967295"
    );
}

#[test]
fn the_total_size_covers_the_tensor_and_for_levels_whole_words() {
    let exactly = |bytes| BufferTensorDesc {
        total_tensor_size_in_bytes: bytes,
        ..tensor(DType::U8, &[1, 1, 1, 5])
    };
    let lengths = tensor(DType::U32, &[1, 1, 1, 1]);
    let level = Some(FeatureLevel::Level2_1);
    assert_eq!(operator(exactly(8), lengths, 3).check(level), Ok(()));
    assert_eq!(operator(exactly(5), lengths, 3).check(None), Ok(()));
    assert_eq!(
        message(operator(exactly(7), lengths, 3).check(level)),
        "InputTensor needs 8 bytes, but its total size is 7"
    );
    assert_eq!(
        message(operator(exactly(4), lengths, 3).check(None)),
        "InputTensor needs 5 bytes, but its total size is 4"
    );
}

#[test]
fn the_minimum_buffer_size_follows_directml_without_wrapping() {
    let least = |data_type, sizes: &[u32], strides: Option<&[u32]>| {
        let total_tensor_size_in_bytes = 0;
        let bit_order = None;
        BufferTensorDesc { data_type, bit_order, sizes, strides, total_tensor_size_in_bytes }
            .minimum_buffer_bytes()
            .map_err(|error| error.to_string())
    };
    assert_eq!(least(DType::U8, &[1, 2, 3, 4], None), Ok(24));
    assert_eq!(least(DType::U8, &[5], None), Ok(8));
    assert_eq!(least(DType::F16, &[3], Some(&[1])), Ok(8));
    assert_eq!(least(DType::F32, &[2, 3], Some(&[8, 1])), Ok(44));
    assert_eq!(least(DType::F64, &[2, 3], Some(&[0, 0])), Ok(8));
    assert_eq!(least(DType::F64, &[2, 0], Some(&[7, 7])), Ok(0));
    assert_eq!(least(DType::F32, &[], None), Ok(4));
    // Packed elements fill whole bytes; split packings fill whole groups of three bytes.
    assert_eq!(least(DType::U4, &[3, 3], None), Ok(8));
    assert_eq!(least(DType::I4, &[2, 3], Some(&[4, 1])), Ok(4));
    assert_eq!(least(DType::U1, &[33], None), Ok(8));
    assert_eq!(least(DType::U6, &[5], None), Ok(8));
    assert_eq!(least(DType::U4, &[u32::MAX, u32::MAX], None), Ok(9_223_372_032_559_808_516));
    // The index of the last element exceeds 32 bits: DirectML's own helper returns 12.
    assert_eq!(least(DType::F32, &[2, 3], Some(&[u32::MAX, 2])), Ok(17_179_869_200));
    assert_eq!(least(DType::U8, &[65536, 65536], None), Ok(1 << 32));
    assert_eq!(least(DType::U8, &[u32::MAX, u32::MAX], None), Ok(18_446_744_065_119_617_028));
    assert_eq!(
        least(DType::U32, &[u32::MAX, u32::MAX], None).unwrap_err(),
        "u32 of sizes [4294967295, 4294967295] is too large to be addressed"
    );
    assert!(least(DType::U8, &[u32::MAX; 9], None).is_err());
    assert!(least(DType::U8, &[u32::MAX; 9], Some(&[u32::MAX; 9])).is_err());
    assert!(least(DType::Bytes(usize::MAX), &[u32::MAX; 2], Some(&[u32::MAX; 2])).is_err());
    assert_eq!(
        least(DType::U8, &[2, 3], Some(&[1])).unwrap_err(),
        "strides and the tensor must have the same length, got 1 and 2"
    );
}

#[test]
fn conditions_of_the_operator_are_checked_without_a_level() {
    let data = tensor(DType::F32, &[2, 3]);
    let fits = operator(data, tensor(DType::U64, &[2, 1]), 1);
    assert_eq!(fits.check(None), Ok(()));
    for (wrong, expected) in [
        (
            ReverseSubsequencesOperatorDesc { axis: 2, ..fits },
            "Axis 2 is out of range for rank 2: expected 0..=1",
        ),
        (
            ReverseSubsequencesOperatorDesc { axis: 0, ..fits },
            "SequenceLengthsTensor must have shape [1, 3], got [2, 1]",
        ),
        (
            operator(data, tensor(DType::U32, &[2]), 1),
            "SequenceLengthsTensor must have shape [2, 1], got [2]",
        ),
        (
            ReverseSubsequencesOperatorDesc { output_tensor: tensor(DType::I32, &[2, 3]), ..fits },
            "OutputTensor must have element type f32, got i32",
        ),
        (
            ReverseSubsequencesOperatorDesc { output_tensor: tensor(DType::F32, &[3, 2]), ..fits },
            "OutputTensor must have shape [2, 3], got [3, 2]",
        ),
        (
            operator(BufferTensorDesc { strides: Some(&[1]), ..data }, fits.output_tensor, 1),
            "strides and InputTensor must have the same length, got 1 and 2",
        ),
        (
            ReverseSubsequencesOperatorDesc {
                output_tensor: BufferTensorDesc { strides: Some(&[0, 1]), ..data },
                ..fits
            },
            "output of shape [2, 3] with strides [0, 4] in bytes would write some byte twice: its \
             elements of 4 bytes overlap",
        ),
        (
            operator(
                BufferTensorDesc { sizes: &[u32::MAX; 3], ..data },
                tensor(DType::U32, &[1]),
                0,
            ),
            "shape [4294967295, 4294967295, 4294967295] is too large to be addressed",
        ),
    ] {
        assert_eq!(message(wrong.check(None)), expected);
        assert_eq!(message(wrong.run(&[0; 24], &[0; 16], &mut [0; 24])), expected);
    }
    let scalar = tensor(DType::F32, &[]);
    let refused = operator(scalar, tensor(DType::U32, &[]), 0).check(None);
    assert_eq!(message(refused), "Axis 0 is out of range: the tensor has rank 0 and no axes");
}

#[test]
fn strides_are_in_elements_and_broadcast_where_they_are_zero() {
    let sizes = [2, 3];
    // One row of every second element, read twice; one length for both.
    let input = BufferTensorDesc { strides: Some(&[0, 2]), ..tensor(DType::U16, &sizes) };
    let lengths = BufferTensorDesc { strides: Some(&[0, 7]), ..tensor(DType::U64, &[2, 1]) };
    // Column-major, with a gap.
    let output = BufferTensorDesc {
        strides: Some(&[1, 3]),
        total_tensor_size_in_bytes: 16,
        ..tensor(DType::U16, &sizes)
    };
    let operator =
        ReverseSubsequencesOperatorDesc { output_tensor: output, ..operator(input, lengths, 1) };
    // 2^32 + 1 is clamped to 3, not truncated to 1.
    let lengths = ((1u64 << 32) + 1).to_ne_bytes();
    let bytes = |values: &[u16]| values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let input: Vec<u8> = bytes(&[1, 9, 2, 9, 3]);
    let mut output: Vec<u8> = bytes(&[7; 8]);
    operator.run(&input, &lengths, &mut output).unwrap();
    assert_eq!(output, bytes(&[3, 3, 7, 2, 2, 7, 1, 1]));
}

#[test]
fn packed_elements_are_moved_too() {
    let data = tensor(DType::I4, &[3, 3]);
    let each = operator(data, tensor(DType::U32, &[3, 1]), 1);
    assert_eq!(each.check(None), Ok(()));
    let lengths = [2u32, 3, 1].map(u32::to_ne_bytes);
    let mut output = [0; 5];
    each.run(&[0x21, 0x43, 0x65, 0x87, 0x09], lengths.as_flattened(), &mut output).unwrap();
    assert_eq!(output, [0x12, 0x63, 0x45, 0x87, 0x09]);
}

#[test]
fn packed_elements_of_other_bit_orders_are_moved() {
    let (sizes, rows) = ([3, 3], [3, 1]);
    let lengths = [2u32, 3, 1].map(u32::to_ne_bytes);
    let moved = |data_type, order, input: &[u8], output: &mut [u8]| {
        let each = operator(packed(data_type, order, &sizes), tensor(DType::U32, &rows), 1);
        each.run(input, lengths.as_flattened(), output)
    };
    // 1 2 3, 4 5 6, 7 8 9 become 2 1 3, 6 5 4, 7 8 9.
    let mut output = [0; 5];
    let high = Some(BitOrder::HighFirst);
    moved(DType::I4, high, &[0x12, 0x34, 0x56, 0x78, 0x9f], &mut output).unwrap();
    assert_eq!(output, [0x21, 0x36, 0x54, 0x78, 0x90]);
    // The default order may be given explicitly. The last half byte is unchanged.
    let low = Some(BitOrder::LowFirst);
    moved(DType::I4, low, &[0x21, 0x43, 0x65, 0x87, 0x09], &mut output).unwrap();
    assert_eq!(output, [0x12, 0x63, 0x45, 0x87, 0x99]);
    // Nine elements of 3 bits fill 4 bytes as a stream, and 6 bytes split.
    // 0 1 2, 3 4 5, 6 7 5 become 1 0 2, 5 4 3, 6 7 5.
    let mut output = [0; 4];
    moved(DType::U3, low, &[0x88, 0xc6, 0xfa, 0x05], &mut output).unwrap();
    assert_eq!(output, [0x81, 0xca, 0xf9, 0x05]);
    let refused = moved(DType::U3, None, &[0; 4], &mut output);
    let words = "InputTensor reaches elements 0..9 of 3 bits, but its buffer has 4 bytes";
    assert_eq!(message(refused), words);
}

#[test]
fn bit_orders_that_do_not_fit_are_refused() {
    let (sizes, rows) = ([2, 3], tensor(DType::U32, &[2, 1]));
    let (high, low) = (Some(BitOrder::HighFirst), Some(BitOrder::LowFirst));
    let data = packed(DType::U4, high, &sizes);
    let wrong = |bit_order, data_type| BufferTensorDesc { data_type, bit_order, ..data };
    for (wrong, expected) in [
        (
            ReverseSubsequencesOperatorDesc {
                output_tensor: tensor(DType::U4, &sizes),
                ..operator(data, rows, 1)
            },
            "OutputTensor must hold elements of type u4 that are packed high first, got low first",
        ),
        (
            operator(wrong(high, DType::U3), rows, 1),
            "elements of type u3 are not packed high first",
        ),
        (operator(wrong(low, DType::U8), rows, 1), "elements of type u8 are not packed low first"),
        (
            operator(data, BufferTensorDesc { bit_order: low, ..rows }, 1),
            "elements of type u32 are not packed low first",
        ),
    ] {
        assert_eq!(message(wrong.check(None)), expected);
        assert_eq!(message(wrong.run(&[0; 6], &[0; 8], &mut [0; 6])), expected);
    }
    assert!(wrong(low, DType::U8).minimum_buffer_bytes().is_err());
    assert_eq!(operator(data, rows, 1).check(None), Ok(()));
    assert_eq!(packed(DType::U3, low, &[1, 9]).minimum_buffer_bytes(), Ok(4));
    assert_eq!(packed(DType::U3, None, &[1, 9]).minimum_buffer_bytes(), Ok(8));
}

#[test]
fn slices_shorter_than_their_tensors_are_refused() {
    let fits = operator(tensor(DType::U16, &[2, 3]), tensor(DType::U32, &[2, 1]), 1);
    let run =
        |input, lengths, output| fits.run(&vec![0; input], &vec![0; lengths], &mut vec![0; output]);
    assert_eq!(run(12, 8, 12), Ok(()));
    for (refused, argument, end, bytes) in [
        (run(11, 8, 12), "InputTensor", 12, 11),
        (run(12, 7, 12), "SequenceLengthsTensor", 8, 7),
        (run(12, 8, 0), "OutputTensor", 12, 0),
    ] {
        assert_eq!(
            message(refused),
            format!("{argument} reaches bytes 0..{end}, but its buffer has {bytes} bytes")
        );
    }
}
