// The parameters of a launch, and the positions of elements. Distances count bytes or packed elements, in two's
// complement.
//
// src/divisor.rs and src/parameters.rs make these structs, and src/tests/layout.rs compares the layouts.
#pragma once

// A divisor. A quotient is the upper half of a product, shifted right by `shift`, where 2^shift is the least power of
// two that is at least `by`. If `narrow` is not 0, it is the factor, and dividends are below 2^31. Otherwise the factor
// is `wide`, and dividends are below 2^63.
struct Divisor {
    u64 by;
    u64 wide;
    u32 narrow;
    u32 shift;
};

// A loop. Iteration i adds i * dst_stride to the destination position. It adds i * first_stride to the source position
// if i is less than `cut`, and second_offset + i * second_stride otherwise. If a table cuts the loop, `cut` is not
// used.
struct Loop {
    Divisor len;
    u64 dst_stride;
    u64 cut;
    u64 first_stride;
    u64 second_offset;
    u64 second_stride;
    // The strides of this loop in the length table and the first index table, in entries.
    u32 length_entries;
    u32 index_entries;
};

constexpr u32 NONE = 0xffffffff;
constexpr u32 MOST_LOOPS = 32;

struct Launch {
    // Addresses. `numbers` has the tables and the index sums, as 64-bit numbers.
    u64 src;
    u64 dst;
    u64 numbers;
    u64 src_bytes;
    u64 src_offset;
    u64 dst_offset;
    // The number of rows (or of matrices of tiles), and the size of a row.
    u64 rows;
    u64 row;
    Divisor stores;
    // The size of an element.
    Divisor width;
    // The number of loops over rows, and of all loops.
    u32 outer;
    u32 loops;
    // The loop that a length table cuts, or NONE; the cut for length 0; and what each unit of length adds to the cut
    // and to the source positions before and after it.
    u32 cut_at;
    // The number of index tables after the first one, and the position of their sums, one after another.
    u32 indices;
    u64 index_sums;
    u64 cut_start;
    u64 cut_per_length;
    u64 cut_first_per_length;
    u64 cut_second_per_length;
    // The positions of the first element's entries in the length table and the first index table, and the factor of the
    // latter: 0 without an index table.
    u32 length_entry;
    u32 index_entry;
    u64 index_scale;
    // The two loops of a tile, and the number of tiles along each.
    u64 across;
    u64 across_dst_stride;
    u64 along;
    u64 along_src_stride;
    Divisor tiles_across;
    Divisor tiles_along;
    // Whether the `across` loop descends in the source.
    u32 reversed;
    // The packing of elements. `order` is 0 for low bits first, 1 for high bits first, 2 for elements in two fields.
    u32 bits;
    u32 group;
    u32 group_bytes;
    u32 order;
    // A tile has 2^across_shift elements along `across`, and the rest of the kernel's number of elements along `along`.
    u32 across_shift;
    // Whether a table has a separate entry for each iteration of the last loop.
    u32 varied;
    u32 unused;
    Loop each[MOST_LOOPS];
};

static_assert(sizeof(Divisor) == 24, "as in src/launch.rs");
static_assert(sizeof(Loop) == 72, "as in src/launch.rs");
static_assert(sizeof(Launch) == 296 + 72 * MOST_LOOPS, "as in src/launch.rs");
static_assert(sizeof(Launch) <= 4096, "what every driver passes to a kernel");

// For dividends below 2^31.
INLINE u32 narrow_quotient(const Divisor& divisor, u32 n) {
    return u32(u64(2 * n) * divisor.narrow >> 32) >> divisor.shift;
}

INLINE u64 quotient(const Divisor& divisor, u64 n) {
    return divisor.narrow ? narrow_quotient(divisor, u32(n)) : high_half(2 * n, divisor.wide) >> divisor.shift;
}

// Divides `n`, and returns the remainder.
INLINE u64 divide(u64& n, const Divisor& divisor) {
    if (divisor.narrow) {
        const u32 before = u32(n);
        const u32 after = narrow_quotient(divisor, before);
        n = after;
        return before - after * u32(divisor.by);
    }
    const u64 before = n;
    n = high_half(2 * n, divisor.wide) >> divisor.shift;
    return before - n * divisor.by;
}

INLINE u64 least(u64 a, u64 b) {
    return a < b ? a : b;
}

INLINE u64 greatest(u64 a, u64 b) {
    return a < b ? b : a;
}

// Returns `bits` ones, 1 to 31.
INLINE u32 ones(u32 bits) {
    return (1u << bits) - 1;
}

