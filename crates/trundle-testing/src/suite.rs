//! One suite for any backend: whatever it plans, the output buffer must come out as the oracle
//! says, byte for byte, the bytes between and around the elements included.

use std::fmt;
use std::ops::Range;

use proptest::strategy::Strategy;
use proptest::test_runner::TestCaseError;
use trundle_core::{Backend, Error, IndexMap, Layout, Move, Shape};

use crate::cases::{Chain, buffer_bytes, chains, layouts, widths, windows};
use crate::{Naive, PlainOp, holds, read_elements, write_elements};

/// Operators between two layouts.
#[derive(Clone, Debug)]
pub struct Case {
    /// The shape of the source and the operators.
    pub chain: Chain,
    /// The part of the output that is made: one range for each axis.
    pub window: Vec<Range<usize>>,
    /// The size of an element in bytes.
    pub width: usize,
    /// Where the elements of the source lie.
    pub src: Layout,
    /// Where the elements of the window go.
    pub dst: Layout,
}

impl Case {
    /// The whole output, packed row-major at these offsets in both buffers.
    ///
    /// # Panics
    /// If the sizes are beyond what fits in memory.
    pub fn packed(shape: &[usize], ops: &[PlainOp], width: usize, offsets: [usize; 2]) -> Case {
        let chain = Chain { shape: shape.to_vec(), ops: ops.to_vec() };
        let out_shape = chain.naive().shape().to_vec();
        let layout = |shape: &[usize], offset| {
            let shape = Shape::new(shape).expect("a shape that fits in memory");
            let packed = Layout::row_major(&shape, width).expect("a tensor that fits in memory");
            Layout::strided(&shape, offset, packed.strides_bytes()).expect("as many strides")
        };
        Case {
            window: out_shape.iter().map(|size| 0..*size).collect(),
            width,
            src: layout(shape, offsets[0]),
            dst: layout(&out_shape, offsets[1]),
            chain,
        }
    }

    /// Random cases of up to `most_elements`.
    pub fn any(most_elements: usize) -> impl Strategy<Value = Case> {
        let numbers = (chains(most_elements, 4), windows(), widths(), layouts(), layouts());
        numbers.prop_map(|(chain, window, width, src, dst)| {
            let out = chain.naive();
            let window = window.fit(out.shape());
            let src = src.source(&chain.shape, width);
            let dst = dst.destination(out.within(&window).shape(), width);
            Case { chain, window, width, src, dst }
        })
    }

    /// The maps of the operators, as few as they compose to; the last gives the window.
    ///
    /// # Errors
    /// What the operators refuse.
    pub fn passes(&self) -> trundle_core::Result<Vec<IndexMap>> {
        let mut shape = Shape::new(&self.chain.shape[..])?;
        let mut maps = vec![IndexMap::identity(&shape)];
        for op in &self.chain.ops {
            maps.push(op.op().index_map(&shape)?);
            shape = maps[maps.len() - 1].out_shape().clone();
        }
        let mut passes: Vec<IndexMap> =
            IndexMap::fuse(maps)?.into_iter().map(|pass| pass.map).collect();
        if let Some(last) = passes.last_mut() {
            *last = last.restrict(&self.window)?;
        }
        Ok(passes)
    }

    /// What the oracle says: which element of the source lies at each place of the window.
    pub fn naive(&self) -> Naive {
        self.chain.naive().within(&self.window)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shape {:?} of {}-byte elements", self.chain.shape, self.width)?;
        for op in &self.chain.ops {
            write!(f, " | {}", op.op())?;
        }
        write!(f, ", window {:?}", self.window)?;
        for (name, layout) in [("source", &self.src), ("destination", &self.dst)] {
            let (offset, strides) = (layout.offset_bytes(), layout.strides_bytes());
            write!(f, ", {name} at byte {offset} with strides {strides:?}")?;
        }
        Ok(())
    }
}

/// Bytes of the destination buffer behind the last element.
const GUARD_BYTES: usize = 67;

