// Transposes tiles. A block copies the rows of a tile to shared memory, and then writes the columns from there.
// Adjacent threads read and write adjacent addresses.
//
// In each turn, a block moves several lines (rows or columns), and a thread the same unit of a line. All its loads come
// before it uses the first value, so that they overlap.
#pragma once

// The tile of a block: the addresses of its first row in the source and its first column in the destination, the
// distance between columns, and the lengths along both loops. If `across` descends in the source, its last element
// is first in memory, and the distance is negated.
struct Tile {
    u64 src;
    u64 dst;
    u64 dst_stride;
    u32 across;
    u32 along;
};

// Returns the tile of a block. A full tile has the lengths 2^across_shift along `across` and 2^along_shift along
// `along`.
INLINE Tile tile_of(const Launch& launch, u64 block, u32 along_shift, u32 width) {
    u64 matrix = block;
    const u64 along = divide(matrix, launch.tiles_along) << along_shift;
    const u64 across = divide(matrix, launch.tiles_across) << launch.across_shift;
    Tile tile;
    tile.across = u32(least(1u << launch.across_shift, launch.across - across));
    tile.along = u32(least(1u << along_shift, launch.along - along));
    const u64 last = across + tile.across - 1;
    const u64 before = launch.reversed ? 0 - last : across;
    tile.src = launch.src + src_of(launch, matrix) + before * width + along * launch.along_src_stride;
    tile.dst = launch.dst + dst_of(launch, matrix) + along * width
               + (launch.reversed ? last : across) * launch.across_dst_stride;
    tile.dst_stride = launch.reversed ? 0 - launch.across_dst_stride : launch.across_dst_stride;
    return tile;
}

// A thread's line and unit in the first turn, and the number of lines per turn. If 256 threads are not whole lines,
// some have no work.
struct Turns {
    u32 line;
    u32 unit;
    u32 lines;
    bool has_any;
};

template <u32 COUNT> INLINE Turns turns_of(u32 thread, u32 shift) {
    const u32 line = (thread >> shift) / COUNT;
    const u32 lines = (WORKGROUP >> shift) / COUNT;
    return {line, thread - line * (COUNT << shift), lines, line < lines};
}

// Transposes tiles of 2^LOG_ELEMENTS elements, each of COUNT units of UNIT bytes.
template <u32 UNIT, u32 COUNT, u32 LOG_ELEMENTS> INLINE void tiles(const Launch& launch, u64 block) {
    typedef typename Unit<UNIT>::type Value;
    // With three units per element, some threads have no work, so there are more turns, perhaps outside the tile.
    constexpr u32 TURNS = ((COUNT == 3 ? 4 : COUNT) << LOG_ELEMENTS) / WORKGROUP;
    constexpr u32 LANES = 128 / UNIT;
    SHARED(Value, shared, (COUNT << LOG_ELEMENTS) * (COUNT == 3 ? 7 : 5) / 4);
    const u32 across_shift = launch.across_shift;
    const u32 along_shift = LOG_ELEMENTS - across_shift;
    // The padding puts the units of a column, or of several short ones, in different banks.
    const u32 pitch = (COUNT << across_shift) + (LANES >> along_shift > COUNT ? LANES >> along_shift : COUNT);
    const Tile tile = tile_of(launch, block, along_shift, UNIT * COUNT);
    EACH_THREAD(thread) {
        const Turns turns = turns_of<COUNT>(thread, across_shift);
        if (turns.has_any) {
            const u32 end = turns.unit < tile.across * COUNT ? tile.along : 0;
            const u64 step = summand(turns.lines * launch.along_src_stride);
            u64 at = tile.src + turns.line * launch.along_src_stride + turns.unit * UNIT;
            Value values[TURNS] = {};
            UNROLLED
            for (u32 turn = 0, line = turns.line; turn < TURNS; ++turn, at += step, line += turns.lines)
                if (line < end)
                    values[turn] = load<UNIT>(at);
            u32 place = turns.line * pitch + turns.unit;
            UNROLLED
            for (u32 turn = 0; turn < TURNS; ++turn, place += turns.lines * pitch)
                shared[place] = values[turn];
        }
    }
    BARRIER;
    EACH_THREAD(thread) {
        const Turns turns = turns_of<COUNT>(thread, along_shift);
        if (turns.has_any) {
            const u32 end = turns.unit < tile.along * COUNT ? tile.across : 0;
            Value values[TURNS];
            u32 place = turns.unit / COUNT * pitch + turns.unit % COUNT + turns.line * COUNT;
            UNROLLED
            for (u32 turn = 0; turn < TURNS; ++turn, place += turns.lines * COUNT)
                values[turn] = shared[place];
            const u64 step = summand(turns.lines * tile.dst_stride);
            u64 at = tile.dst + turns.line * tile.dst_stride + turns.unit * UNIT;
            UNROLLED
            for (u32 turn = 0, line = turns.line; turn < TURNS; ++turn, at += step, line += turns.lines)
                if (line < end)
                    store<UNIT>(at, values[turn]);
        }
    }
}
