//! Gathers and scatters, compared with their specification.

use trundle_core::DType;

use super::sketch::{Sketch, Tagged, constant, expect, from_input, given, i64s, refuse, strings};
use crate::{Constant, Data, IndexRule, IntegerTypes, Operator};

fn gather(axis: i64, batch_axes: i64, rule: IndexRule) -> Operator {
    Operator::Gather { axis: given(&[axis]), batch_axes, rule }
}

fn plain(axis: i64) -> Operator {
    gather(axis, 0, IndexRule::CountsBack)
}

fn gather_nd(batch_axes: usize) -> Operator {
    Operator::GatherNd { batch_axes, merges_batch: false }
}

fn scatter_elements(axis: i64) -> Operator {
    Operator::ScatterElements { axis: given(&[axis]), counts_back: true }
}

fn scatter_update(axis: i64) -> Operator {
    Operator::ScatterUpdate { axis: given(&[axis]) }
}

fn slice_scatter(starts: &[i64], stops: &[i64], axes: &[i64], steps: &[i64]) -> Operator {
    Operator::SliceScatter {
        starts: given(starts),
        stops: given(stops),
        axes: Some(given(axes)),
        steps: Some(given(steps)),
    }
}

fn run(operator: Operator, data: &[Constant]) -> Tagged {
    let words = format!("{operator:?}");
    let mut sketch = Sketch::new(data);
    let inputs: Vec<usize> = (0..data.len()).collect();
    sketch.node(operator, &inputs, 1);
    sketch.run().unwrap_or_else(|error| panic!("{words}: {error}")).remove(0)
}

/// Expects the data (100, 101, ...) with updates (900, 901, ...) at the positions that `to` returns. Of several for a
/// position, the last one counts.
#[track_caller]
fn expect_put(
    operator: Operator,
    sizes: &[usize],
    indices: &[Constant],
    updates: (&[usize], usize),
    to: impl Fn(&[usize]) -> Vec<usize>,
) {
    let (data, new) = (Tagged::counting(sizes, 100), Tagged::counting(updates.0, 900));
    let words = format!("{operator:?} of {sizes:?} with {indices:?}");
    let mut inputs = vec![data.constant()];
    inputs.extend_from_slice(indices);
    inputs.insert(updates.1, new.constant());
    let expected = data.put(&new, to);
    assert_eq!(run(operator, &inputs), expected, "{words}");
}

#[test]
fn the_axes_of_the_indices_replace_the_gathered_axis() {
    let taken = [4usize, 0, 4, 2];
    for axis in [1, -2] {
        expect(plain(axis), &[2, 5, 3], &[i64s(&[2, 2], &[-1, 0, 4, 2])], &[2, 2, 2, 3], |i| {
            vec![i[0], taken[2 * i[1] + i[2]], i[3]]
        });
    }
    expect(plain(0), &[3], &[i64s(&[], &[-1])], &[], |_| vec![2]);
    expect(plain(0), &[3, 2], &[i64s(&[], &[1])], &[2], |i| vec![1, i[0]]);
    expect(plain(1), &[3, 2], &[i64s(&[0, 4], &[])], &[3, 0, 4], <[usize]>::to_vec);
    expect(plain(0), &[0, 2], &[i64s(&[0], &[])], &[0, 2], <[usize]>::to_vec);
    expect(plain(1), &[0, 2], &[i64s(&[3], &[1, 1, 0])], &[0, 3], <[usize]>::to_vec);
}