/// Runs one case.
///
/// # Errors
/// Says what came out otherwise than the oracle has it, with the case and the plan.
pub fn check<B: Backend>(backend: &B, case: &Case) -> Result<(), String> {
    let src = noise(buffer_bytes(&case.src, case.width), 1);
    let before = noise(buffer_bytes(&case.dst, case.width) + GUARD_BYTES, 2);
    let expected = expected_buffer(case, &src, &before);

    let passes = case.passes().map_err(|refusal| format!("{case}: refused: {refusal}"))?;
    let (last, firsts) = passes.split_last().ok_or("a chain without passes")?;
    let mut stage = Stage { layout: case.src.clone(), bytes: src };
    for map in firsts {
        let layout = row_major(map.out_shape(), case.width);
        let bytes = vec![0; buffer_bytes(&layout, case.width)];
        let bytes = carry_out(backend, case, map, &stage, &layout, bytes)?;
        stage = Stage { layout, bytes };
    }
    let after = carry_out(backend, case, last, &stage, &case.dst, before)?;
    match after.iter().zip(&expected).position(|(got, want)| got != want) {
        None => Ok(()),
        Some(at) => Err(format!(
            "{case}: byte {at} of the destination is {:#04x} instead of {:#04x}, {} bytes differ; \
             the map of the last of {} passes is\n{last}",
            after[at],
            expected[at],
            after.iter().zip(&expected).filter(|(got, want)| got != want).count(),
            passes.len(),
        )),
    }
}

/// A tensor between two passes.
struct Stage {
    layout: Layout,
    bytes: Vec<u8>,
}

/// Carries out one pass into `dst`, after buffers that are too short have been refused.
fn carry_out<B: Backend>(
    backend: &B,
    case: &Case,
    map: &IndexMap,
    from: &Stage,
    layout: &Layout,
    mut dst: Vec<u8>,
) -> Result<Vec<u8>, String> {
    let refused = |refusal: Error| format!("{case}: refused: {refusal}");
    let work = Move::new(map, case.width, &from.layout, layout).map_err(refused)?;
    let plan = backend.plan(&work);
    let short_src = buffer_bytes(&from.layout, case.width).checked_sub(1);
    let short_dst = buffer_bytes(layout, case.width).checked_sub(1);
    let untouched = dst.clone();
    if let Some(short) = short_src
        && backend.run(&plan, &from.bytes[..short], &mut dst).is_ok()
    {
        return Err(format!("{case}: accepts a source buffer of {short} bytes\n{plan}"));
    }
    if let Some(short) = short_dst
        && backend.run(&plan, &from.bytes, &mut dst[..short]).is_ok()
    {
        return Err(format!("{case}: accepts a destination buffer of {short} bytes\n{plan}"));
    }
    if dst != untouched {
        return Err(format!("{case}: writes before it refuses a buffer\n{plan}"));
    }
    backend
        .run(&plan, &from.bytes, &mut dst)
        .map_err(|refusal| format!("{case}: refused: {refusal}\n{plan}"))?;
    Ok(dst)
}

/// The whole destination buffer as the oracle has it.
fn expected_buffer(case: &Case, src: &[u8], before: &[u8]) -> Vec<u8> {
    let elements = read_elements(&case.src, case.width, src);
    let moved: Vec<&[u8]> =
        case.naive().labels().iter().map(|label| &elements[*label][..]).collect();
    let mut expected = before.to_vec();
    write_elements(&case.dst, &moved, &mut expected);
    expected
}

fn row_major(shape: &Shape, width: usize) -> Layout {
    Layout::row_major(shape, width).expect("the sizes of a case are small")
}

