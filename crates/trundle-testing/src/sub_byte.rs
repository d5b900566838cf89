//! The suite for elements smaller than a byte: like [`suite`], but a table of bit positions compares buffers.

use std::borrow::{Borrow, BorrowMut};
use std::fmt;
use std::slice::from_ref;

use proptest::array::uniform2;
use proptest::strategy::Strategy;
use proptest::test_runner::TestCaseError;
use trundle_core::{BitOrder, Error, IndexMap, Layout, Move, Packing, Shape};

use crate::cases::{chains, layouts, windows};
use crate::shapings::shaping_chains;
use crate::suite::{self, Case, hold, new_buffer, noise};
use crate::{Flush, MOST_BOXES, PlainOp, TestBuffer, Testable, everything, holds, indices};

/// For each bit of each byte of a group, from the most significant bit down: its element, and its position there,
/// counted from the least significant bit.
type Bits = &'static [[(usize, usize); 8]];

/// Every packing, as the specifications of the file formats define it.
const PACKINGS: [(u8, BitOrder, Bits); 10] = [
    (1, BitOrder::LowFirst, &[[(7, 0), (6, 0), (5, 0), (4, 0), (3, 0), (2, 0), (1, 0), (0, 0)]]),
    (1, BitOrder::HighFirst, &[[(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)]]),
    (2, BitOrder::LowFirst, &[[(3, 1), (3, 0), (2, 1), (2, 0), (1, 1), (1, 0), (0, 1), (0, 0)]]),
    (2, BitOrder::HighFirst, &[[(0, 1), (0, 0), (1, 1), (1, 0), (2, 1), (2, 0), (3, 1), (3, 0)]]),
    (4, BitOrder::LowFirst, &[[(1, 3), (1, 2), (1, 1), (1, 0), (0, 3), (0, 2), (0, 1), (0, 0)]]),
    (4, BitOrder::HighFirst, &[[(0, 3), (0, 2), (0, 1), (0, 0), (1, 3), (1, 2), (1, 1), (1, 0)]]),
    (
        3,
        BitOrder::LowFirst,
        &[
            [(2, 1), (2, 0), (1, 2), (1, 1), (1, 0), (0, 2), (0, 1), (0, 0)],
            [(5, 0), (4, 2), (4, 1), (4, 0), (3, 2), (3, 1), (3, 0), (2, 2)],
            [(7, 2), (7, 1), (7, 0), (6, 2), (6, 1), (6, 0), (5, 2), (5, 1)],
        ],
    ),
    (
        3,
        BitOrder::Split,
        &[
            [(0, 1), (0, 0), (1, 1), (1, 0), (2, 1), (2, 0), (3, 1), (3, 0)],
            [(4, 1), (4, 0), (5, 1), (5, 0), (6, 1), (6, 0), (7, 1), (7, 0)],
            [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 2), (7, 2)],
        ],
    ),
    (
        6,
        BitOrder::LowFirst,
        &[
            [(1, 1), (1, 0), (0, 5), (0, 4), (0, 3), (0, 2), (0, 1), (0, 0)],
            [(2, 3), (2, 2), (2, 1), (2, 0), (1, 5), (1, 4), (1, 3), (1, 2)],
            [(3, 5), (3, 4), (3, 3), (3, 2), (3, 1), (3, 0), (2, 5), (2, 4)],
        ],
    ),
    (
        6,
        BitOrder::Split,
        &[
            [(0, 3), (0, 2), (0, 1), (0, 0), (1, 3), (1, 2), (1, 1), (1, 0)],
            [(2, 3), (2, 2), (2, 1), (2, 0), (3, 3), (3, 2), (3, 1), (3, 0)],
            [(0, 5), (0, 4), (1, 5), (1, 4), (2, 5), (2, 4), (3, 5), (3, 4)],
        ],
    ),
];

