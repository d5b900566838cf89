// What kernels are launched with, and where elements lie. Distances count bytes, or packed elements; what is negative wraps
// around.
//
// src/launch.rs has the same structs, and makes them; tests hold one against the other.
#pragma once

// A divisor: a quotient is a product and a shift by `shift`, the least power of two that is no less. Of dividends below 2^31
// the product is one of 32 bits; a narrow multiplier of 0 says that there are others, below 2^63.
struct Divisor {
    u64 by;
    u64 wide;
    u32 narrow;
    u32 shift;
};

// A loop: step i adds i * dst_stride in the destination and in the source i * first_stride before step `cut`, and
// second_offset + i * second_stride from it on. Of a loop that a table cuts, `cut` is not read.
struct Loop {
    Divisor len;
    u64 dst_stride;
    u64 cut;
    u64 first_stride;
    u64 second_offset;
    u64 second_stride;
    // The distance between neighbours in the table of lengths, and in the first one of indices.
    u32 length_entries;
    u32 index_entries;
};

constexpr u32 NONE = 0xffffffff;
constexpr u32 MOST_LOOPS = 32;

struct Launch {
    // Addresses. `numbers` has tables and the sums that read them, in 64 bits each.
    u64 src;
    u64 dst;
    u64 numbers;
    u64 src_bytes;
    u64 src_offset;
    u64 dst_offset;
    // How many rows there are, or matrices of tiles; the size of a row.
    u64 rows;
    u64 row;
    // The stores that a row takes.
    Divisor stores;
    // The size of an element.
    Divisor width;
    // How many loops are around rows, and how many there are.
    u32 outer;
    u32 loops;
    // The loop that a table cuts, or NONE; the cut for a length of 0, and what each unit of length adds to it and to where
    // both runs begin.
    u32 cut_at;
    // How many tables of indices there are beside the first, and where their sums are, one behind another.
    u32 indices;
    u64 index_sums;
    u64 cut_start;
    u64 cut_per_length;
    u64 cut_first_per_length;
    u64 cut_second_per_length;
    // The entries of the first position in the table of lengths and in the first one of indices, and what such an index is
    // multiplied by: 0 if there is none.
    u32 length_entry;
    u32 index_entry;
    u64 index_scale;
    // The loops of tiles, and how many tiles there are in both directions.
    u64 across;
    u64 across_dst_stride;
    u64 along;
    u64 along_src_stride;
    Divisor tiles_across;
    Divisor tiles_along;
    // Whether steps across follow each other downwards in the source.
    u32 reversed;
    // How elements are packed, with their order: 0 low first, 1 high first, 2 split.
    u32 bits;
    u32 group;
    u32 group_bytes;
    u32 order;
    // The steps across of a tile are a power of two, this one; those along make a kernel's number of elements of them.
    u32 across_shift;
    // Whether a table has an entry of its own for each step of the last loop.
    u32 varied;
    u32 unused;
    Loop each[MOST_LOOPS];
};

static_assert(sizeof(Divisor) == 24, "as in src/launch.rs");
static_assert(sizeof(Loop) == 72, "as in src/launch.rs");
static_assert(sizeof(Launch) == 296 + 72 * MOST_LOOPS, "as in src/launch.rs");
static_assert(sizeof(Launch) <= 4096, "what every driver passes to a kernel");

// Of dividends below 2^31.
INLINE u32 narrow_quotient(const Divisor& divisor, u32 n) {
    return u32(u64(2 * n) * divisor.narrow >> 32) >> divisor.shift;
}

INLINE u64 quotient(const Divisor& divisor, u64 n) {
    return divisor.narrow ? narrow_quotient(divisor, u32(n)) : high_half(2 * n, divisor.wide) >> divisor.shift;
}

// Divides, and gives the remainder.
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

// So many ones: 1 to 31.
INLINE u32 ones(u32 bits) {
    return (1u << bits) - 1;
}

INLINE u64 number(const Launch& launch, u64 at) {
    return u64(load_number(launch.numbers + 8 * at));
}

// An entry of a table times a scale: a sum is both, and a distance in entries for each loop. Few moves have any.
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

// Where a row begins in the destination.
INLINE u64 dst_of(const Launch& launch, u64 row) {
    u64 at = launch.dst_offset;
    NOT_UNROLLED
    for (u32 i = launch.outer; i > 0; --i)
        at += divide(row, launch.each[i - 1].len) * launch.each[i - 1].dst_stride;
    return at;
}

// Elements of a row that are read at even distances: where in the row the first begins, how many bytes or packed elements of
// the row they are, where the first is read, and the distance.
struct Stretch {
    u64 begin;
    u64 size;
    u64 src;
    u64 stride;
};

// How many steps of a loop from a step on are read evenly, as the first run or the second. `cut` may be anywhere.
INLINE u64 even_steps(i64 step, i64 cut, i64 len) {
    return u64((step < cut && cut < len ? cut : len) - step);
}

// What is read evenly from an element of a row on: at least this one.
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
        // Below 0 and above all steps is not a cut.
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

// Where a matrix of tiles begins in the source.
INLINE u64 src_of(const Launch& launch, u64 matrix) {
    return stretch_of(launch, matrix, 0).src;
}

// A place of a row, as what of a stretch it is in.
struct Place {
    // How far behind the first element of the stretch, and behind the beginning of its own.
    u64 within;
    u64 within_element;
    u64 src;
};

// Where a place of a row is read. Its stretch is worked out only where another one begins: who asks stays in one row.
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