/// Bytes without a pattern that a wrong movement could hide in, the same each time.
pub(crate) fn noise(bytes: usize, salt: u64) -> Vec<u8> {
    (0..bytes as u64)
        .map(|number| {
            // The finishing steps of splitmix64.
            let mut mixed = (number + (salt << 48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed >> 56).to_le_bytes()[0]
        })
        .collect()
}

/// The whole suite: thousands of swept cases, large ones, and random ones. Takes seconds.
///
/// # Panics
/// At the first case that does not come out as the oracle has it, with what repeats it.
pub fn conformance<B: Backend>(backend: &B) {
    sweep(backend, sweeps());
    random(backend, 2000, 300);
    random(backend, 100, 5000);
    sweep(backend, large());
}

/// Runs each of `cases`.
///
/// # Panics
/// At the first case that does not come out as the oracle has it.
pub fn sweep<B: Backend>(backend: &B, cases: impl IntoIterator<Item = Case>) {
    for case in cases {
        if let Err(failure) = check(backend, &case) {
            panic!("{failure}");
        }
    }
}

/// Runs random cases of up to `most_elements` each.
///
/// # Panics
/// If one does not come out as the oracle has it: with the smallest found, and the seed.
pub fn random<B: Backend>(backend: &B, cases: u32, most_elements: usize) {
    holds(cases, &Case::any(most_elements), |case| {
        check(backend, &case).map_err(TestCaseError::fail)
    });
}

/// Sizes below, at and above those of vectors, cache lines and tiles.
const EDGE_SIZES: [usize; 18] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65];

/// Widths that kernels are written for, and some that they are not.
const SWEPT_WIDTHS: [usize; 8] = [1, 2, 3, 4, 8, 12, 16, 40];

/// Offsets in bytes of source and destination, which move both off their alignment.
const SWEPT_OFFSETS: [[usize; 2]; 5] = [[0, 0], [1, 0], [0, 1], [5, 3], [16, 60]];

/// Small cases in which every size, shift, length and order of axes has its turn.
pub fn sweeps() -> impl Iterator<Item = Case> {
    runs()
        .chain(matrices())
        .chain(pictures())
        .chain(groups())
        .chain(channels())
        .chain(strips())
        .chain(rolls())
        .chain(rows_rolled())
        .chain(orders())
        .chain(orders_of_rolled())
        .chain(rows_reversed())
        .chain(lanes_reversed())
        .chain(narrow_lanes())
        .chain(corners())
}

/// One axis, copied and reversed.
fn runs() -> impl Iterator<Item = Case> {
    let sizes = (0..=70).chain([127, 128, 129, 255, 256, 257]);
    let ops = [vec![], vec![PlainOp::Flip { axes: vec![0] }]];
    sizes.flat_map(move |size| {
        let ops = ops.clone();
        SWEPT_WIDTHS.into_iter().flat_map(move |width| {
            let ops = ops.clone();
            SWEPT_OFFSETS.into_iter().flat_map(move |offsets| {
                ops.clone().into_iter().map(move |ops| Case::packed(&[size], &ops, width, offsets))
            })
        })
    })
}

/// Two axes exchanged, alone and with one of them reversed.
fn matrices() -> impl Iterator<Item = Case> {
    EDGE_SIZES.into_iter().flat_map(|rows| {
        EDGE_SIZES.into_iter().flat_map(move |columns| {
            SWEPT_WIDTHS.into_iter().enumerate().map(move |(number, width)| {
                let mut ops = vec![PlainOp::Transpose { order: vec![1, 0] }];
                if (rows + columns + number) % 4 == 0 {
                    ops.push(PlainOp::Flip { axes: vec![i64::from(rows > columns)] });
                }
                let offsets = SWEPT_OFFSETS[(rows * columns + number) % SWEPT_OFFSETS.len()];
                Case::packed(&[rows, columns], &ops, width, offsets)
            })
        })
    })
}

