// Each thread makes one store, of whatever elements it has.
#pragma once

template <u32 GRAIN> INLINE void gather(const Launch& launch, u64 block) {
    EACH_THREAD(thread) {
        u64 row = block * WORKGROUP + thread;
        const u64 number = divide(row, launch.stores);
        if (row < launch.rows) {
            Element last{};
            put(make<GRAIN>(launch, row, launch.dst + dst_of(launch, row), number, last));
        }
    }
}
