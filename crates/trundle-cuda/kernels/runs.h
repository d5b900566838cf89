// The runs kernels, for elements that are contiguous in the source, ascending or descending. Each thread writes several
// vectors.
#pragma once

constexpr u32 VECTOR = 16;

// The source of a vector: 0 if its elements are not contiguous, or if loading it would leave the source.
struct Run {
    u64 src;
    bool reversed;
    // Whether all later vectors of the thread continue this run.
    bool goes_on;
};

template <u32 GRAIN> INLINE Run run_at(const Launch& launch, const Place& place, const Stretch& stretch) {
    const u64 width = launch.width.by;
    const bool upwards = stretch.stride == width;
    const bool downwards = stretch.stride == 0 - width && width <= 8 && place.within_element == 0;
    const bool within_element = place.within_element + VECTOR <= width;
    if (!within_element && (place.within + VECTOR > stretch.size || !(upwards || downwards)))
        return {0, false, false};
    Run run{launch.src + place.src, !within_element && !upwards, false};
    if (run.reversed)
        run.src -= VECTOR - width;
    run.goes_on = place.within_element + span(VECTOR) <= width
                  || (place.within + span(VECTOR) <= stretch.size && (upwards || run.reversed));
    if constexpr (GRAIN < VECTOR) {
        // Only whole aligned vectors are loaded.
        const u64 first = run.src / VECTOR * VECTOR;
        const u64 end = first + (run.src == first ? VECTOR : 2 * VECTOR);
        if (first < launch.src || end > launch.src + launch.src_bytes)
            return {0, false, false};
        const u64 reach = span(VECTOR) - VECTOR;
        run.goes_on &= run.reversed ? first - launch.src >= reach : launch.src + launch.src_bytes - end >= reach;
    }
    return run;
}

// Handles the vector at `at`, or the part of it that belongs to the row that begins at `begin`. If it is within one
// run, returns the run, and the caller does the store. Otherwise writes the vector, by words if possible.
template <u32 GRAIN> INLINE Run make_vector(const Launch& launch, u64 row, u64 begin, u64 at, Stretch& last) {
    constexpr u32 SIZE = Made<GRAIN>::SIZE;
    const u64 end = least(begin + launch.row, at + VECTOR);
    u64 to = greatest(begin, at);
    NOT_UNROLLED
    while (to < end) {
        const Place place = place_of(launch, row, to - begin, last);
        if (to + VECTOR <= end) {
            const Run run = run_at<GRAIN>(launch, place, last);
            if (run.src)
                return run;
        }
        const bool is_even = place.within_element + SIZE <= launch.width.by
                             || (last.stride == launch.width.by && place.within + SIZE <= last.size);
        if (GRAIN == SIZE || (is_even && to % SIZE == 0 && to + SIZE <= end)) {
            store<SIZE>(to, load_even<GRAIN>(launch.src + place.src, GRAIN));
            to += SIZE;
        } else {
            store<GRAIN>(to, load<GRAIN>(launch.src + place.src));
            to += GRAIN;
        }
    }
    return {0, false, false};
}

// Returns 16 bytes of the sequence `first`, `second`, from byte `shift` on.
INLINE Vector vector_of(const Vector& first, const Vector& second, u32 shift) {
    u32 words[8];
    UNROLLED
    for (u32 i = 0; i < 4; ++i) {
        words[i] = first.words[i];
        words[4 + i] = second.words[i];
    }
    UNROLLED
    for (u32 i = 0; i < 6; ++i)
        words[i] = shift & 8 ? words[i + 2] : words[i];
    UNROLLED
    for (u32 i = 0; i < 5; ++i)
        words[i] = shift & 4 ? words[i + 1] : words[i];
    Vector made;
    UNROLLED
    for (u32 i = 0; i < 4; ++i)
        made.words[i] = upper_of(words[i], words[i + 1], 8 * (shift % 4));
    return made;
}

// Reverses the elements of a vector, of 1, 2, 4 or 8 bytes.
INLINE Vector reversed_vector(const Vector& vector, u32 width) {
    const u32 which = width == 1 ? 0x0123 : width == 2 ? 0x1032 : 0x3210;
    Vector made;
    UNROLLED
    for (u32 i = 0; i < 4; ++i)
        made.words[i] = bytes_of(width == 8 ? vector.words[(i + 2) % 4] : vector.words[3 - i], 0, which);
    return made;
}

// Moves the vectors of a thread. `run` returns the source of a vector (or 0), and `at` its destination. All loads come
// before the first store, so that they overlap.
template <u32 GRAIN, class RunOf, class PlaceOf>
INLINE void move_vectors(const Launch& launch, const RunOf& run, const PlaceOf& at) {
    Vector values[STORES];
    Vector behind[STORES];
    UNROLLED
    for (u32 turn = 0; turn < STORES; ++turn)
        if (const u64 src = run(turn).src) {
            values[turn] = load<VECTOR>(src / VECTOR * VECTOR);
            if (GRAIN < VECTOR && src % VECTOR)
                behind[turn] = load<VECTOR>(src / VECTOR * VECTOR + VECTOR);
        }
    UNROLLED
    for (u32 turn = 0; turn < STORES; ++turn)
        if (const u64 src = run(turn).src) {
            if (GRAIN < VECTOR && src % VECTOR)
                values[turn] = vector_of(values[turn], behind[turn], u32(src % VECTOR));
            if (GRAIN < VECTOR && run(turn).reversed)
                values[turn] = reversed_vector(values[turn], u32(launch.width.by));
            store<VECTOR>(at(turn), values[turn]);
        }
}

template <u32 GRAIN> INLINE void runs(const Launch& launch, u64 block) {
    EACH_THREAD(thread) {
        u64 places[STORES] = {};
        Run found[STORES] = {};
        each_store(launch, block, thread, [&](u32 turn, u64 number, u64 row, u64 begin, Stretch& last) {
            const u64 at = begin / VECTOR * VECTOR + number * VECTOR;
            const Run run = make_vector<GRAIN>(launch, row, begin, at, last);
            set(places, turn, at);
            set(found, turn, run);
            return turn == 0 && run.goes_on;
        });
        if (found[0].goes_on) {
            const u64 first = places[0];
            const Run run = found[0];
            const u64 step = run.reversed ? 0 - u64(apart(VECTOR)) : apart(VECTOR);
            move_vectors<GRAIN>(
                launch, [&](u32 turn) { return Run{run.src + turn * step, run.reversed, true}; },
                [&](u32 turn) { return first + turn * apart(VECTOR); });
        } else {
            move_vectors<GRAIN>(
                launch, [&](u32 turn) { return found[turn]; }, [&](u32 turn) { return places[turn]; });
        }
    }
}