#[test]
fn each_batch_has_its_own_indices() {
    let indices = i64s(&[2, 3], &[0, 1, 2, 3, 3, 0]);
    let taken = [0, 1, 2, 3, 3, 0];
    for (axis, batch) in [(2, 1), (-1, 1), (2, -1)] {
        let gather = gather(axis, batch, IndexRule::ZeroOutside);
        expect(gather, &[2, 5, 4], std::slice::from_ref(&indices), &[2, 5, 3], |i| {
            vec![i[0], i[1], taken[3 * i[0] + i[2]]]
        });
    }
    // All axes of the indices are batch axes, so one element of each row is selected.
    let each = gather(1, 1, IndexRule::Within);
    expect(each, &[3, 4], &[i64s(&[3], &[0, 1, 3])], &[3], |i| vec![i[0], [0, 1, 3][i[0]]]);
    let of = |axis, batch| gather(axis, batch, IndexRule::ZeroOutside);
    refuse(of(2, 1), &[3, 5, 4], std::slice::from_ref(&indices), "got 3 and 2");
    refuse(of(0, 1), &[2, 5], std::slice::from_ref(&indices), "batch axes 1 is out of range");
    let says = "batch_dims -3 is out of range for indices of rank 2";
    refuse(of(1, -3), &[2, 5], std::slice::from_ref(&indices), says);
    refuse(of(1, i64::MIN), &[2, 5], &[indices], "is out of range for indices of rank 2");
}

#[test]
fn indices_out_of_range_are_refused_or_zero_by_version() {
    let outside = [i64s(&[3], &[3, 10, -20])];
    let says = "index 10 at [1] is out of range for an axis of size 5: expected -5..=4";
    refuse(plain(0), &[5], &outside, says);
    let within = gather(0, 0, IndexRule::Within);
    refuse(within.clone(), &[5], &[i64s(&[1, 2], &[1, -2])], "index -2 at [0, 1] is negative");
    refuse(within, &[5], &[i64s(&[1], &[5])], "index 5 at [0] is out of range for an axis of size");
    // The specification's example, then slices, batches and empty data.
    let data = |sizes: &[usize]| Tagged::counting(sizes, 100).constant();
    let zeros = |axis, batch| gather(axis, batch, IndexRule::ZeroOutside);
    let found = run(zeros(0, 0), &[data(&[5]), outside[0].clone()]);
    assert_eq!(found, Tagged { sizes: vec![3], tags: vec![103, 0, 0] });
    let indices = i64s(&[2, 2], &[-1, 2, i64::MIN, 0]);
    let found = run(zeros(1, 1), &[data(&[2, 2]), indices]);
    assert_eq!(found, Tagged { sizes: vec![2, 2], tags: vec![101, 0, 0, 102] });
    let found = run(zeros(-2, 0), &[data(&[2, 2]), i64s(&[2], &[2, 0])]);
    assert_eq!(found, Tagged { sizes: vec![2, 2], tags: vec![0, 0, 100, 101] });
    let found = run(zeros(0, 0), &[data(&[0, 2]), i64s(&[1], &[0])]);
    assert_eq!(found, Tagged { sizes: vec![1, 2], tags: vec![0, 0] });
    let mut of_strings = Sketch::new(&[strings(&[1], &["a"]), i64s(&[1], &[1])]);
    of_strings.node(zeros(0, 0), &[0, 1], 1);
    let refused = of_strings.resolve().unwrap_err().to_string();
    assert!(refused.ends_with("outside an axis of size 1, and strings have no zero"), "{refused}");
}

