// Transposes tiles of 1-byte and 2-byte elements. A word from each of several adjacent rows is a micro-tile, which is
// transposed in registers. Shared memory then has the words of columns.
#pragma once

// A tile of micro-tiles of PARTS words: 2^across_shift across and 2^along_shift along. In shared memory, plane i has
// word i of all micro-tiles, with contiguous columns that are `pitch` words apart.
template <u32 WIDTH> struct Narrow {
    static constexpr u32 PARTS = 4 / WIDTH;
    static constexpr u32 LOG_PARTS = WIDTH == 1 ? 2 : 1;
    static constexpr u32 LOG_ELEMENTS = WIDTH == 1 ? 14 : 13;
    static constexpr u32 TURNS = (1 << (LOG_ELEMENTS - 2 * LOG_PARTS)) / WORKGROUP;
    static constexpr u32 PLANE = TURNS * WORKGROUP * 5 / 4;

    Tile tile;
    u32 across_shift;
    u32 along_shift;
    u32 pitch;
    // Whether all reads and writes are of whole aligned words.
    bool is_aligned;
};

template <u32 WIDTH> INLINE Narrow<WIDTH> narrow_of(const Launch& launch, u64 block) {
    typedef Narrow<WIDTH> N;
    Narrow<WIDTH> narrow;
    const u32 along_shift = N::LOG_ELEMENTS - launch.across_shift;
    narrow.tile = tile_of(launch, block, along_shift, WIDTH);
    narrow.across_shift = launch.across_shift - N::LOG_PARTS;
    narrow.along_shift = along_shift - N::LOG_PARTS;
    // The padding puts the words of adjacent columns in different banks.
    narrow.pitch = (1u << narrow.along_shift) + u32(greatest(32u >> narrow.across_shift, 1));
    const u64 places = narrow.tile.src | launch.along_src_stride | narrow.tile.dst | narrow.tile.dst_stride;
    narrow.is_aligned = (u32(places) | narrow.tile.across * WIDTH | narrow.tile.along * WIDTH) % 4 == 0;
    return narrow;
}

template <u32 WIDTH, class Words>
INLINE void read_aligned(const Launch& launch, const Narrow<WIDTH>& narrow, u32 thread, Words& shared) {
    typedef Narrow<WIDTH> N;
    const Turns turns = turns_of<1>(thread, narrow.across_shift);
    const u32 end = turns.unit * N::PARTS < narrow.tile.across ? narrow.tile.along : 0;
    const u64 stride = summand(launch.along_src_stride);
    const u64 step = summand((turns.lines - 1) * N::PARTS * launch.along_src_stride);
    u64 at = narrow.tile.src + turns.line * N::PARTS * launch.along_src_stride + turns.unit * 4;
    u32 words[N::TURNS][N::PARTS] = {};
    UNROLLED
    for (u32 turn = 0, line = turns.line; turn < N::TURNS; ++turn, at += step, line += turns.lines) {
        UNROLLED
        for (u32 row = 0; row < N::PARTS; ++row, at += stride)
            if (line * N::PARTS < end)
                words[turn][row] = load<4>(at);
    }
    u32 place = turns.unit * narrow.pitch + turns.line;
    UNROLLED
    for (u32 turn = 0; turn < N::TURNS; ++turn, place += turns.lines) {
        transpose_words<WIDTH>(words[turn]);
        UNROLLED
        for (u32 part = 0; part < N::PARTS; ++part)
            shared[place + part * N::PLANE] = words[turn][part];
    }
}

template <u32 WIDTH, class Words> INLINE void write_aligned(const Narrow<WIDTH>& narrow, u32 thread, Words& shared) {
    typedef Narrow<WIDTH> N;
    const Turns turns = turns_of<1>(thread, narrow.along_shift);
    const u32 end = turns.unit * N::PARTS < narrow.tile.along ? narrow.tile.across : 0;
    u32 words[N::TURNS][N::PARTS];
    u32 place = turns.line * narrow.pitch + turns.unit;
    UNROLLED
    for (u32 turn = 0; turn < N::TURNS; ++turn, place += turns.lines * narrow.pitch) {
        UNROLLED
        for (u32 part = 0; part < N::PARTS; ++part)
            words[turn][part] = shared[place + part * N::PLANE];
    }
    const u64 stride = summand(narrow.tile.dst_stride);
    const u64 step = summand((turns.lines - 1) * N::PARTS * narrow.tile.dst_stride);
    u64 at = narrow.tile.dst + turns.line * N::PARTS * narrow.tile.dst_stride + turns.unit * 4;
    UNROLLED
    for (u32 turn = 0, line = turns.line; turn < N::TURNS; ++turn, at += step, line += turns.lines) {
        UNROLLED
        for (u32 part = 0; part < N::PARTS; ++part, at += stride)
            if (line * N::PARTS < end)
                store<4>(at, words[turn][part]);
    }
}

// Whether every aligned word that overlaps a tile is within the source.
template <u32 WIDTH> INLINE bool is_inside(const Launch& launch, const Tile& tile) {
    const u64 last = tile.src + (tile.along - 1) * launch.along_src_stride;
    const u64 end = greatest(tile.src, last) + tile.across * WIDTH + 3;
    return least(tile.src, last) >= launch.src + 3 && end <= launch.src + launch.src_bytes;
}

// Loads a word of the source, or, unless `inside`, those of its bytes that are within the source.
INLINE u32 load_word(const Launch& launch, u64 at, bool inside) {
    if (inside)
        return load<4>(at);
    u32 word = 0;
    NOT_UNROLLED
    for (u32 byte = 0; byte < 4; ++byte)
        if (at + byte >= launch.src && at + byte < launch.src + launch.src_bytes)
            word |= u32(load<1>(at + byte)) << 8 * byte;
    return word;
}