#[derive(Clone)]
struct Table {
    packing: Packing,
    /// The size in bytes of a group of elements.
    group_bytes: usize,
    /// For each element of a group: the byte and the mask of each bit, the least significant first.
    elements: Vec<Vec<(usize, u8)>>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.packing)
    }
}

fn tables() -> Vec<Table> {
    PACKINGS.into_iter().map(|(bits, order, owners)| Table::new(bits, order, owners)).collect()
}

impl Table {
    fn new(bits: u8, order: BitOrder, owners: Bits) -> Table {
        let packing = Packing::new(bits, order).expect("a packing that there is");
        let find_bit = |owner: (usize, usize)| {
            let mut all = owners.iter().enumerate().flat_map(|(byte, of)| {
                of.iter().enumerate().map(move |(from_top, of)| (byte, 0x80 >> from_top, *of))
            });
            all.find_map(|(byte, mask, of)| (of == owner).then_some((byte, mask)))
                .expect("each bit of a group is somewhere")
        };
        let element =
            |within| (0..usize::from(bits)).map(|bit| find_bit((within, bit))).collect::<Vec<_>>();
        let group = 8 * owners.len() / usize::from(bits);
        Table { packing, group_bytes: owners.len(), elements: (0..group).map(element).collect() }
    }

    /// The byte and the mask of each bit, the least significant first.
    fn bits(&self, element: usize) -> impl Iterator<Item = (usize, u8)> {
        let first = element / self.elements.len() * self.group_bytes;
        let bits = self.elements[element % self.elements.len()].iter();
        bits.map(move |(byte, mask)| (first + byte, *mask))
    }

    /// Copies an element bit by bit.
    fn copy(&self, src: &[u8], from: usize, dst: &mut [u8], to: usize) {
        for ((read, read_mask), (written, mask)) in self.bits(from).zip(self.bits(to)) {
            if src[read] & read_mask == 0 {
                dst[written] &= !mask;
            } else {
                dst[written] |= mask;
            }
        }
    }

    /// Bytes of packed elements. With the split bit order, the last group is complete.
    fn bytes(&self, elements: usize) -> usize {
        let last_group = elements.saturating_sub(self.elements.len())..elements;
        let end = last_group.flat_map(|element| self.bits(element)).map(|(byte, _)| byte + 1).max();
        let end = end.unwrap_or(0);
        if self.packing.order() == BitOrder::Split { end.next_multiple_of(3) } else { end }
    }
}

/// Returns the offsets of a layout's elements, in row-major order.
fn offsets(layout: &Layout) -> Vec<usize> {
    indices(layout.shape().sizes()).iter().map(|index| layout.offset_of(index)).collect()
}

fn end_of(offsets: &[usize]) -> usize {
    offsets.iter().max().map_or(0, |last| last + 1)
}

/// The number of bytes in the destination buffer after the last element.
const GUARD_BYTES: usize = 35;

/// Runs one case with elements of each packing.
fn check<B: Testable>(backend: &B, case: &Case, tables: &[Table]) -> Result<(), String> {
    let naive = case.naive();
    tables.iter().try_for_each(|table| check_packing(backend, case, naive.labels(), table))
}

/// The destination is a part of a larger tensor with random elements, whose bits must stay unchanged.
fn check_packing<B: Testable>(
    backend: &B,
    case: &Case,
    labels: &[usize],
    table: &Table,
) -> Result<(), String> {
    let (read, written) = (offsets(&case.src), offsets(&case.dst));
    let (src_bytes, dst_bytes) = (table.bytes(end_of(&read)), table.bytes(end_of(&written)));
    let (src, before) = (noise(src_bytes, 1), noise(dst_bytes + GUARD_BYTES, 2));
    let mut expected = before.clone();
    for (to, label) in written.iter().zip(labels) {
        table.copy(&src, read[*label], &mut expected, *to);
    }
    let dst = moved(backend, case, table, src, &before)
        .map_err(|wrong| format!("{case}, {table:?}: {wrong}"))?;
    match dst.iter().zip(&expected).position(|(got, want)| got != want) {
        None => Ok(()),
        Some(at) => Err(format!(
            "{case}, {table:?}: byte {at} of the destination is {:#010b} instead of {:#010b}",
            dst[at], expected[at]
        )),
    }
}

