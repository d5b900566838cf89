// A block makes a stretch of one row, its threads neighbouring stores of it in each turn.
#pragma once

template <u32 GRAIN> INLINE void runs(const Launch& launch, u64 block) {
    constexpr u32 SIZE = Made<GRAIN>::SIZE;
    constexpr u32 TURN = WORKGROUP * SIZE;
    u64 row = block;
    const u64 stretch = divide(row, launch.stores) * (WORKGROUP * STORES_OF_RUNS);
    const u64 begin = launch.dst + dst_of(launch, row);
    EACH_THREAD(thread) {
        Element last{};
        const u64 number = stretch + thread;
        const u64 at = begin / SIZE * SIZE + number * SIZE;
        const u64 end = at + (STORES_OF_RUNS - 1) * TURN + SIZE;
        const bool within_row = at >= begin && end <= begin + launch.row;
        const u64 src = within_row ? launch.src + source(launch, row, at - begin, last) : 0;
        if (within_row && end - begin - last.begin <= last.size) {
            // All are of one element, and read before any is written, so that they are on their way together.
            typename Unit<SIZE>::type values[STORES_OF_RUNS];
            UNROLLED
            for (u32 turn = 0; turn < STORES_OF_RUNS; ++turn)
                values[turn] = load_store<GRAIN>(src + turn * TURN);
            UNROLLED
            for (u32 turn = 0; turn < STORES_OF_RUNS; ++turn)
                store<SIZE>(at + turn * TURN, values[turn]);
        } else {
            NOT_UNROLLED
            for (u32 turn = 0; turn < STORES_OF_RUNS; ++turn)
                put(make<GRAIN>(launch, row, begin, number + turn * WORKGROUP, last));
        }
    }
}