// Reads rows of any alignment, by two aligned words for each word of a micro-tile.
template <u32 WIDTH, class Words>
INLINE void read_anywhere(const Launch& launch, const Narrow<WIDTH>& narrow, u32 thread, Words& shared) {
    typedef Narrow<WIDTH> N;
    const Turns turns = turns_of<1>(thread, narrow.across_shift);
    const bool inside = is_inside<WIDTH>(launch, narrow.tile);
    const u32 bytes = narrow.tile.across * WIDTH;
    const u32 end = turns.unit * 4 < bytes ? narrow.tile.along : 0;
    NOT_UNROLLED
    for (u32 turn = 0; turn < N::TURNS; ++turn) {
        const u32 group = turns.line + turn * turns.lines;
        u64 at = narrow.tile.src + group * N::PARTS * launch.along_src_stride + turns.unit * 4;
        u32 words[N::PARTS];
        u32 next[N::PARTS];
        u32 shift[N::PARTS];
        UNROLLED
        for (u32 row = 0; row < N::PARTS; ++row, at += launch.along_src_stride) {
            shift[row] = u32(at % 4);
            words[row] = 0;
            next[row] = 0;
            if (group * N::PARTS + row < end) {
                words[row] = load_word(launch, at - shift[row], inside);
                if (shift[row] && turns.unit * 4 + 4 - shift[row] < bytes)
                    next[row] = load_word(launch, at - shift[row] + 4, inside);
            }
        }
        UNROLLED
        for (u32 row = 0; row < N::PARTS; ++row)
            words[row] = upper_of(words[row], next[row], 8 * shift[row]);
        transpose_words<WIDTH>(words);
        UNROLLED
        for (u32 part = 0; part < N::PARTS; ++part)
            shared[turns.unit * narrow.pitch + group + part * N::PLANE] = words[part];
    }
}

// Writes the column's part of its first or last word, unless all of the word belongs to it.
template <u32 WIDTH, class Words> INLINE void write_end(const Narrow<WIDTH>& narrow, u32 column, bool last, Words& shared) {
    typedef Narrow<WIDTH> N;
    const u64 begin = narrow.tile.dst + column * narrow.tile.dst_stride;
    const u32 shift = u32(begin % 4);
    const u32 end = shift + narrow.tile.along * WIDTH;
    const u32 word = last ? end / 4 : 0;
    // If the column lies within one word, that is the first one, or the last one if the column begins with it.
    if (last ? end % 4 == 0 || (word == 0 && shift) : shift == 0)
        return;
    const u32 place = column / N::PARTS * narrow.pitch + column % N::PARTS * N::PLANE + word;
    const u32 here = word >> narrow.along_shift ? 0 : u32(shared[place]);
    const u32 before = word == 0 ? 0 : u32(shared[place - 1]);
    Made<WIDTH> made;
    made.value = shift ? upper_of(before, here, 32 - 8 * shift) : here;
    made.at = begin - shift + 4 * word;
    made.from = word == 0 ? shift : 0;
    made.to = u32(least(4, end - 4 * word));
    put(made);
}

// Writes columns of any alignment: first the whole words, each from two words of shared memory, and then both ends.
template <u32 WIDTH, class Words> INLINE void write_anywhere(const Narrow<WIDTH>& narrow, u32 thread, Words& shared) {
    typedef Narrow<WIDTH> N;
    const Turns turns = turns_of<1>(thread, narrow.along_shift);
    const u32 bytes = narrow.tile.along * WIDTH;
    const u32 word = 4 * turns.unit;
    // The least misalignment of a column with which all of this word lies in it.
    const u32 least_shift = word + 4 > bytes ? word + 4 - bytes : 0;
    const u64 stride = summand(narrow.tile.dst_stride);
    const u64 step = summand((turns.lines - 1) * N::PARTS * narrow.tile.dst_stride);
    u64 at = narrow.tile.dst + turns.line * N::PARTS * narrow.tile.dst_stride;
    u32 place = turns.line * narrow.pitch + turns.unit;
    NOT_UNROLLED
    for (u32 turn = 0, line = turns.line; turn < N::TURNS; ++turn, at += step, line += turns.lines) {
        UNROLLED
        for (u32 part = 0; part < N::PARTS; ++part, at += stride) {
            const u32 shift = u32(at) % 4;
            if (line * N::PARTS + part < narrow.tile.across && shift <= word && shift >= least_shift) {
                const u32 here = shared[place + part * N::PLANE];
                const u32 before = shift ? u32(shared[place + part * N::PLANE - 1]) : here;
                store<4>(at / 4 * 4 + word, upper_of(before, here, (32 - 8 * shift) % 32));
            }
        }
        place += turns.lines * narrow.pitch;
    }
    NOT_UNROLLED
    for (u32 end = thread; end < 2 * narrow.tile.across; end += WORKGROUP)
        write_end(narrow, end / 2, end % 2, shared);
}

template <u32 WIDTH> INLINE void narrow_tiles(const Launch& launch, u64 block) {
    typedef Narrow<WIDTH> N;
    SHARED(u32, shared, N::PARTS * N::PLANE);
    const Narrow<WIDTH> narrow = narrow_of<WIDTH>(launch, block);
    EACH_THREAD(thread) {
        if (narrow.is_aligned)
            read_aligned<WIDTH>(launch, narrow, thread, shared);
        else
            read_anywhere<WIDTH>(launch, narrow, thread, shared);
    }
    BARRIER;
    EACH_THREAD(thread) {
        if (narrow.is_aligned)
            write_aligned<WIDTH>(narrow, thread, shared);
        else
            write_anywhere<WIDTH>(narrow, thread, shared);
    }
}