/// The destination, which contained `before` at first.
fn moved<B: Testable>(
    backend: &B,
    case: &Case,
    table: &Table,
    src: Vec<u8>,
    before: &[u8],
) -> Result<Vec<u8>, String> {
    let refused = |refusal: Error| format!("refused: {refusal}");
    let buffer = |bytes: &[u8]| hold(backend, bytes, Flush::End, &|| format!("{case}, {table:?}"));
    let run = |map: &IndexMap, from: &Layout, src: &[u8], to: &Layout, dst: &mut B::Buffer| {
        let work = Move::new(map, table.packing, from, to, MOST_BOXES).map_err(refused)?;
        let ends = [work.src_bytes(), work.dst_bytes()];
        suite::run(backend, &work, ends, buffer(src).borrow(), dst)
    };
    let passes = case.passes().map_err(refused)?;
    let (last, firsts) = passes.split_last().ok_or("a chain without passes")?;
    let mut from = (case.src.clone(), src);
    for map in firsts {
        let to = row_major(map.out_shape());
        let mut dst = new_buffer(backend, table.bytes(end_of(&offsets(&to))))?;
        run(map, &from.0, &from.1, &to, &mut dst)?;
        from = (to, dst.bytes(backend).into_owned());
    }
    let mut dst = buffer(before);
    run(last, &from.0, &from.1, &case.dst, dst.borrow_mut())?;
    Ok(dst.borrow().bytes(backend).into_owned())
}

fn row_major(shape: &Shape) -> Layout {
    Layout::row_major(shape, 1).expect("the sizes of a case are small")
}

/// Checks every packing on fixed cases that cover each code path, then on random ones.
///
/// # Panics
/// If a result differs from the oracle, or if the backend rejects a case.
pub fn conformance<B: Testable>(backend: &B) {
    let tables = tables();
    for case in sweep() {
        if let Err(wrong) = check(backend, &case, &tables) {
            panic!("{wrong}");
        }
    }
    let (any_cases, shaping_cases) = if everything() { (600, 300) } else { (200, 100) };
    holds(any_cases, &any(), |case| check(backend, &case, &tables).map_err(TestCaseError::fail));
    holds(shaping_cases, &shaping(), |case| {
        check(backend, &case, &tables).map_err(TestCaseError::fail)
    });
}

/// All operators between contiguous tensors.
fn shaping() -> impl Strategy<Value = Case> {
    let numbers = (shaping_chains(300, 3), uniform2(0..70usize));
    numbers.prop_map(|(chain, offsets)| Case::contiguous_chain(chain, 1, offsets))
}

/// Checks cases of several boxes, for several threads.
///
/// # Panics
/// As [`conformance`].
pub fn large_conformance<B: Testable>(backend: &B) {
    let transposed = PlainOp::Transpose { order: vec![] };
    let mut cases = vec![
        Case::contiguous(&[1511, 1031], from_ref(&transposed), 1, [3, 5]),
        Case::contiguous(&[552, 1032], from_ref(&transposed), 1, [0, 0]),
    ];
    // Loops that read the same elements, or the next ones, leave few elements of a row to a box.
    for (shape, strides) in [([128, 100, 32], [1, 0, 128]), ([128, 128, 16], [1, 1, 255])] {
        let mut case = Case::contiguous(&shape, &[], 1, [0, 0]);
        let shape = Shape::new(shape).expect("a small shape");
        case.src = Layout::strided(&shape, 0, &strides).expect("a small layout");
        cases.push(case);
    }
    for case in cases {
        if let Err(wrong) = check(backend, &case, &tables()) {
            panic!("{wrong}");
        }
    }
}

