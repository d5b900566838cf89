// What every kernel is launched with, and where elements lie. Numbers count grains of the access; what is negative wraps
// around, and sums do too.

struct Launch {
    workgroups: u32,
    // The workgroups of one row of the grid.
    grid: u32,
    src_offset: u32,
    dst_offset: u32,
    // Only what begins before this place of the source's window is moved.
    src_end: u32,
    width: u32,
    rows: u32,
    row: u32,
    stores: u32,
    // How many loops are around rows, and how many there are.
    outer: u32,
    loops: u32,
    // The loop that a table cuts, or NONE; where its sum is among the numbers.
    cut_at: u32,
    cut_start: u32,
    cut_per_length: u32,
    cut_first_per_length: u32,
    cut_second_per_length: u32,
    cut_sum: u32,
    // How many tables of indices there are, and where their sums are.
    indices: u32,
    index_sums: u32,
    // The loops of tiles.
    across: u32,
    across_dst_stride: u32,
    reversed: u32,
    along: u32,
    along_src_stride: u32,
    // Of each loop: steps, destination stride, cut, stride before it, offset and stride behind it. Of each sum: the first
    // entry, the scale, a stride for each loop.
    numbers: array<u32>,
}

@group(0) @binding(0) var<storage, read> src: array<SrcGrain>;
@group(0) @binding(1) var<storage, read_write> dst: array<DstGrain>;
@group(0) @binding(2) var<storage, read> launch: Launch;
@group(0) @binding(3) var<storage, read> tables: array<u32>;

const NONE = 0xffffffffu;
const LOOP = 6u;

// Where a row begins in the destination.
fn dst_of(row: u32) -> u32 {
    var rest = row;
    var at = launch.dst_offset;
    for (var i = launch.outer; i > 0u; i -= 1u) {
        let each = LOOP * (i - 1u);
        let len = launch.numbers[each];
        at += rest % len * launch.numbers[each + 1u];
        rest /= len;
    }
    return at;
}

// Where an element of a row begins in the source.
fn src_of(row: u32, element: u32) -> u32 {
    var at = launch.src_offset;
    var cut_step = 0u;
    var rest = element;
    for (var i = launch.loops; i > 0u; i -= 1u) {
        if i == launch.outer {
            rest = row;
        }
        let each = LOOP * (i - 1u);
        let len = launch.numbers[each];
        let step = rest % len;
        rest /= len;
        if i - 1u == launch.cut_at {
            cut_step = step;
        } else if step < launch.numbers[each + 2u] {
            at += step * launch.numbers[each + 3u];
        } else {
            at += launch.numbers[each + 4u] + step * launch.numbers[each + 5u];
        }
    }
    if launch.cut_at != NONE {
        let each = LOOP * launch.cut_at;
        let length = sum_of(launch.cut_sum, row, element);
        let cut = bitcast<i32>(launch.cut_start + launch.cut_per_length * length);
        if cut_step < u32(clamp(cut, 0i, i32(launch.numbers[each]))) {
            at += launch.cut_first_per_length * length + cut_step * launch.numbers[each + 3u];
        } else {
            at += launch.cut_second_per_length * length + launch.numbers[each + 4u]
                + cut_step * launch.numbers[each + 5u];
        }
    }
    let sum_size = 2u + launch.loops;
    for (var i = 0u; i < launch.indices; i += 1u) {
        at += sum_of(launch.index_sums + i * sum_size, row, element);
    }
    return at;
}

// An entry of the tables, times its scale.
fn sum_of(sum: u32, row: u32, element: u32) -> u32 {
    var entry = launch.numbers[sum];
    var rest = element;
    for (var i = launch.loops; i > 0u; i -= 1u) {
        if i == launch.outer {
            rest = row;
        }
        let len = launch.numbers[LOOP * (i - 1u)];
        entry += rest % len * launch.numbers[sum + 1u + i];
        rest /= len;
    }
    return tables[entry] * launch.numbers[sum + 1u];
}

// So many ones: 1 to 32.
fn ones(bits: u32) -> u32 {
    return 0xffffffffu >> (32u - bits);
}