/// A few channels of many pixels: between pixels and planes, with either reversed, and cut.
fn pictures() -> impl Iterator<Item = Case> {
    let transpose = PlainOp::Transpose { order: vec![0, 2, 1] };
    let flip = |axis| PlainOp::Flip { axes: vec![axis] };
    let reverse =
        |axis, length| PlainOp::ReverseSequence { axis, batch_axis: 0, lengths: vec![length, 1] };
    let chains = [
        vec![transpose.clone()],
        vec![flip(1), transpose.clone()],
        vec![flip(2), transpose.clone()],
        vec![flip(1), flip(2), transpose.clone()],
        vec![reverse(1, 2), transpose.clone()],
        vec![reverse(2, 2), transpose.clone()],
        vec![flip(1)],
        vec![flip(2)],
    ];
    let counts = [16, 33, 64, 65, 129, 321];
    [2, 3, 4, 5, 6, 7, 8, 9].into_iter().flat_map(move |channels| {
        let chains = chains.clone();
        counts.into_iter().enumerate().flat_map(move |(number, pixels)| {
            let chains = chains.clone();
            [1usize, 2, 4, 8].into_iter().flat_map(move |width| {
                chains.clone().into_iter().enumerate().map(move |(turn, ops)| {
                    let turn = turn + number + channels + width.ilog2() as usize;
                    let offsets = SWEPT_OFFSETS[turn / 2 % SWEPT_OFFSETS.len()];
                    let shape = if turn.is_multiple_of(2) {
                        [2, pixels, channels]
                    } else {
                        [2, channels, pixels]
                    };
                    Case::packed(&shape, &ops, width, offsets)
                })
            })
        })
    })
}

/// Planes that become pixels of 16 bytes and multiples of them, also where the pixels jump.
fn channels() -> impl Iterator<Item = Case> {
    [1usize, 2, 4, 8, 16].into_iter().flat_map(|width| {
        [16, 32, 48, 64].into_iter().flat_map(move |bytes| {
            [5, 64, 65, 321].into_iter().enumerate().flat_map(move |(number, pixels)| {
                let channels = bytes / width;
                let turn = number + channels;
                let offsets = |turn: usize| SWEPT_OFFSETS[turn % SWEPT_OFFSETS.len()];
                let order = |order: &[i64]| [PlainOp::Transpose { order: order.to_vec() }];
                [
                    Case::packed(&[2, channels, pixels], &order(&[0, 2, 1]), width, offsets(turn)),
                    Case::packed(
                        &[channels, 3, pixels],
                        &order(&[1, 2, 0]),
                        width,
                        [offsets(turn + 1)[0], 16],
                    ),
                    Case::packed(&[channels, 2, 3, 20], &order(&[2, 1, 3, 0]), width, [0, 48]),
                ]
            })
        })
    })
}

/// Matrices with rows and columns long enough to be packed before they are transposed: in one strip
/// and in several, ending in whole lines and within them, with rows and columns that jump.
fn strips() -> impl Iterator<Item = Case> {
    let matrices = [1usize, 2, 4, 8, 16].into_iter().flat_map(|width| {
        let row_lengths = [1024, 1040, 1616, 3056, 4608].into_iter().enumerate();
        // Of small elements, shorter rows have as many strips.
        row_lengths.take(if width < 4 { 3 } else { 5 }).flat_map(move |(number, bytes)| {
            [(256, 0), (512, 0), (336, 1)].into_iter().map(move |(row_bytes, more)| {
                let (rows, columns) = (row_bytes / width + more, bytes / width + 3 * more);
                let turn = number + width.ilog2() as usize + more;
                let offsets = match SWEPT_OFFSETS[turn % SWEPT_OFFSETS.len()] {
                    // Elements that are not aligned are not packed.
                    [src, dst] if number % 4 != 0 => [src, dst.next_multiple_of(width)],
                    offsets => offsets,
                };
                let mut ops = vec![PlainOp::Transpose { order: vec![1, 0] }];
                if turn.is_multiple_of(3) {
                    ops.push(PlainOp::Flip { axes: vec![0] });
                }
                Case::packed(&[columns, rows], &ops, width, offsets)
            })
        })
    });
    let jumping: [(&[usize], usize); 5] = [
        (&[40, 30, 20, 14], 1),
        (&[25, 23, 13, 14], 2),
        (&[18, 17, 9, 8], 4),
        (&[13, 11, 6, 7], 8),
        (&[9, 8, 4, 5], 16),
    ];
    let invert = PlainOp::Transpose { order: vec![] };
    let jumping = jumping.into_iter().flat_map(move |(sizes, width)| {
        let invert = invert.clone();
        [[0, 0], [16, 48]]
            .map(move |at| Case::packed(sizes, std::slice::from_ref(&invert), width, at))
    });
    matrices.chain(jumping)
}

