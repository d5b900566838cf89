// Transposes small squares of 1-byte and 2-byte elements in registers.
#pragma once

// Transposes a square of elements of WIDTH bytes: word i is row i, and then column i.
template <u32 WIDTH> INLINE void transpose_words(u32 (&words)[4 / WIDTH]) {
    if constexpr (WIDTH == 2) {
        const u32 low = bytes_of(words[0], words[1], 0x5410);
        words[1] = bytes_of(words[0], words[1], 0x7632);
        words[0] = low;
    } else {
        // Pairs of rows are interleaved, then the resulting pairs.
        const u32 first = bytes_of(words[0], words[1], 0x5140);
        const u32 second = bytes_of(words[2], words[3], 0x5140);
        const u32 third = bytes_of(words[0], words[1], 0x7362);
        const u32 fourth = bytes_of(words[2], words[3], 0x7362);
        words[0] = bytes_of(first, second, 0x5410);
        words[1] = bytes_of(first, second, 0x7632);
        words[2] = bytes_of(third, fourth, 0x5410);
        words[3] = bytes_of(third, fourth, 0x7632);
    }
}
