// What kernels are made of, on a device. host.h has the same for tests.
#pragma once

#include "types.h"

#define INLINE __device__ __forceinline__
#define UNROLLED _Pragma("unroll")
#define NOT_UNROLLED _Pragma("unroll 1")

// A kernel is phases between barriers: what stands in EACH_THREAD is done by all threads of a block, and what stands
// outside of it is the same for all of them.
#define EACH_THREAD(thread) if (const u32 thread = threadIdx.x; true)
#define BARRIER __syncthreads()
#define SHARED(type, name, count) __shared__ type name[count]

// So many blocks are to be on a multiprocessor at once: a compiler that is not told spills registers to have more of them.
#define KERNEL(name, blocks, body)                                                                                    \
    extern "C" __global__ void __launch_bounds__(WORKGROUP, blocks)                                                   \
        name(const __grid_constant__ Launch launch) {                                                                 \
        body(launch, blockIdx.x);                                                                                     \
    }

struct alignas(16) Vector {
    u32 words[4];
};

// So many bytes that are read and written at once; where they are is a multiple of their number.
template <u32 BYTES> struct Unit;
template <> struct Unit<1> { typedef u8 type; };
template <> struct Unit<2> { typedef u16 type; };
template <> struct Unit<4> { typedef u32 type; };
template <> struct Unit<8> { typedef u64 type; };
template <> struct Unit<16> { typedef Vector type; };

// What is read is written by nobody meanwhile.
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

// The compiler does not know that an address is one of global memory, and every other store would find out.
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

// Writes some bits of a byte that has others: those of the word around it stay, whoever writes them.
INLINE void store_bits(u64 at, u32 made, u32 covered) {
    u32* word = reinterpret_cast<u32*>(at / 4 * 4);
    const u32 shift = 8 * u32(at % 4);
    atomicAnd(word, ~(covered << shift));
    atomicOr(word, made << shift);
}

// Four bytes of eight, those of `a` first: each half of a byte of `which`, from the lowest, is the number of one.
INLINE u32 bytes_of(u32 a, u32 b, u32 which) {
    return __byte_perm(a, b, which);
}

// The 32 bits from a bit on, below 32, of 64, those of `low` first.
INLINE u32 upper_of(u32 low, u32 high, u32 bit) {
    return __funnelshift_r(low, high, bit);
}

// A product that is added again and again: the compiler would multiply again each time, which takes longer.
INLINE u64 summand(u64 product) {
    asm("" : "+l"(product));
    return product;
}

// The upper 64 bits of a product.
INLINE u64 high_half(u64 a, u64 b) {
    return __umul64hi(a, b);
}
