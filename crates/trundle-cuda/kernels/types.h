// Integer types of known size. Device code has no standard headers.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// The number of threads per block, equal to WORKGROUP in the crate trundle-gpu.
constexpr u32 WORKGROUP = 256;

// The number of stores per thread, equal to STORES in src/parameters.rs.
constexpr u32 STORES = 4;
