// A launch of a specialised kernel, between the emulated driver and the library that it loads.
#pragma once

typedef unsigned long long u64;

struct Moved {
    u64 src, dst, numbers;
    // The parts of the allocations that may be accessed.
    u64 src_begin, src_end, dst_end, numbers_begin, numbers_end;
    // The number of writes to each byte from `dst` on.
    unsigned char* written;
    unsigned blocks, threads;
};
