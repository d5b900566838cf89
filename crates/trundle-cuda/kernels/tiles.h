// A block moves a tile: its rows to shared memory, where neighbouring threads read neighbouring places, then its columns from
// there, where they write such.
#pragma once

// The steps of a tile in both directions, of elements of so many bytes: as the crate trundle-gpu has them.
INLINE constexpr u32 tile_edge(u32 width) {
    return width <= 2 ? 64 : width <= 8 ? 32 : 16;
}

// Which tile a block has: its first steps, how many it has in both directions, where its first row is read and its first
// column written, as addresses. Of steps that follow each other downwards the last is the first in memory.
struct Tile {
    u64 src;
    u64 dst;
    u32 across;
    u32 along;
    bool reversed;
};

INLINE Tile tile_of(const Launch& launch, u64 block, u32 edge, u32 width) {
    u64 matrix = block;
    const u64 along = divide(matrix, launch.tiles_along) * edge;
    const u64 across = divide(matrix, launch.tiles_across) * edge;
    Tile tile;
    tile.across = u32(least(edge, launch.across - across));
    tile.along = u32(least(edge, launch.along - along));
    tile.reversed = launch.reversed;
    const u64 before = tile.reversed ? 0 - (across + tile.across - 1) : across;
    tile.src = launch.src + src_of(launch, matrix, 0) + before * width + along * launch.along_src_stride;
    tile.dst = launch.dst + dst_of(launch, matrix) + across * launch.across_dst_stride + along * width;
    return tile;
}

// The column in memory that is a step across.
INLINE u32 column_of(const Tile& tile, u32 step) {
    return tile.reversed ? tile.across - 1 - step : step;
}

// Elements of COUNT units each.
template <u32 UNIT, u32 COUNT> INLINE void tiles(const Launch& launch, u64 block) {
    constexpr u32 WIDTH = UNIT * COUNT;
    constexpr u32 EDGE = tile_edge(WIDTH);
    constexpr u32 ROW = EDGE * COUNT;
    // Odd, so that the units of a column are in banks of their own.
    constexpr u32 PITCH = ROW | 1;
    SHARED(typename Unit<UNIT>::type, shared, EDGE * PITCH);
    const Tile tile = tile_of(launch, block, EDGE, WIDTH);
    EACH_THREAD(thread) {
        UNROLLED
        for (u32 item = thread; item < EDGE * ROW; item += WORKGROUP) {
            const u32 row = item / ROW;
            const u32 unit = item % ROW;
            if (row < tile.along && unit < tile.across * COUNT)
                shared[row * PITCH + unit] = load<UNIT>(tile.src + row * launch.along_src_stride + unit * UNIT);
        }
    }
    BARRIER;
    EACH_THREAD(thread) {
        UNROLLED
        for (u32 item = thread; item < EDGE * ROW; item += WORKGROUP) {
            const u32 step = item / ROW;
            const u32 unit = item % ROW;
            if (step < tile.across && unit < tile.along * COUNT) {
                const u32 place = unit / COUNT * PITCH + column_of(tile, step) * COUNT + unit % COUNT;
                store<UNIT>(tile.dst + step * launch.across_dst_stride + unit * UNIT, shared[place]);
            }
        }
    }
}

// A word of the source; of one that is not all within it, the bytes that are.
INLINE u32 load_word(const Launch& launch, u64 at) {
    if (at >= launch.src && at + 4 <= launch.src + launch.src_bytes)
        return load<4>(at);
    u32 word = 0;
    for (u32 byte = 0; byte < 4; ++byte)
        if (at + byte >= launch.src && at + byte < launch.src + launch.src_bytes)
            word |= u32(load<1>(at + byte)) << 8 * byte;
    return word;
}

// Elements of less than a word: shared memory has the words of the rows, as they are in memory.
template <u32 WIDTH> INLINE void narrow_tiles(const Launch& launch, u64 block) {
    constexpr u32 EDGE = tile_edge(WIDTH);
    // Of a row that begins within a word one more.
    constexpr u32 ROW = EDGE * WIDTH / 4 + 1;
    constexpr u32 PITCH = ROW | 1;
    SHARED(u32, shared, EDGE * PITCH);
    const Tile tile = tile_of(launch, block, EDGE, WIDTH);
    EACH_THREAD(thread) {
        NOT_UNROLLED
        for (u32 item = thread; item < EDGE * ROW; item += WORKGROUP) {
            const u32 row = item / ROW;
            const u32 word = item % ROW;
            const u64 begin = tile.src + row * launch.along_src_stride;
            if (row < tile.along && 4 * word < begin % 4 + tile.across * WIDTH)
                shared[row * PITCH + word] = load_word(launch, begin / 4 * 4 + 4 * word);
        }
    }
    BARRIER;
    EACH_THREAD(thread) {
        NOT_UNROLLED
        for (u32 item = thread; item < EDGE * ROW; item += WORKGROUP) {
            const u32 step = item / ROW;
            if (step >= tile.across)
                continue;
            const u64 begin = tile.dst + step * launch.across_dst_stride;
            Made<WIDTH> made{};
            made.at = begin / 4 * 4 + 4 * (item % ROW);
            const u64 first = greatest(begin, made.at);
            const u64 end = least(begin + tile.along * WIDTH, made.at + 4);
            if (first >= end)
                continue;
            made.from = u32(first - made.at);
            made.to = u32(end - made.at);
            UNROLLED
            for (u32 within = 0; within < 4; within += WIDTH)
                if (within >= made.from && within < made.to) {
                    const u32 row = u32(made.at + within - begin) / WIDTH;
                    const u64 src = tile.src + row * launch.along_src_stride;
                    const u32 place = u32(src % 4) + column_of(tile, step) * WIDTH;
                    const u32 word = shared[row * PITCH + place / 4];
                    made.value |= (word >> 8 * (place % 4) & ones(8 * WIDTH)) << 8 * within;
                }
            put(made);
        }
    }
}
