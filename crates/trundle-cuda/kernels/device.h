// The primitives of the kernels, for a device. host.h has them for tests on the host.
#pragma once

#include "types.h"

#define INLINE __device__ __forceinline__
#define UNROLLED _Pragma("unroll")
#define NOT_UNROLLED _Pragma("unroll 1")

// A kernel consists of phases between barriers. Every thread of a block runs the code in EACH_THREAD. Other code
// computes the same values in all threads.
#define EACH_THREAD(thread) if (const u32 thread = threadIdx.x; true)
#define BARRIER __syncthreads()
#define SHARED(type, name, count) __shared__ type name[count]

// `blocks` should run on a multiprocessor at once. Without this number, the compiler spills registers to have more.
#define KERNEL(name, blocks, body)                                                                                    \
    extern "C" __global__ void __launch_bounds__(WORKGROUP, blocks)                                                   \
        name(const __grid_constant__ Launch launch) {                                                                 \
        body(launch, blockIdx.x);                                                                                     \
    }

struct alignas(16) Vector {
    u32 words[4];
};

// An access of BYTES bytes, whose address is a multiple of BYTES.
template <u32 BYTES> struct Unit;
template <> struct Unit<1> { typedef u8 type; };
template <> struct Unit<2> { typedef u16 type; };
template <> struct Unit<4> { typedef u32 type; };
template <> struct Unit<8> { typedef u64 type; };
template <> struct Unit<16> { typedef Vector type; };

// Reads memory to which nothing may write during the launch.
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

// Uses st.global: the compiler does not know that the address is in global memory, and a generic store would have to
// check it.
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

// Writes the bits of a byte that are set in `covered`, by atomic operations. Other threads may write other bits of the
// word.
INLINE void store_bits(u64 at, u32 made, u32 covered) {
    u32* word = reinterpret_cast<u32*>(at / 4 * 4);
    const u32 shift = 8 * u32(at % 4);
    atomicAnd(word, ~(covered << shift));
    atomicOr(word, made << shift);
}

// Selects four of the eight bytes of `a` and then `b`. Each 4 bits of `which`, from the lowest on, are the index of a
// byte.
INLINE u32 bytes_of(u32 a, u32 b, u32 which) {
    return __byte_perm(a, b, which);
}

// Returns 32 bits of `high:low`, from bit `bit` (0 to 31) on.
INLINE u32 upper_of(u32 low, u32 high, u32 bit) {
    return __funnelshift_r(low, high, bit);
}

// Makes the compiler keep a product in a register. It would multiply again for each addition, more slowly.
INLINE u64 summand(u64 product) {
    asm("" : "+l"(product));
    return product;
}

INLINE u64 high_half(u64 a, u64 b) {
    return __umul64hi(a, b);
}