/// Random operators between random layouts.
fn any() -> impl Strategy<Value = Case> {
    let numbers = (chains(1 << 10, 3), windows(), layouts(), layouts());
    numbers.prop_map(|(chain, window, src, dst)| {
        let out = chain.naive();
        let window = window.fit(out.shape());
        let src = src.source(&chain.shape, 1);
        let dst = dst.destination(out.within(&window).shape(), 1);
        Case { chain: chain.into(), window, width: 1, src, dst }
    })
}

/// Boxes of every form, with edges at all positions of a group.
fn sweep() -> Vec<Case> {
    let transpose = |order: &[i64]| PlainOp::Transpose { order: order.to_vec() };
    let roll =
        |shift: &[i64], axes: &[i64]| PlainOp::Roll { shift: shift.to_vec(), axes: axes.to_vec() };
    let flip = |axes: &[i64]| PlainOp::Flip { axes: axes.to_vec() };
    let reverse = |axis, lanes: u64| PlainOp::ReverseSubsequences {
        axis,
        lengths: (0..lanes).map(|lane| lane * 7 % 40).collect(),
    };
    let mut cases = Vec::new();
    let shapes: [(&[usize], Vec<PlainOp>); 25] = [
        (&[300, 517], vec![transpose(&[])]),
        (&[264, 512], vec![transpose(&[])]),
        (&[7, 1003], vec![transpose(&[])]),
        (&[1003, 3], vec![transpose(&[])]),
        (&[2, 19, 23, 3], vec![transpose(&[0, 3, 1, 2])]),
        (&[2, 3, 19, 23], vec![transpose(&[0, 2, 3, 1])]),
        (&[5, 4, 3, 4, 5, 6], vec![transpose(&[])]),
        (&[31, 9, 24], vec![transpose(&[1, 0, 2])]),
        (&[31, 9, 25], vec![transpose(&[1, 0, 2])]),
        (&[3000], vec![roll(&[1234], &[0])]),
        (&[40, 77], vec![roll(&[3, -5], &[0, 1])]),
        (&[40, 77], vec![flip(&[1])]),
        (&[40, 77], vec![flip(&[0]), transpose(&[])]),
        (&[141, 77], vec![flip(&[0, 1]), transpose(&[])]),
        (&[264, 512], vec![flip(&[0]), transpose(&[])]),
        (&[264, 512], vec![flip(&[1]), transpose(&[])]),
        (&[72, 5, 136], vec![transpose(&[])]),
        (&[40, 72], vec![flip(&[1])]),
        (&[70_000], vec![]),
        (&[6, 33, 4], vec![reverse(1, 24)]),
        (&[6, 33, 4], vec![reverse(1, 24), transpose(&[2, 0, 1])]),
        (&[3, 37, 50], vec![reverse(1, 150)]),
        (&[3, 37, 50], vec![flip(&[1]), reverse(1, 150), flip(&[1])]),
        (&[40, 45], vec![reverse(1, 40)]),
        (
            &[2, 40_000],
            vec![PlainOp::ReverseSubsequences { axis: 1, lengths: vec![39_999, 36_000] }],
        ),
    ];
    for (shape, ops) in shapes {
        for (from, to) in [(0, 0), (0, 1), (1, 0), (5, 5), (6, 3), (7, 2)] {
            cases.push(Case::contiguous(shape, &ops, 1, [from, to]));
        }
    }
    // Only some rows are moved, and each reads from an arbitrary row of its column.
    let mut part = Case::contiguous(&[3, 37, 50], &[reverse(1, 150)], 1, [0, 0]);
    for rows in [0..3, 11..15, 2..30] {
        part.window[1] = rows;
        part.dst = row_major(&Shape::new(part.naive().shape()).expect("a small shape"));
        cases.push(part.clone());
    }
    cases
}
