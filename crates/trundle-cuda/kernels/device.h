// The primitives of the kernels, for a device. host.h has the same primitives for tests on the host.
#pragma once

#include "types.h"

#define INLINE __device__ __forceinline__
#define UNROLLED _Pragma("unroll")
#define NOT_UNROLLED _Pragma("unroll 1")

// A kernel consists of phases, with a barrier between two phases. Every thread of a block runs the code in EACH_THREAD.
// Code outside of EACH_THREAD computes the same values in all threads.
#define EACH_THREAD(thread) if (const u32 thread = threadIdx.x; true)
#define BARRIER __syncthreads()
#define SHARED(type, name, count) __shared__ type name[count]

// `blocks` is the number of blocks that should run on a multiprocessor at the same time. Without it, the compiler uses
// too few registers and keeps variables in memory.
#define KERNEL(name, blocks, body)                                                                                    \
    extern "C" __global__ void __launch_bounds__(WORKGROUP, blocks)                                                   \
        name(const __grid_constant__ Launch launch) {                                                                 \
        body(launch, blockIdx.x);                                                                                     \
    }

struct alignas(16) Vector {
    u32 words[4];
};

// An access of BYTES bytes. Its address is a multiple of BYTES.
template <u32 BYTES> struct Unit;
template <> struct Unit<1> { typedef u8 type; };
template <> struct Unit<2> { typedef u16 type; };
template <> struct Unit<4> { typedef u32 type; };
template <> struct Unit<8> { typedef u64 type; };
template <> struct Unit<16> { typedef Vector type; };

// Loads through the read-only cache, so nothing may write to this memory during the launch.
template <u32 BYTES> INLINE typename Unit<BYTES>::type load(u64 at) {
    return __ldg(reinterpret_cast<const typename Unit<BYTES>::type*>(at));
}

template <> INLINE Vector load<16>(u64 at) {
    const uint4 value = __ldg(reinterpret_cast<const uint4*>(at));
    return {{value.x, value.y, value.z, value.w}};
}

INLINE i64 load_number(u64 at) {
    return __ldg(reinterpret_cast<const i64*>(at));
}

// Uses the instruction st.global, because the compiler does not know that the address is in global memory. A generic
// store would have to check the address.
template <u32 BYTES> INLINE void store(u64 at, typename Unit<BYTES>::type value);

template <> INLINE void store<1>(u64 at, u8 value) {
    asm volatile("st.global.u8 [%0], %1;" ::"l"(at), "r"(u32(value)) : "memory");
}

template <> INLINE void store<2>(u64 at, u16 value) {
    asm volatile("st.global.u16 [%0], %1;" ::"l"(at), "h"(value) : "memory");
}

template <> INLINE void store<4>(u64 at, u32 value) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

template <> INLINE void store<8>(u64 at, u64 value) {
    asm volatile("st.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

template <> INLINE void store<16>(u64 at, Vector value) {
    const u32* words = value.words;
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3])
                 : "memory");
}

// Writes the bits of a byte that are set in `covered`, atomically. Other threads may write other bits of the same word
// at the same time.
INLINE void store_bits(u64 at, u32 made, u32 covered) {
    u32* word = reinterpret_cast<u32*>(at / 4 * 4);
    const u32 shift = 8 * u32(at % 4);
    atomicAnd(word, ~(covered << shift));
    atomicOr(word, made << shift);
}

// Selects four of eight bytes. Bytes 0 to 3 come from `a`, and bytes 4 to 7 from `b`. The lowest 4 bits of `which` are
// the index of the lowest byte of the result, the next 4 bits the index of the next byte, and so on.
INLINE u32 bytes_of(u32 a, u32 b, u32 which) {
    return __byte_perm(a, b, which);
}

// Returns 32 bits of the 64-bit number `high:low`, from bit `bit` on. `bit` is from 0 to 31.
INLINE u32 upper_of(u32 low, u32 high, u32 bit) {
    return __funnelshift_r(low, high, bit);
}

// Makes the compiler keep a product in a register. Otherwise it would multiply again for each addition, which is
// slower.
INLINE u64 summand(u64 product) {
    asm("" : "+l"(product));
    return product;
}

// Returns the upper 64 bits of a product.
INLINE u64 high_half(u64 a, u64 b) {
    return __umul64hi(a, b);
}