/// Elements of odd widths: read backwards, as pixels of three channels that are less or more than
/// three apart, and as matrices.
fn groups() -> impl Iterator<Item = Case> {
    let counts = [3, 7, 11, 22, 23, 40, 65, 100, 300];
    (2..36).flat_map(move |width| {
        counts.into_iter().enumerate().flat_map(move |(number, count)| {
            let offsets = SWEPT_OFFSETS[(number + width) % SWEPT_OFFSETS.len()];
            let flip = PlainOp::Flip { axes: vec![1] };
            let backwards = Case::packed(&[3, count], std::slice::from_ref(&flip), width, offsets);
            let apart = [0, 2, 4, 5].into_iter().flat_map(move |step| {
                [vec![], vec![flip.clone()]].into_iter().map(move |ops| {
                    let packed = Case::packed(&[count, 3], &ops, width, offsets);
                    let strides = [step * width, width].map(usize::cast_signed);
                    let shape = Shape::new([count, 3]).expect("a small shape");
                    let src = Layout::strided(&shape, offsets[0], &strides);
                    Case { src: src.expect("as many strides"), ..packed }
                })
            });
            let turn = PlainOp::Transpose { order: vec![1, 0] };
            let upwards = [vec![turn.clone()], vec![PlainOp::Flip { axes: vec![1] }, turn]];
            let turned = upwards.into_iter().flat_map(move |ops| {
                [[count, 29], [29, count], [count, 67]]
                    .map(|shape| Case::packed(&shape, &ops, width, offsets))
            });
            std::iter::once(backwards).chain(apart).chain(turned)
        })
    })
}

/// Every shift of an axis, alone, outside and inside another.
fn rolls() -> impl Iterator<Item = Case> {
    (1..=17usize).chain([33, 64]).flat_map(|size| {
        (0..size).flat_map(move |shift| {
            let shift = i64::try_from(shift).expect("a small shift");
            [vec![size], vec![size, 3], vec![3, size], vec![2, size, 5]]
                .into_iter()
                .enumerate()
                .map(move |(number, shape)| {
                    let axis = if number < 2 { 0 } else { 1 };
                    let ops = [PlainOp::Roll { shift: vec![shift, 1], axes: vec![axis, -1] }];
                    let width = SWEPT_WIDTHS[(size + number) % SWEPT_WIDTHS.len()];
                    Case::packed(&shape, &ops, width, SWEPT_OFFSETS[number])
                })
        })
    })
}

/// Every order of three or four axes, one or two of which are rolled, and perhaps one reversed.
fn orders_of_rolled() -> impl Iterator<Item = Case> {
    let rolls = [[(0, 1), (2, 5)], [(1, 3), (2, 33)]];
    let shapes = [
        vec![35, 5, 66],
        vec![3, 70, 24],
        vec![2, 12, 130],
        vec![2, 7, 20, 18],
        vec![3, 10, 6, 16],
    ];
    shapes.into_iter().flat_map(move |shape| {
        permutations(shape.len()).into_iter().enumerate().flat_map(move |(number, order)| {
            let shape = shape.clone();
            rolls[number % 2].into_iter().flat_map(move |(axis, shift)| {
                let (shape, order) = (shape.clone(), order.clone());
                [vec![], vec![axis]].into_iter().map(move |flipped| {
                    let ops = [
                        PlainOp::Roll { shift: vec![shift], axes: vec![axis] },
                        PlainOp::Flip { axes: flipped },
                        PlainOp::Transpose { order: order.clone() },
                        PlainOp::Roll { shift: vec![shift % 3], axes: vec![0] },
                    ];
                    let width = [1, 2, 4, 8, 3][(number + shift as usize) % 5];
                    Case::packed(&shape, &ops, width, SWEPT_OFFSETS[number % SWEPT_OFFSETS.len()])
                })
            })
        })
    })
}

