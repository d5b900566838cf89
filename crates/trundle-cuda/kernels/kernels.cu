// All kernels, with the names of src/kernel.rs. On the host, the emulated driver calls them.

#ifdef __CUDACC__
#include "device.h"
#else
#include "host.h"
#endif

#include "launch.h"
#include "stores.h"
#include "gather.h"
#include "runs.h"
#include "sub_byte.h"
#include "tiles.h"
#include "micro_tile.h"
#include "narrow_tiles.h"

KERNEL(gather_1, 3, gather<1>)
KERNEL(gather_2, 3, gather<2>)
KERNEL(gather_4, 4, gather<4>)
KERNEL(gather_8, 4, gather<8>)
KERNEL(gather_16, 4, gather<16>)
KERNEL(gather_sub_byte, 4, gather_sub_byte)
KERNEL(runs_1, 3, runs<1>)
KERNEL(runs_2, 3, runs<2>)
KERNEL(runs_4, 4, runs<4>)
KERNEL(runs_8, 4, runs<8>)
KERNEL(runs_16, 4, runs<16>)
KERNEL(tiles_1, 5, narrow_tiles<1>)
KERNEL(tiles_2, 5, narrow_tiles<2>)
KERNEL(tiles_4, 5, (tiles<4, 1, 12>))
KERNEL(tiles_8, 5, (tiles<8, 1, 11>))
KERNEL(tiles_16, 5, (tiles<16, 1, 10>))
KERNEL(tiles_4_x2, 5, (tiles<4, 2, 11>))
KERNEL(tiles_4_x3, 5, (tiles<4, 3, 10>))
KERNEL(tiles_4_x4, 5, (tiles<4, 4, 10>))

#ifndef __CUDACC__
// Breaks the rule of barriers, for a test that this is detected. A thread writes an element that another thread reads
// later (0 rows), has read before (1 row), or also writes (2 rows), without a barrier.
static void without_barrier(const Launch& launch, u64) {
    SHARED(u32, shared, WORKGROUP);
    u32 seen = 0;
    if (launch.rows == 1)
        EACH_THREAD(thread) seen += shared[thread];
    EACH_THREAD(thread) shared[WORKGROUP - 1 - thread] = seen;
    if (launch.rows == 0)
        EACH_THREAD(thread) seen += shared[thread];
    if (launch.rows == 2)
        EACH_THREAD(thread) shared[thread] = seen;
}

KERNEL(without_barrier, 1, without_barrier)

// src/tests/layout.rs compares these values with the struct in Rust.
#define EXPORTED(name, value)                                                                                         \
    extern "C" {                                                                                                      \
    extern const u64 name;                                                                                            \
    const u64 name = value;                                                                                           \
    }
EXPORTED(launch_bytes, sizeof(Launch))
EXPORTED(most_loops, MOST_LOOPS)
EXPORTED(stores_of_thread, STORES)
EXPORTED(offset_of_stores, offsetof(Launch, stores))
EXPORTED(offset_of_cut_at, offsetof(Launch, cut_at))
EXPORTED(offset_of_across, offsetof(Launch, across))
EXPORTED(offset_of_reversed, offsetof(Launch, reversed))
EXPORTED(offset_of_index_scale, offsetof(Launch, index_scale))
EXPORTED(offset_of_across_shift, offsetof(Launch, across_shift))
EXPORTED(offset_of_varied, offsetof(Launch, varied))
EXPORTED(offset_of_each, offsetof(Launch, each))
#endif
