// What kernels are made of, on a device. host.h has the same for tests.
#pragma once

#include "types.h"

#define INLINE __device__ __forceinline__
#define NOT_INLINE static __device__ __noinline__
#define UNROLLED _Pragma("unroll")
#define NOT_UNROLLED _Pragma("unroll 1")

// A kernel is phases between barriers: what stands in EACH_THREAD is done by all threads of a block, and what stands
// outside of it is the same for all of them.
#define EACH_THREAD(thread) if (const u32 thread = threadIdx.x; true)
#define BARRIER __syncthreads()
#define SHARED(type, name, count) __shared__ type name[count]

#define KERNEL(name, body)                                                                                            \
    extern "C" __global__ void __launch_bounds__(WORKGROUP) name(const __grid_constant__ Launch launch) {             \
        body(launch, blockIdx.x);                                                                                     \
    }

// So many bytes that are read and written at once; where they are is a multiple of their number.
template <u32 BYTES> struct Unit;
template <> struct Unit<1> { typedef u8 type; };
template <> struct Unit<2> { typedef u16 type; };
template <> struct Unit<4> { typedef u32 type; };
template <> struct Unit<8> { typedef u64 type; };
template <> struct Unit<16> { typedef uint4 type; };

// What is read is written by nobody meanwhile.
template <u32 BYTES> INLINE typename Unit<BYTES>::type load(u64 at) {
    return __ldg(reinterpret_cast<const typename Unit<BYTES>::type*>(at));
}

INLINE i64 load_number(u64 at) {
    return __ldg(reinterpret_cast<const i64*>(at));
}

template <u32 BYTES> INLINE void store(u64 at, typename Unit<BYTES>::type value) {
    *reinterpret_cast<typename Unit<BYTES>::type*>(at) = value;
}

// Writes some bits of a byte that has others: those of the word around it stay, whoever writes them.
INLINE void store_bits(u64 at, u32 made, u32 covered) {
    u32* word = reinterpret_cast<u32*>(at / 4 * 4);
    const u32 shift = 8 * u32(at % 4);
    atomicAnd(word, ~(covered << shift));
    atomicOr(word, made << shift);
}

// The upper 64 bits of a product.
INLINE u64 high_half(u64 a, u64 b) {
    return __umul64hi(a, b);
}