/// Many rows of every length to two lines, rolled to all sides of their vectors, and some longer.
fn rows_rolled() -> impl Iterator<Item = Case> {
    (2..=66usize).chain([127, 128, 300, 1284]).flat_map(|size| {
        (1..size).step_by(1 + size / 4).enumerate().flat_map(move |(number, shift)| {
            let shift = i64::try_from(shift).expect("a small shift");
            // As many rows as are worth windows, or few where rows are long.
            let rows = if size < 100 { 65 } else { 5 };
            [(vec![rows + 2, size], 1), (vec![1 + number, rows, size], 1), (vec![rows, size], 4)]
                .map(|(shape, width)| {
                    let ops = [PlainOp::Roll { shift: vec![shift, 2], axes: vec![-1, 0] }];
                    Case::packed(&shape, &ops, width, SWEPT_OFFSETS[number % SWEPT_OFFSETS.len()])
                })
        })
    })
}

/// Every order of three to five axes.
fn orders() -> impl Iterator<Item = Case> {
    let shapes = [vec![17, 9, 33], vec![3, 64, 16], vec![2, 3, 4, 5], vec![4, 2, 3, 2, 5]];
    shapes.into_iter().flat_map(|shape| {
        permutations(shape.len()).into_iter().flat_map(move |order| {
            let shape = shape.clone();
            [1, 4, 6].into_iter().map(move |width| {
                let ops = [PlainOp::Transpose { order: order.clone() }];
                Case::packed(&shape, &ops, width, [0, 0])
            })
        })
    })
}

/// Every order of `rank` axes.
fn permutations(rank: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for axis in 0..rank {
        let axis = i64::try_from(axis).expect("the number of an axis is small");
        all = all
            .into_iter()
            .flat_map(|shorter: Vec<i64>| {
                (0..=shorter.len()).map(move |place| {
                    let mut order = shorter.clone();
                    order.insert(place, axis);
                    order
                })
            })
            .collect();
    }
    all
}

/// Rows of every length reversed along each of three axes, alone and beside another operator.
fn rows_reversed() -> impl Iterator<Item = Case> {
    EDGE_SIZES.into_iter().flat_map(|size| {
        (0..3usize).flat_map(move |axis| {
            let mut shape = vec![5, 3, 4];
            shape[axis] = size;
            let rows: usize = shape.iter().product::<usize>() / size;
            let lengths = (0..rows).map(|row| (row * 7 % (size + 2)) as u64).collect();
            let axis = i64::try_from(axis).expect("one of three");
            let reverse = PlainOp::ReverseSubsequences { axis, lengths };
            let transpose = PlainOp::Transpose { order: vec![2, 0, 1] };
            let flip = PlainOp::Flip { axes: vec![axis] };
            let roll = PlainOp::Roll { shift: vec![1], axes: vec![(axis + 1) % 3] };
            [
                vec![reverse.clone()],
                vec![reverse.clone(), transpose],
                vec![flip.clone(), reverse.clone()],
                vec![reverse.clone(), flip],
                vec![reverse, roll],
            ]
            .into_iter()
            .enumerate()
            .map(move |(number, ops)| {
                let width = SWEPT_WIDTHS[(size + number) % SWEPT_WIDTHS.len()];
                Case::packed(&shape, &ops, width, SWEPT_OFFSETS[number])
            })
        })
    })
}

/// Rows of a few lanes, each with a length of its own: of less than a line, on through slabs, and
/// slabs that are made in several parts.
fn narrow_lanes() -> impl Iterator<Item = Case> {
    let sizes = [(2, 5), (3, 64), (5, 7), (13, 33), (13, 130), (31, 9), (60, 40), (2, 9000)];
    sizes.into_iter().enumerate().flat_map(|(number, (lanes, size))| {
        let lengths: Vec<u64> =
            (0..3 * lanes).map(|lane| (lane * 37 % (size + 1)) as u64).collect();
        let reverse = PlainOp::ReverseSubsequences { axis: 1, lengths };
        let flip = PlainOp::Flip { axes: vec![1] };
        let chains = [vec![reverse.clone()], vec![flip.clone(), reverse, flip]];
        chains.into_iter().enumerate().flat_map(move |(chain, ops)| {
            [1, 2, 3, 4, 7, 8].into_iter().filter(move |width| lanes * width < 64).map(
                move |width| {
                    let offsets = SWEPT_OFFSETS[(number + chain + width) % SWEPT_OFFSETS.len()];
                    Case::packed(&[3, size, lanes], &ops, width, offsets)
                },
            )
        })
    })
}

