// The stores of a thread: each writes one grain, or a word that is made from smaller grains.
#pragma once

template <u32 GRAIN> struct Made {
    static constexpr u32 SIZE = GRAIN < 4 ? 4 : GRAIN;
    typename Unit<SIZE>::type value;
    // The address, and the range of bytes to write.
    u64 at;
    u32 from;
    u32 to;
};

// Loads grains with a constant stride as one value.
template <u32 GRAIN> INLINE typename Unit<Made<GRAIN>::SIZE>::type load_even(u64 src, u64 stride) {
    if constexpr (GRAIN == Made<GRAIN>::SIZE) {
        return load<GRAIN>(src);
    } else {
        u32 value = 0;
        UNROLLED
        for (u32 within = 0; within < Made<GRAIN>::SIZE; within += GRAIN, src += stride)
            value |= u32(load<GRAIN>(src)) << 8 * within;
        return value;
    }
}

// Writes the bytes from `made.from` to `made.to`, and no others.
template <u32 GRAIN> INLINE void put(const Made<GRAIN>& made) {
    constexpr u32 SIZE = Made<GRAIN>::SIZE;
    if (made.to - made.from == SIZE) {
        store<SIZE>(made.at, made.value);
        return;
    }
    if constexpr (GRAIN < SIZE) {
        UNROLLED
        for (u32 within = 0; within < SIZE; within += GRAIN)
            if (within >= made.from && within < made.to)
                store<GRAIN>(made.at + within, typename Unit<GRAIN>::type(made.value >> 8 * within));
    }
}

// The distance between the stores of a thread, in bytes.
INLINE constexpr u32 apart(u32 size) {
    return 32 * size;
}

INLINE constexpr u32 span(u32 size) {
    return (STORES - 1) * apart(size) + size;
}

// Calls `one` for each store of a thread, with the index of the store among the thread's stores, its index in the row,
// the row, the address of the row, and the last stretch that was found in it. If `one` returns true, it has handled all
// later stores.
//
// The stores of a thread are 32 stores apart, so that those of a warp are contiguous. Most are in one row and use the
// same stretch.
template <class One> INLINE void each_store(const Launch& launch, u64 block, u32 thread, const One& one) {
    const u64 first = (block * WORKGROUP + thread / 32 * 32) * STORES + thread % 32;
    u64 known = ~u64(0);
    u64 begin = 0;
    Stretch last{};
    NOT_UNROLLED
    for (u32 turn = 0; turn < STORES; ++turn) {
        u64 row = first + 32 * turn;
        const u64 number = divide(row, launch.stores);
        if (row >= launch.rows)
            break;
        if (row != known) {
            known = row;
            begin = launch.dst + dst_of(launch, row);
            last.size = 0;
        }
        if (one(turn, number, row, begin, last))
            break;
    }
}

// Sets `values[at]`, unrolled, so that the array stays in registers.
template <class Value, u32 COUNT> INLINE void set(Value (&values)[COUNT], u32 at, Value value) {
    UNROLLED
    for (u32 i = 0; i < COUNT; ++i)
        if (i == at)
            values[i] = value;
}