INLINE u64 number(const Launch& launch, u64 at) {
    return u64(load_number(launch.numbers + 8 * at));
}

// Returns an entry of an index table, multiplied by its scale. A sum has the position of the first entry, the scale,
// and the stride of each loop in entries. Few moves have sums.
INLINE u64 sum_of(const Launch& launch, u64 sum, u64 row, u64 element) {
    u64 entry = number(launch, sum);
    u64 rest = element;
    NOT_UNROLLED
    for (u32 i = launch.loops; i > 0; --i) {
        if (i == launch.outer)
            rest = row;
        entry += divide(rest, launch.each[i - 1].len) * number(launch, sum + 1 + i);
    }
    return number(launch, entry) * number(launch, sum + 1);
}

INLINE u64 dst_of(const Launch& launch, u64 row) {
    u64 at = launch.dst_offset;
    NOT_UNROLLED
    for (u32 i = launch.outer; i > 0; --i)
        at += divide(row, launch.each[i - 1].len) * launch.each[i - 1].dst_stride;
    return at;
}

// Consecutive elements of a row with a constant stride in the source: the position of the first in the row, their size
// in bytes or packed elements, the position of the first in the source, and the stride.
struct Stretch {
    u64 begin;
    u64 size;
    u64 src;
    u64 stride;
};

// Returns the number of iterations from `step` until the stride changes at `cut` (which may be outside the loop) or the
// loop ends.
INLINE u64 even_steps(i64 step, i64 cut, i64 len) {
    return u64((step < cut && cut < len ? cut : len) - step);
}

// Returns the stretch of at least one element that begins at `element` of a row.
INLINE Stretch stretch_of(const Launch& launch, u64 row, u64 element) {
    Stretch made{element * launch.width.by, 1, launch.src_offset, 0};
    u64 cut_step = 0;
    u32 length_entry = launch.length_entry;
    u32 index_entry = launch.index_entry;
    u64 rest = element;
    NOT_UNROLLED
    for (u32 i = launch.loops; i > 0; --i) {
        if (i == launch.outer)
            rest = row;
        const Loop& each = launch.each[i - 1];
        const u64 step = divide(rest, each.len);
        length_entry += u32(step) * each.length_entries;
        index_entry += u32(step) * each.index_entries;
        if (i - 1 == launch.cut_at) {
            cut_step = step;
            continue;
        }
        const bool first = step < each.cut;
        const u64 stride = first ? each.first_stride : each.second_stride;
        made.src += step * stride + (first ? 0 : each.second_offset);
        if (i == launch.loops) {
            made.size = even_steps(step, each.cut, each.len.by);
            made.stride = stride;
        }
    }
    if (launch.cut_at != NONE) {
        const Loop& each = launch.each[launch.cut_at];
        const u64 length = number(launch, length_entry);
        // A cut outside the loop has no effect.
        const i64 cut = i64(launch.cut_start + launch.cut_per_length * length);
        const bool first = i64(cut_step) < cut;
        const u64 stride = first ? each.first_stride : each.second_stride;
        made.src += cut_step * stride + (first ? 0 : each.second_offset);
        made.src += (first ? launch.cut_first_per_length : launch.cut_second_per_length) * length;
        if (launch.cut_at + 1 == launch.loops) {
            made.size = even_steps(cut_step, cut, each.len.by);
            made.stride = stride;
        }
    }
    if (launch.index_scale)
        made.src += number(launch, index_entry) * launch.index_scale;
    NOT_UNROLLED
    for (u32 i = 0; i < launch.indices; ++i)
        made.src += sum_of(launch, launch.index_sums + i * (2 + launch.loops), row, element);
    if (launch.varied || launch.loops == launch.outer)
        made.size = 1;
    made.size *= launch.width.by;
    return made;
}

INLINE u64 src_of(const Launch& launch, u64 matrix) {
    return stretch_of(launch, matrix, 0).src;
}

struct Place {
    // The distances from the first element of the stretch, and from the start of the element.
    u64 within;
    u64 within_element;
    u64 src;
};

// Returns where a position of a row is read. Computes its stretch only if the position is not in `last`, which must be
// a stretch of the same row.
INLINE Place place_of(const Launch& launch, u64 row, u64 place, Stretch& last) {
    if (place - last.begin >= last.size)
        last = stretch_of(launch, row, quotient(launch.width, place));
    Place found;
    found.within = place - last.begin;
    u64 element = found.within;
    found.within_element = divide(element, launch.width);
    found.src = last.src + element * last.stride + found.within_element;
    return found;
}