/// Neighbours with a length each, reversed along the axis outside them: alone, with either axis
/// reversed before or after, and the rows of a window, whose sources lie anywhere.
fn lanes_reversed() -> impl Iterator<Item = Case> {
    let counts = [1, 3, 8, 13, 16, 32, 33, 64, 65, 131];
    let rows = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 130, 515];
    rows.into_iter().flat_map(move |rows| {
        counts.into_iter().enumerate().flat_map(move |(number, lanes)| {
            let shape = [2, rows, lanes];
            let op = PlainOp::ReverseSubsequences {
                axis: 1,
                lengths: lane_lengths(2 * lanes, rows, (rows + number) % 3),
            };
            let flip = |axis| PlainOp::Flip { axes: vec![axis] };
            let chains = [
                vec![op.clone()],
                vec![flip(1), op.clone()],
                vec![op.clone(), flip(1)],
                vec![op.clone(), flip(2)],
                vec![op],
            ];
            chains.into_iter().enumerate().map(move |(chain, ops)| {
                let width = SWEPT_WIDTHS[(rows + number + chain) % (SWEPT_WIDTHS.len() - 1)];
                let offsets = SWEPT_OFFSETS[(number + chain) % SWEPT_OFFSETS.len()];
                let mut case = Case::packed(&shape, &ops, width, offsets);
                if chain == 4 {
                    case.window[1] = rows / 3..rows - rows / 2;
                    let shape = case.window.iter().map(ExactSizeIterator::len);
                    let shape = Shape::new(shape.collect::<Vec<_>>()).expect("a small shape");
                    case.dst = row_major(&shape, width);
                }
                case
            })
        })
    })
}

/// A length for each of `lanes`: scattered, about half of `rows`, or few of them long.
fn lane_lengths(lanes: usize, rows: usize, kind: usize) -> Vec<u64> {
    let length = |lane: usize| match kind {
        0 => lane * 7919 % (rows + 2),
        1 => rows / 2 + lane % 3,
        _ if lane % 11 == 5 => rows - lane % 2,
        _ => lane % 2,
    };
    (0..lanes).map(|lane| length(lane) as u64).collect()
}

/// Shapes that are easily forgotten: none, empty, of single elements, of many axes.
fn corners() -> impl Iterator<Item = Case> {
    let invert = PlainOp::Transpose { order: vec![] };
    let shapes =
        [vec![], vec![0], vec![3, 0, 2], vec![1; 9], vec![2; 12], vec![1, 6, 1, 1, 7, 1, 1]];
    shapes.into_iter().flat_map(move |shape| {
        let invert = invert.clone();
        [0, 1, 4, 1000].into_iter().flat_map(move |width| {
            let ops = [vec![], vec![invert.clone()]];
            let shape = shape.clone();
            ops.into_iter().map(move |ops| Case::packed(&shape, &ops, width, [0, 3]))
        })
    })
}

