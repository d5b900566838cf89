// The launch parameters of all kernels, and the positions of elements. Offsets and strides count grains of the access.
// Negative numbers are stored modulo 2^32, and sums wrap.

struct Launch {
    workgroups: u32,
    // Workgroups in one row of the grid.
    grid: u32,
    src_offset: u32,
    dst_offset: u32,
    // Only elements that begin before this offset in the source window are moved.
    src_end: u32,
    width: u32,
    rows: u32,
    row: u32,
    stores: u32,
    // The number of loops outside rows, and of all loops.
    outer: u32,
    loops: u32,
    // The loop that a table cuts, or NONE. `cut_sum` is the position of its sum in `numbers`.
    cut_at: u32,
    cut_start: u32,
    cut_per_length: u32,
    cut_first_per_length: u32,
    cut_second_per_length: u32,
    cut_sum: u32,
    // The number of index tables, and the position of their sums in `numbers`.
    indices: u32,
    index_sums: u32,
    // The loops of tiles.
    across: u32,
    across_dst_stride: u32,
    reversed: u32,
    along: u32,
    along_src_stride: u32,
    // For each loop: steps, destination stride, cut, source stride before the cut, offset and source stride after it.
    // For each sum: the first entry, the scale, and a stride for each loop.
    numbers: array<u32>,
}

@group(0) @binding(0) var<storage, read> src: array<SrcGrain>;
@group(0) @binding(1) var<storage, read_write> dst: array<DstGrain>;
@group(0) @binding(2) var<storage, read> launch: Launch;
@group(0) @binding(3) var<storage, read> tables: array<u32>;

const NONE = 0xffffffffu;
const LOOP = 6u;

// The start of a row in the destination.
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

// The start of an element of a row in the source.
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

// A table entry, times its scale.
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

// A mask of the lowest 1 to 32 bits.
fn ones(bits: u32) -> u32 {
    return 0xffffffffu >> (32u - bits);
}
