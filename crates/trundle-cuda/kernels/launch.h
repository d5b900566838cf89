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
    // The stores that a row takes; of runs, the blocks.
    Divisor stores;
    // The size of an element.
    Divisor width;
    // How many loops are around rows, and how many there are.
    u32 outer;
    u32 loops;
    // The loop that a table cuts, or NONE; the cut for a length of 0, and what each unit of length adds to it and to where
    // both runs begin; where the sum is that says the length.
    u32 cut_at;
    u32 indices;
    u64 cut_start;
    u64 cut_per_length;
    u64 cut_first_per_length;
    u64 cut_second_per_length;
    u64 cut_sum;
    // Where the sums of the tables of indices are, one behind another.
    u64 index_sums;
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
    u32 unused;
    Loop each[MOST_LOOPS];
};

static_assert(sizeof(Divisor) == 24, "as in src/launch.rs");
static_assert(sizeof(Loop) == 64, "as in src/launch.rs");
static_assert(sizeof(Launch) == 280 + 64 * MOST_LOOPS, "as in src/launch.rs");
static_assert(sizeof(Launch) <= 4096, "what every driver passes to a kernel");

INLINE u64 quotient(const Divisor& divisor, u64 n) {
    return divisor.narrow ? u64(u32(n)) * divisor.narrow >> (31 + divisor.shift)
                          : high_half(2 * n, divisor.wide) >> divisor.shift;
}

// Divides, and gives the remainder.
INLINE u64 divide(u64& n, const Divisor& divisor) {
    const u64 before = n;
    n = quotient(divisor, before);
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
NOT_INLINE u64 sum_of(const Launch& launch, u64 sum, u64 row, u64 element) {
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

// Where an element of a row begins in the source.
INLINE u64 src_of(const Launch& launch, u64 row, u64 element) {
    u64 at = launch.src_offset;
    u64 cut_step = 0;
    u64 rest = element;
    NOT_UNROLLED
    for (u32 i = launch.loops; i > 0; --i) {
        if (i == launch.outer)
            rest = row;
        const Loop& each = launch.each[i - 1];
        const u64 step = divide(rest, each.len);
        if (i - 1 == launch.cut_at)
            cut_step = step;
        else
            at += step < each.cut ? step * each.first_stride : each.second_offset + step * each.second_stride;
    }
    if (launch.cut_at != NONE) {
        const Loop& each = launch.each[launch.cut_at];
        const u64 length = sum_of(launch, launch.cut_sum, row, element);
        // Below 0 and above all steps is no cut.
        if (i64(cut_step) < i64(launch.cut_start + launch.cut_per_length * length))
            at += launch.cut_first_per_length * length + cut_step * each.first_stride;
        else
            at += launch.cut_second_per_length * length + each.second_offset + cut_step * each.second_stride;
    }
    NOT_UNROLLED
    for (u32 i = 0; i < launch.indices; ++i)
        at += sum_of(launch, launch.index_sums + i * (2 + launch.loops), row, element);
    return at;
}

// The element that a thread moved last: where it is in its row, and where it is read.
struct Element {
    u64 begin;
    u64 size;
    u64 src;
};

// Where a place of a row is read. That of an element is worked out again only where another one begins: a thread stays in
// one row.
INLINE u64 source(const Launch& launch, u64 row, u64 place, Element& last) {
    if (place - last.begin >= last.size) {
        const u64 element = quotient(launch.width, place);
        last.size = launch.width.by;
        last.begin = element * last.size;
        last.src = src_of(launch, row, element);
    }
    return last.src + (place - last.begin);
}