/// Cases of two megabytes and more: more than the caches of one core, and worth several threads.
pub fn large() -> impl Iterator<Item = Case> {
    let transpose = |order: &[i64]| PlainOp::Transpose { order: order.to_vec() };
    let roll =
        |shift: &[i64], axes: &[i64]| PlainOp::Roll { shift: shift.to_vec(), axes: axes.to_vec() };
    let reverse = |lengths: &[i128]| PlainOp::ReverseSequence {
        axis: 1,
        batch_axis: 0,
        lengths: lengths.to_vec(),
    };
    let lanes = |axis: i64, lanes: usize, rows: usize| PlainOp::ReverseSubsequences {
        axis,
        lengths: lane_lengths(lanes, rows, 0),
    };
    let cases: [(&[usize], PlainOp, usize); 10] = [
        (&[600_011], PlainOp::Flip { axes: vec![0] }, 4),
        (&[500_009], roll(&[123_456], &[0]), 8),
        (&[801, 703], transpose(&[1, 0]), 4),
        (&[1024, 512], transpose(&[1, 0]), 8),
        (&[1451, 1511], transpose(&[1, 0]), 1),
        (&[8, 3, 210, 211], transpose(&[0, 2, 3, 1]), 2),
        (&[60, 90, 100], roll(&[-3, 7, 11], &[0, 1, 2]), 4),
        (&[4, 999, 131], reverse(&[999, 0, 500, 1]), 4),
        (&[3, 515, 1100], lanes(1, 3300, 515), 2),
        (&[20_011, 67], lanes(0, 67, 20_011), 2),
    ];
    cases.into_iter().map(|(shape, op, width)| Case::packed(shape, &[op], width, [0, 0]))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// A backend that copies pair by pair, with a fault if asked for.
    struct PairByPair {
        fault: Fault,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        None,
        LastElementMissing,
        WritesBehindAnElement,
        ReadsTheNeighbour,
        WritesBeforeItRefuses,
        AcceptsShortBuffers,
        ClearsWhatLiesBetween,
    }

    impl Backend for PairByPair {
        type Plan = Move;

        fn plan(&self, work: &Move) -> Move {
            work.clone()
        }

        fn run(&self, plan: &Move, src: &[u8], dst: &mut [u8]) -> trundle_core::Result<()> {
            if self.fault == Fault::WritesBeforeItRefuses && !dst.is_empty() {
                dst[0] ^= 1;
            }
            let shorter =
                [("data", plan.src_bytes(), src.len()), ("out", plan.dst_bytes(), dst.len())];
            for (argument, needed, buffer) in shorter {
                if buffer < needed && self.fault == Fault::AcceptsShortBuffers {
                    return Ok(());
                }
                if buffer < needed {
                    let end = needed.cast_signed();
                    return Err(Error::OutOfBounds { argument, first: 0, end, buffer });
                }
            }
            if self.fault == Fault::WritesBeforeItRefuses && !dst.is_empty() {
                dst[0] ^= 1;
            }
            if self.fault == Fault::ClearsWhatLiesBetween {
                dst[..plan.dst_bytes()].fill(0);
            }
            let mut pairs = Vec::new();
            plan.for_each_pair(|from, to| pairs.push((from, to)));
            if self.fault == Fault::LastElementMissing {
                pairs.pop();
            }
            for (from, to) in pairs {
                let next = self.fault == Fault::ReadsTheNeighbour
                    && from + 2 * plan.width() <= plan.src_bytes();
                let from = from + if next { plan.width() } else { 0 };
                dst[to..to + plan.width()].copy_from_slice(&src[from..from + plan.width()]);
                if self.fault == Fault::WritesBehindAnElement
                    && to + plan.width() == plan.dst_bytes()
                {
                    dst[to + plan.width()] = 0;
                }
            }
            Ok(())
        }
    }

    #[test]
    fn a_backend_that_reads_the_move_as_it_is_conforms() {
        conformance(&PairByPair { fault: Fault::None });
    }

    #[test]
    fn every_fault_of_a_backend_is_found() {
        for fault in [
            Fault::LastElementMissing,
            Fault::WritesBehindAnElement,
            Fault::ReadsTheNeighbour,
            Fault::WritesBeforeItRefuses,
            Fault::AcceptsShortBuffers,
            Fault::ClearsWhatLiesBetween,
        ] {
            let backend = PairByPair { fault };
            let run = AssertUnwindSafe(|| random(&backend, 2000, 300));
            assert!(catch_unwind(run).is_err(), "{fault:?} is not found");
        }
    }
}
