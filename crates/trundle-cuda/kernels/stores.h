// What one store writes: a grain, or a word of 4 bytes that is made of smaller ones.
#pragma once

template <u32 GRAIN> struct Made {
    static constexpr u32 SIZE = GRAIN < 4 ? 4 : GRAIN;
    typename Unit<SIZE>::type value;
    // The address, and which of its bytes are made.
    u64 at;
    u32 from;
    u32 to;
};

// What a store writes that is all of one element.
template <u32 GRAIN> INLINE typename Unit<Made<GRAIN>::SIZE>::type load_store(u64 src) {
    if constexpr (GRAIN == Made<GRAIN>::SIZE) {
        return load<GRAIN>(src);
    } else {
        u32 value = 0;
        UNROLLED
        for (u32 within = 0; within < Made<GRAIN>::SIZE; within += GRAIN)
            value |= u32(load<GRAIN>(src + within)) << 8 * within;
        return value;
    }
}

// Makes a store of a row that begins at an address.
template <u32 GRAIN> INLINE Made<GRAIN> make(const Launch& launch, u64 row, u64 begin, u64 number, Element& last) {
    constexpr u32 SIZE = Made<GRAIN>::SIZE;
    Made<GRAIN> made{};
    made.at = begin / SIZE * SIZE + number * SIZE;
    const u64 first = greatest(begin, made.at);
    const u64 end = least(begin + launch.row, made.at + SIZE);
    if (first >= end)
        return made;
    made.from = u32(first - made.at);
    made.to = u32(end - made.at);
    u32 within = made.from;
    NOT_UNROLLED
    do {
        const u64 place = made.at + within - begin;
        const u64 src = launch.src + source(launch, row, place, last);
        if (made.to - made.from == SIZE && within == 0 && place - last.begin + SIZE <= last.size) {
            made.value = load_store<GRAIN>(src);
            break;
        }
        if constexpr (GRAIN < SIZE)
            made.value |= u32(load<GRAIN>(src)) << 8 * within;
        within += GRAIN;
    } while (within < made.to);
    return made;
}

// Writes what is made, and nothing beside it.
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