#[test]
fn indices_may_be_of_any_integer_type_and_come_from_a_chain() {
    let own = |dtype, bytes: &[u8]| constant(dtype, &[2], bytes.to_vec());
    for indices in [
        own(DType::I32, &[0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0]),
        own(DType::I8, &[0xff, 1]),
        own(DType::U8, &[2, 1]),
        own(DType::U64, &[2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
        own(DType::I4, &[0x1f]),
    ] {
        expect(plain(0), &[3], &[indices], &[2], |i| vec![[2, 1][i[0]]]);
    }
    let says = "indices may not be of type f32, only an integer type";
    refuse(plain(0), &[3], &[constant(DType::F32, &[1], vec![0; 4])], says);
    let wide = own(DType::U64, &[0xff; 16]);
    refuse(plain(0), &[3], &[wide], "index 18446744073709551615 at [0] is over i64");
    refuse(plain(0), &[3], &[], "input 1 is missing");
    // A reversed list is appended to itself.
    let mut sketch = Sketch::new(&[
        Tagged::counting(&[4], 100).constant(),
        i64s(&[2], &[1, 3]),
        Tagged::counting(&[4], 900).constant(),
    ]);
    let turned = sketch.node(Operator::Flip { axes: given(&[0]) }, &[1], 1)[0];
    let chain = sketch.node(Operator::Concat { axis: 0 }, &[turned, 1], 1)[0];
    sketch.model.outputs.clear();
    sketch.node(plain(0), &[0, chain], 1);
    sketch.node(scatter_elements(0), &[0, chain, 2], 1);
    let found = sketch.run().unwrap();
    assert_eq!(found[0].tags, [103, 101, 101, 103]);
    assert_eq!(found[1].tags, [100, 902, 102, 903]);
    sketch.data[1].data = Data::Bytes(vec![0; 16].into());
    assert_eq!(sketch.run().unwrap()[0].tags, [100; 4]);
}

#[test]
fn gather_elements_takes_one_element_for_each_position() {
    let along = |axis| Operator::GatherElements { axis };
    let indices = i64s(&[2, 3], &[2, -3, 1, 0, 0, 2]);
    let taken = [2, 0, 1, 0, 0, 2];
    expect(along(-1), &[2, 3], std::slice::from_ref(&indices), &[2, 3], |i| {
        vec![i[0], taken[3 * i[0] + i[1]]]
    });
    expect(along(0), &[3, 3], std::slice::from_ref(&indices), &[2, 3], |i| {
        vec![taken[3 * i[0] + i[1]], i[1]]
    });
    // Indices may be shorter along other axes, too. A size of 1 is not broadcast.
    expect(along(0), &[3, 9], &[indices], &[2, 3], |i| vec![taken[3 * i[0] + i[1]], i[1]]);
    expect(along(0), &[3, 2], &[i64s(&[4, 1], &[2, 2, 0, 1])], &[4, 1], |i| {
        vec![[2, 2, 0, 1][i[0]], 0]
    });
    expect(along(1), &[2, 0], &[i64s(&[2, 0], &[])], &[2, 0], <[usize]>::to_vec);
    let says =
        "the shape of the indices and the shape of the data must have the same length, got 2 and 1";
    refuse(along(0), &[3], &[i64s(&[1, 1], &[0])], says);
    refuse(along(0), &[], &[i64s(&[], &[0])], "rank 0");
    refuse(along(2), &[3, 2], &[i64s(&[1, 1], &[0])], "axis 2 is out of range for rank 2");
    let says = "indices of shape [1, 3] reach beyond data of shape [3, 2]";
    refuse(along(0), &[3, 2], &[i64s(&[1, 3], &[0; 3])], says);
    let says = "index -4 at [0, 1] is out of range for an axis of size 3";
    refuse(along(0), &[3, 2], &[i64s(&[1, 2], &[0, -4])], says);
}

#[test]
fn gather_nd_takes_slices_at_indices_of_several_axes() {
    let pairs = i64s(&[3, 2], &[0, 1, 1, -1, 0, 1]);
    let taken = [[0, 1], [1, 2], [0, 1]];
    expect(gather_nd(0), &[2, 3, 4], std::slice::from_ref(&pairs), &[3, 4], |i| {
        vec![taken[i[0]][0], taken[i[0]][1], i[1]]
    });
    expect(gather_nd(0), &[2, 3], &[pairs], &[3], |i| taken[i[0]].to_vec());
    expect(gather_nd(0), &[2, 3], &[i64s(&[2], &[1, 2])], &[], |_| vec![1, 2]);
    expect(gather_nd(0), &[2, 3], &[i64s(&[0, 2], &[])], &[0], <[usize]>::to_vec);
    // The sixth example of OpenVINO's specification: two batch axes, so each position has its own index.
    let each = i64s(&[2, 3, 1, 1], &[1, 0, 2, 0, 2, 2]);
    let own = [1, 0, 2, 0, 2, 2];
    expect(gather_nd(2), &[2, 3, 4], std::slice::from_ref(&each), &[2, 3, 1], |i| {
        vec![i[0], i[1], own[3 * i[0] + i[1]]]
    });
    let merged = |batch_axes| Operator::GatherNd { batch_axes, merges_batch: true };
    expect(merged(2), &[2, 3, 4], std::slice::from_ref(&each), &[6, 1], |i| {
        vec![i[0] / 3, i[0] % 3, own[i[0]]]
    });
    let rows = i64s(&[2, 1], &[1, 0]);
    expect(merged(1), &[2, 3, 4], &[rows], &[2, 4], |i| vec![i[0], [1, 0][i[0]], i[1]]);
    refuse(gather_nd(1), &[3, 4], &[i64s(&[2, 1], &[0; 2])], "the same length, got 3 and 2");
    refuse(gather_nd(2), &[2, 3, 4], &[i64s(&[2, 1], &[0; 2])], "batch axes 2 is out of range");
    refuse(gather_nd(0), &[3], &[i64s(&[], &[0])], "the rank of the indices 0 is out of range");
    refuse(gather_nd(0), &[3], &[i64s(&[1, 2], &[0, 0])], "the size of the last axis");
    let says = "index 3 at [0, 1] is out of range for an axis of size 3: expected -3..=2";
    refuse(gather_nd(0), &[2, 3], &[i64s(&[1, 2], &[1, 3])], says);
}

#[test]
fn scatter_elements_writes_where_gather_elements_reads() {
    let indices = i64s(&[2, 2], &[-1, 0, 1, 1]);
    let (targets, both) = ([2, 0, 1, 1], (&[2, 2][..], 2));
    expect_put(scatter_elements(0), &[3, 4], std::slice::from_ref(&indices), both, |i| {
        vec![targets[2 * i[0] + i[1]], i[1]]
    });
    // Two updates for one position: the last one is kept.
    expect_put(scatter_elements(-1), &[3, 3], &[indices], both, |i| {
        vec![i[0], targets[2 * i[0] + i[1]]]
    });
    let many = i64s(&[6], &[1, 1, 0, 0, 2, 1]);
    expect_put(scatter_elements(0), &[5], &[many], (&[6], 2), |i| vec![[1, 1, 0, 0, 2, 1][i[0]]]);
    expect_put(
        scatter_elements(0),
        &[2, 3],
        &[i64s(&[0, 3], &[])],
        (&[0, 3], 2),
        <[usize]>::to_vec,
    );
    let updates = |sizes: &[usize]| Tagged::counting(sizes, 900).constant();
    let refused = |operator: Operator, indices: Constant, updates: Constant, says: &str| {
        refuse(operator, &[3, 4], &[indices, updates], says);
    };
    let (rows, of) = (|entries: &[i64]| i64s(&[1, 2], entries), scatter_elements);
    refused(
        of(0),
        rows(&[0, 3]),
        updates(&[1, 2]),
        "index 3 at [0, 1] is out of range for an axis",
    );
    refused(of(0), rows(&[0, 1]), updates(&[2, 1]), "updates must have shape [1, 2], got [2, 1]");
    refused(of(0), rows(&[0, 1]), rows(&[0, 1]), "updates must be of type u64, got i64");
    refused(of(2), rows(&[0, 1]), updates(&[1, 2]), "axis 2 is out of range for rank 2");
    let front = Operator::ScatterElements { axis: given(&[0]), counts_back: false };
    refused(front, rows(&[0, -1]), updates(&[1, 2]), "index -1 at [0, 1] is negative");
    let axes = Operator::ScatterElements { axis: given(&[0, 1]), counts_back: true };
    refused(axes, rows(&[0, 1]), updates(&[1, 2]), "axis must have one entry, got 2");
}

#[test]
fn scatter_nd_writes_where_gather_nd_reads() {
    let rows = i64s(&[3, 1], &[-1, 0, 2]);
    let to = |i: &[usize]| vec![[2, 0, 2][i[0]], i[1]];
    expect_put(Operator::ScatterNd, &[3, 2], &[rows], (&[3, 2], 2), to);
    let pairs = i64s(&[2, 2], &[0, 1, 2, -2]);
    let to = |i: &[usize]| [vec![0, 1], vec![2, 0]][i[0]].clone();
    expect_put(Operator::ScatterNd, &[3, 2], &[pairs], (&[2], 2), to);
    expect_put(
        Operator::ScatterNd,
        &[3, 2],
        &[i64s(&[0, 1], &[])],
        (&[0, 2], 2),
        <[usize]>::to_vec,
    );
    // A single update may have any shape with one element.
    for sizes in [&[][..], &[1], &[1, 1]] {
        expect_put(Operator::ScatterNd, &[4], &[i64s(&[1], &[2])], (sizes, 2), |_| vec![2]);
    }
    let updates = |sizes: &[usize]| Tagged::counting(sizes, 900).constant();
    let refused = |indices: Constant, updates: Constant, says: &str| {
        refuse(Operator::ScatterNd, &[3, 2], &[indices, updates], says);
    };
    refused(i64s(&[1, 1], &[3]), updates(&[1, 2]), "index 3 at [0, 0] is out of range");
    refused(i64s(&[1, 1], &[2]), updates(&[2]), "updates must have shape [1, 2], got [2]");
    refused(i64s(&[1, 2], &[2, 1]), updates(&[]), "updates must have shape [1], got []");
    refused(i64s(&[2], &[2, 1]), updates(&[2]), "updates must have shape [], got [2]");
    refused(i64s(&[1, 1], &[2]), i64s(&[1, 2], &[0, 0]), "updates must be of type u64, got i64");
    refused(i64s(&[2], &[2, 1]), i64s(&[1], &[0]), "updates must be of type u64, got i64");
    refused(i64s(&[1, 3], &[0; 3]), updates(&[1]), "the size of the last axis of the indices 3");
}

#[test]
fn scatter_update_writes_slices_of_one_axis() {
    let targets = [1, 0, 2, 2];
    let indices = i64s(&[2, 2], &[1, 0, 2, 2]);
    for axis in [1, -1] {
        expect_put(
            scatter_update(axis),
            &[3, 4],
            std::slice::from_ref(&indices),
            (&[3, 2, 2], 2),
            |i| vec![i[0], targets[2 * i[1] + i[2]]],
        );
    }
    expect_put(scatter_update(0), &[3, 4], &[i64s(&[], &[1])], (&[4], 2), |i| vec![1, i[0]]);
    expect_put(scatter_update(0), &[3], &[i64s(&[], &[1])], (&[], 2), |_| vec![1]);
    expect_put(scatter_update(0), &[3, 1], &[i64s(&[0], &[])], (&[0, 1], 2), <[usize]>::to_vec);
    let updates = |sizes: &[usize]| Tagged::counting(sizes, 900).constant();
    let refused = |entry, sizes: &[usize], says: &str| {
        refuse(scatter_update(0), &[3, 4], &[i64s(&[1], &[entry]), updates(sizes)], says);
    };
    refused(-1, &[1, 4], "index -1 at [0] is negative");
    refused(3, &[1, 4], "index 3 at [0] is out of range for an axis of size 3");
    refused(1, &[4], "updates must have shape [1, 4], got [4]");
    refused(1, &[1, 3], "updates must have shape [1, 4], got [1, 3]");
}

#[test]
fn slice_scatter_writes_the_updates_to_the_slice() {
    let put = |operator, sizes: &[usize], to: fn(&[usize]) -> Vec<usize>| {
        expect_put(operator, &[3, 5], &[], (sizes, 1), to);
    };
    put(slice_scatter(&[0, 1], &[3, 5], &[0, 1], &[2, 2]), &[2, 2], |i| {
        vec![2 * i[0], 1 + 2 * i[1]]
    });
    put(slice_scatter(&[-1], &[-100], &[-1], &[-2]), &[3, 3], |i| vec![i[0], 4 - 2 * i[1]]);
    put(slice_scatter(&[-25], &[25], &[1], &[2]), &[3, 3], |i| vec![i[0], 2 * i[1]]);
    put(slice_scatter(&[2], &[2], &[0], &[1]), &[0, 5], <[usize]>::to_vec);
    put(slice_scatter(&[], &[], &[], &[]), &[3, 5], <[usize]>::to_vec);
    let by_default = Operator::SliceScatter {
        starts: given(&[1]),
        stops: given(&[i64::MAX]),
        axes: None,
        steps: None,
    };
    put(by_default, &[2, 5], |i| vec![1 + i[0], i[1]]);
    let from = |input| from_input(input, IntegerTypes::Integers);
    let read = Operator::SliceScatter {
        starts: from(2),
        stops: from(3),
        axes: Some(from(5)),
        steps: Some(from(4)),
    };
    let lists = [[4], [1], [-1], [1]].map(|entry| i64s(&[1], &entry));
    expect_put(read, &[3, 5], &lists, (&[3, 3], 1), |i| vec![i[0], 4 - i[1]]);
    let refused = |operator, sizes: &[usize], says: &str| {
        refuse(operator, &[3, 5], &[Tagged::counting(sizes, 900).constant()], says);
    };
    let rows = |axes: &[i64], step| slice_scatter(&[0], &[2], axes, &[step]);
    refused(rows(&[0], 1), &[1, 5], "updates must have shape [2, 5], got [1, 5]");
    refused(rows(&[0], 0), &[2, 5], "step");
    refused(rows(&[2], 1), &[2, 5], "axis 2 is out of range for rank 2");
    refused(rows(&[0, 1], 1), &[2, 5], "axes");
    refused(slice_scatter(&[0; 2], &[1; 2], &[0, -2], &[1; 2]), &[1, 5], "axis -2");
}

#[test]
fn tensor_scatter_writes_rows_of_each_batch() {
    let of = |axis, is_circular| Operator::TensorScatter { axis, is_circular };
    let starts = || i64s(&[2], &[1, 2]);
    for axis in [1, -2] {
        expect_put(of(axis, false), &[2, 4, 3], &[starts()], (&[2, 2, 3], 1), |i| {
            vec![i[0], [1, 2][i[0]] + i[1], i[2]]
        });
    }
    expect_put(of(-1, true), &[2, 3], &[starts()], (&[2, 3], 1), |i| {
        vec![i[0], ([1, 2][i[0]] + i[1]) % 3]
    });
    expect_put(of(1, false), &[2, 3], &[], (&[2, 2], 1), <[usize]>::to_vec);
    let refused = |operator, starts: Option<&[i64]>, sizes: &[usize], says: &str| {
        let starts = starts.map(|starts| i64s(&[starts.len()], starts));
        let mut inputs = vec![Tagged::counting(sizes, 900).constant()];
        inputs.extend(starts);
        refuse(operator, &[2, 4], &inputs, says);
    };
    let says = "write index 3 is out of range: 2 rows are written to 4, linear";
    refused(of(1, false), Some(&[0, 3]), &[2, 2], says);
    let says = "write index 4 is out of range: 2 rows are written to 4, circular";
    refused(of(1, true), Some(&[0, 4]), &[2, 2], says);
    refused(of(1, true), Some(&[0, -1]), &[2, 2], "write index -1 is out of range");
    refused(of(1, true), None, &[2, 5], "5 rows are written along an axis of 4");
    refused(of(1, true), Some(&[0]), &[2, 2], "write_indices must have shape [2], got [1]");
    refused(of(0, true), None, &[2, 2], "axis 0 holds the batches");
    refused(of(1, true), None, &[1, 2], "updates must have shape [2, 2], got [1, 2]");
}

#[test]
fn strings_and_packed_types_are_moved_too() {
    let mut sketch = Sketch::new(&[
        strings(&[3], &["a", "b", "c"]),
        i64s(&[2], &[2, 0]),
        strings(&[2], &["y", "z"]),
    ]);
    sketch.node(scatter_elements(0), &[0, 1, 2], 1);
    assert_eq!(sketch.output_strings(), ["z", "b", "y"]);
    sketch.model.outputs.clear();
    sketch.node(plain(0), &[0, 1], 1);
    assert_eq!(sketch.output_strings(), ["c", "a"]);

    let packed = |sizes: &[usize], bytes: &[u8]| constant(DType::I4, sizes, bytes.to_vec());
    let indices = i64s(&[3], &[-1, 0, 1]);
    let data = [packed(&[3], &[0x21, 0x03]), indices, packed(&[3], &[0xba, 0x0c])];
    let made = |operator, inputs: &[usize]| {
        let mut sketch = Sketch::new(&data);
        sketch.node(operator, inputs, 1);
        let planned = crate::PlannedModel::new(sketch.resolve().unwrap(), Some(1)).unwrap();
        planned.run(&sketch.inputs(), &mut |_| ()).unwrap().remove(0)
    };
    assert_eq!(made(plain(0), &[0, 1]), Data::Bytes(vec![0x13, 0x02].into()));
    assert_eq!(made(scatter_elements(0), &[0, 1, 2]), Data::Bytes(vec![0xcb, 0x0a].into()));
}

/// A small file may declare any size.
#[test]
fn scatters_into_huge_declared_data_are_bounded() {
    let refused = |sizes: &[i64], operator: Operator, others: &[Constant], filled: &[i64]| {
        let mut sketch = Sketch::new(others);
        let value = constant(DType::U64, &[1], vec![0; 8]);
        let filling =
            |sizes: &[i64]| Operator::Filled { sizes: given(sizes), value: value.clone() };
        let data = sketch.node(filling(sizes), &[], 1)[0];
        let updates = sketch.node(filling(filled), &[], 1)[0];
        let mut inputs: Vec<usize> = vec![data];
        inputs.extend(0..others.len());
        let at = if others.is_empty() { 1 } else { 2 };
        inputs.insert(at, updates);
        sketch.node(operator, &inputs, 1);
        sketch.resolve().map(drop).map_err(|error| error.to_string())
    };
    let huge = 1 << 40;
    let over_limit = |result: Result<(), String>| {
        let message = result.unwrap_err();
        assert!(message.contains("indices, over the limit of 268435456"), "{message}");
    };
    over_limit(refused(&[huge], Operator::ScatterNd, &[i64s(&[1, 1], &[0])], &[1]));
    over_limit(refused(&[2, huge], Operator::ScatterNd, &[i64s(&[1, 2], &[0, 0])], &[1]));
    over_limit(refused(
        &[2, huge],
        slice_scatter(&[0], &[1 << 39], &[1], &[1]),
        &[],
        &[2, 1 << 39],
    ));
    // Along the first axis there are only a few indices.
    assert_eq!(refused(&[2, huge], scatter_update(0), &[i64s(&[1], &[1])], &[1, huge]), Ok(()));
    let cache = Operator::TensorScatter { axis: 1, is_circular: false };
    let message = refused(&[huge, 4], cache, &[], &[huge, 1]).unwrap_err();
    let says = "1099511627776 rows are written, over the limit of 16777216";
    assert!(message.ends_with(says), "{message}");
}
