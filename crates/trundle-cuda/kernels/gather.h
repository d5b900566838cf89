// The gather kernels, for elements of any size.
#pragma once

// The source of a store whose grains have a constant stride in the source; 0 if they have not.
struct Even {
    u64 src;
    u64 stride;
    // Whether all later stores of the thread have the same stride.
    bool goes_on;
};

// Returns the source of `bytes` bytes, from a place on.
template <u32 GRAIN> INLINE Even even_at(const Launch& launch, const Place& place, const Stretch& stretch, u32 bytes) {
    const u64 src = launch.src + place.src;
    if (place.within_element + bytes <= launch.width.by)
        return {src, GRAIN, false};
    if (place.within + bytes > stretch.size || (launch.width.by != GRAIN && stretch.stride != launch.width.by))
        return {0, 0, false};
    return {src, stretch.stride == launch.width.by ? GRAIN : stretch.stride, false};
}

// Handles the store at `at`, or the part of it that belongs to the row that begins at `begin`. If its grains have a
// constant stride in the source, returns their source, and the caller does the store. Otherwise reads grain by grain,
// and does the store.
template <u32 GRAIN> INLINE Even make(const Launch& launch, u64 row, u64 begin, u64 at, Stretch& last) {
    constexpr u32 SIZE = Made<GRAIN>::SIZE;
    Made<GRAIN> made{};
    made.at = at;
    const u64 first = greatest(begin, at);
    const u64 end = least(begin + launch.row, at + SIZE);
    if (first >= end)
        return {0, 0, false};
    made.from = u32(first - at);
    made.to = u32(end - at);
    u32 within = made.from;
    NOT_UNROLLED
    do {
        const Place place = place_of(launch, row, at + within - begin, last);
        if (made.to - made.from == SIZE && within == 0) {
            Even even = even_at<GRAIN>(launch, place, last, SIZE);
            const Even all = even_at<GRAIN>(launch, place, last, span(SIZE));
            if (all.src)
                even.stride = all.stride;
            even.goes_on = all.src;
            if (even.src)
                return even;
        }
        if constexpr (GRAIN < SIZE)
            made.value |= u32(load<GRAIN>(launch.src + place.src)) << 8 * within;
        within += GRAIN;
    } while (within < made.to);
    put(made);
    return {0, 0, false};
}

template <u32 GRAIN> INLINE void gather(const Launch& launch, u64 block) {
    constexpr u32 SIZE = Made<GRAIN>::SIZE;
    EACH_THREAD(thread) {
        u64 places[STORES];
        Even even[STORES] = {};
        each_store(launch, block, thread, [&](u32 turn, u64 number, u64 row, u64 begin, Stretch& last) {
            const u64 at = begin / SIZE * SIZE + number * SIZE;
            const Even found = make<GRAIN>(launch, row, begin, at, last);
            if (turn > 0 || !found.goes_on) {
                set(places, turn, at);
                set(even, turn, found);
                return false;
            }
            UNROLLED
            for (u32 other = 0; other < STORES; ++other) {
                places[other] = at + other * apart(SIZE);
                even[other] = {found.src + other * (apart(SIZE) / GRAIN * found.stride), found.stride, true};
            }
            return true;
        });
        // All loads come before the first store, so that they overlap.
        typename Unit<SIZE>::type values[STORES];
        UNROLLED
        for (u32 turn = 0; turn < STORES; ++turn)
            if (even[turn].src)
                values[turn] = load_even<GRAIN>(even[turn].src, even[turn].stride);
        UNROLLED
        for (u32 turn = 0; turn < STORES; ++turn)
            if (even[turn].src)
                store<SIZE>(places[turn], values[turn]);
    }
}
