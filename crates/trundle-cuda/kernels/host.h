// The primitives of the kernels for tests on the host. Threads run one after another, and memory accesses are checked.
#pragma once

#include "types.h"

#include <cstddef>
#include <cstdio>
#include <cstring>

#define INLINE static inline
#define UNROLLED
#define NOT_UNROLLED

// In blocks with an odd index, threads run in descending order. So a thread that reads what another one writes in the
// same phase gets different values in odd and even blocks.
#define EACH_THREAD(thread)                                                                                           \
    for (u32 turn = 0, thread; turn < WORKGROUP; ++turn)                                                              \
        if (thread = now = backwards ? WORKGROUP - 1 - turn : turn; true)
#define BARRIER pass_barrier()
#define SHARED(type, name, count) Shared<type, count> name

#define KERNEL(name, blocks, body)                                                                                    \
    static void run_##name(const Launch& launch, u64 block) { body(launch, block); }                                  \
    static const Named named_##name(#name, run_##name);

struct alignas(16) Vector {
    u32 words[4];
};

template <u32 BYTES> struct Unit;
template <> struct Unit<1> { typedef u8 type; };
template <> struct Unit<2> { typedef u16 type; };
template <> struct Unit<4> { typedef u32 type; };
template <> struct Unit<8> { typedef u64 type; };
template <> struct Unit<16> { typedef Vector type; };

// The memory that a launch may access, and the bits of the destination that it has written.
struct LaunchMemory {
    u64 src, src_bytes;
    u64 dst, dst_bytes;
    u64 numbers, numbers_bytes;
    u8* written;
};

static thread_local LaunchMemory memory;
static thread_local bool backwards;
static thread_local char fault[200];

#include "shared.h"
#include "counts.h"

static void pass_barrier() {
    count_phase();
    ++phase;
}

static bool is_fault(const char* what, u64 at, u64 bytes, u64 begin, u64 size) {
    const bool within = at >= begin && at - begin <= size && size - (at - begin) >= bytes;
    if (within && at % bytes == 0)
        return false;
    if (!fault[0])
        std::snprintf(fault, sizeof(fault), "%s of %llu bytes at %lld of %llu, %s", what, bytes, i64(at - begin), size,
                      within ? "which is not aligned" : "which is outside");
    return true;
}

static void cover(u64 at, u32 bits) {
    u8& written = memory.written[at - memory.dst];
    if (written & bits && !fault[0])
        std::snprintf(fault, sizeof(fault), "byte %lld is written twice", i64(at - memory.dst));
    written |= u8(bits);
}

template <u32 BYTES> INLINE typename Unit<BYTES>::type load(u64 at) {
    typename Unit<BYTES>::type value{};
    if (!is_fault("a read", at, BYTES, memory.src, memory.src_bytes))
        std::memcpy(&value, reinterpret_cast<const void*>(at), BYTES);
    count_global(READ, at, BYTES);
    return value;
}

INLINE i64 load_number(u64 at) {
    i64 value = 0;
    if (!is_fault("a number", at, 8, memory.numbers, memory.numbers_bytes))
        std::memcpy(&value, reinterpret_cast<const void*>(at), 8);
    count_global(NUMBERS, at, 8);
    return value;
}

template <u32 BYTES> INLINE void store(u64 at, typename Unit<BYTES>::type value) {
    if (is_fault("a write", at, BYTES, memory.dst, memory.dst_bytes))
        return;
    std::memcpy(reinterpret_cast<void*>(at), &value, BYTES);
    for (u32 byte = 0; byte < BYTES; ++byte)
        cover(at + byte, 0xff);
    count_global(WRITTEN, at, BYTES);
}

INLINE void store_bits(u64 at, u32 made, u32 covered) {
    if (is_fault("a write", at, 1, memory.dst, memory.dst_bytes))
        return;
    if (made & ~covered && !fault[0])
        std::snprintf(fault, sizeof(fault), "more bits are made than covered");
    u8* byte = reinterpret_cast<u8*>(at);
    *byte = u8((*byte & ~covered) | made);
    cover(at, covered);
    count_global(WRITTEN, at, 1);
}

INLINE u32 bytes_of(u32 a, u32 b, u32 which) {
    const u64 both = u64(b) << 32 | a;
    u32 bytes = 0;
    for (u32 byte = 0; byte < 4; ++byte)
        bytes |= u32(both >> 8 * (which >> 4 * byte & 7) & 0xff) << 8 * byte;
    return bytes;
}

INLINE u32 upper_of(u32 low, u32 high, u32 bit) {
    return u32((u64(high) << 32 | low) >> bit);
}

INLINE u64 summand(u64 product) {
    return product;
}

INLINE u64 high_half(u64 a, u64 b) {
    __extension__ typedef unsigned __int128 u128;
    return u64(u128(a) * b >> 64);
}

struct Launch;

// A kernel and its name. In an unnamed namespace, so that one process can load two libraries of kernels.
namespace {
struct Named {
    const char* name;
    void (*run)(const Launch& launch, u64 block);
    const Named* next;

    static const Named*& first() {
        static const Named* first = nullptr;
        return first;
    }

    Named(const char* name, void (*run)(const Launch&, u64)) : name(name), run(run), next(first()) {
        first() = this;
    }
};
} // namespace

// Runs all blocks of a launch until one has a fault. Returns the fault, or null.
extern "C" const char* run(const char* name, const Launch* launch, u64 blocks, const LaunchMemory* given) {
    memory = *given;
    fault[0] = 0;
    for (const Named* each = Named::first(); each; each = each->next)
        if (!std::strcmp(each->name, name)) {
            for (u64 block = 0; block < blocks && !fault[0]; ++block) {
                backwards = block % 2;
                phase = 1;
                each->run(*launch, block);
                count_phase();
                count_block();
            }
            return fault[0] ? fault : nullptr;
        }
    return "there is no such kernel";
}

// Adds the memory accesses of later launches by this thread to `counts`, until it is called with null.
extern "C" void count_into(Counts* counts) {
    static thread_local Recorder all;
    all.counts = counts;
    recorder = counts ? &all : nullptr;
}
