// What the text of a specialised kernel uses of CUDA C++, for the host. Threads run one after another; with barriers,
// each is a fiber that runs until the next barrier.
#pragma once

#include "moved.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#if HAS_BARRIERS
#include <stdlib.h>
#include <ucontext.h>
#endif

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __restrict__
#define __shared__ static
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)

struct Place3 {
    unsigned x, y, z;
};
struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

static Place3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated {
static Moved moving;
static char fault[200];

// Keeps the first fault. `at` is the distance from the start of the memory.
static void report(const char* what, size_t bytes, const void* at, u64 begin, u64 end) {
    if (!fault[0])
        snprintf(fault, sizeof(fault), "%s of %zu bytes at %lld of %llu, block %u, thread %u", what, bytes,
                 (long long)(reinterpret_cast<u64>(at) - begin), end - begin, blockIdx.x, threadIdx.x);
}

static inline bool is_within(const void* at, size_t bytes, u64 begin, u64 end) {
    const u64 address = reinterpret_cast<u64>(at);
    return address % bytes == 0 && address >= begin && address <= end && end - address >= bytes;
}
} // namespace emulated

static inline uint2 make_uint2(unsigned x, unsigned y) {
    return {x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}
static inline int min(int a, int b) {
    return a < b ? a : b;
}
static inline int max(int a, int b) {
    return a > b ? a : b;
}
static inline unsigned min(unsigned a, unsigned b) {
    return a < b ? a : b;
}
static inline unsigned max(unsigned a, unsigned b) {
    return a > b ? a : b;
}

// The accesses of the text, checked.
#define HOST
#define DEVICE static inline

template <class T> DEVICE T source(const uint4* p, unsigned at) {
    const Moved& m = emulated::moving;
    const T* from = reinterpret_cast<const T*>(reinterpret_cast<const char*>(p) + at);
    if (emulated::is_within(from, sizeof(T), m.src_begin, m.src_end))
        return *from;
    emulated::report("a wrong read", sizeof(T), from, m.src, m.src_end);
    return T{};
}
DEVICE uint4 source_ahead(const uint4* p, unsigned at) {
    return source<uint4>(p, at);
}
template <class T> DEVICE void store(uint4* p, unsigned at, T value) {
    const Moved& m = emulated::moving;
    T* to = reinterpret_cast<T*>(reinterpret_cast<char*>(p) + at);
    if (!emulated::is_within(to, sizeof(T), m.dst, m.dst_end)) {
        emulated::report("a wrong write", sizeof(T), to, m.dst, m.dst_end);
        return;
    }
    *to = value;
    for (size_t byte = 0; byte < sizeof(T); ++byte)
        if (m.written[reinterpret_cast<u64>(to) - m.dst + byte]++)
            emulated::report("a second write", sizeof(T), to, m.dst, m.dst_end);
}
template <class T> DEVICE T shared_load(const uint4* p, unsigned at) {
    return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(p) + at);
}
template <class T> DEVICE void shared_store(uint4* p, unsigned at, T value) {
    *reinterpret_cast<T*>(reinterpret_cast<char*>(p) + at) = value;
}
DEVICE unsigned length(const long long* p, unsigned at) {
    const Moved& m = emulated::moving;
    const char* from = reinterpret_cast<const char*>(p) + int(at);
    if (emulated::is_within(from, sizeof(long long), m.numbers_begin, m.numbers_end))
        return unsigned(*reinterpret_cast<const long long*>(from));
    emulated::report("a wrong length", sizeof(long long), from, m.numbers, m.numbers_end);
    return 0;
}

static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
    const u64 both = u64(b) << 32 | a;
    unsigned made = 0;
    for (int byte = 0; byte < 4; ++byte)
        made |= unsigned(both >> 8 * (which >> 4 * byte & 7) & 0xff) << 8 * byte;
    return made;
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
    return unsigned((u64(high) << 32 | low) >> (bits & 31));
}

#if HAS_BARRIERS
namespace emulated {
// The most threads that a block has.
constexpr unsigned MOST_THREADS = 1024;

static ucontext_t scheduler, fibers[MOST_THREADS];
static void (*thread_body)();
} // namespace emulated

static void __syncthreads() {
    swapcontext(&emulated::fibers[threadIdx.x], &emulated::scheduler);
}
#endif

namespace emulated {
#if HAS_BARRIERS
// In blocks with an odd index, threads run in descending order, so that a missing barrier gives different results.
static void run_block(void (*body)(), unsigned threads) {
    constexpr size_t STACK = 1 << 16;
    thread_body = body;
    static char* stacks = static_cast<char*>(malloc(MOST_THREADS * STACK));
    static bool has_ended[MOST_THREADS], ended;
    for (unsigned thread = 0; thread < threads; ++thread) {
        getcontext(&fibers[thread]);
        fibers[thread].uc_stack.ss_sp = stacks + thread * STACK;
        fibers[thread].uc_stack.ss_size = STACK;
        fibers[thread].uc_link = nullptr;
        has_ended[thread] = false;
        makecontext(&fibers[thread], (void (*)()) + [] {
            thread_body();
            ended = true;
            __syncthreads();
        }, 0);
    }
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (unsigned turn = 0; turn < threads; ++turn) {
            threadIdx.x = blockIdx.x % 2 ? threads - 1 - turn : turn;
            const unsigned thread = threadIdx.x;
            if (has_ended[thread])
                continue;
            ended = false;
            swapcontext(&scheduler, &fibers[thread]);
            has_ended[thread] = ended;
            goes_on |= !ended;
        }
    }
}
#else
static void run_block(void (*body)(), unsigned threads) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
        body();
}
#endif

typedef void (*Entry)(const uint4*, uint4*, const long long*);

static Entry entry;

static void call() {
    const Moved& m = moving;
    entry(reinterpret_cast<const uint4*>(m.src), reinterpret_cast<uint4*>(m.dst),
          reinterpret_cast<const long long*>(m.numbers));
}

// Runs all blocks until one has a fault. Returns the fault, or null.
static const char* run(Entry moved, const Moved& given) {
    entry = moved;
    moving = given;
    fault[0] = 0;
    blockDim = {given.threads, 1, 1};
    gridDim = {given.blocks, 1, 1};
    for (blockIdx.x = 0; blockIdx.x < given.blocks && !fault[0]; ++blockIdx.x)
        run_block(call, given.threads);
    return fault[0] ? fault : nullptr;
}
} // namespace emulated
