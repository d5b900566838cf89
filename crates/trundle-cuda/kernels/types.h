// Integer types of known size. Standard headers are not available when compiling for a device.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Threads per block; equals WORKGROUP in the crate trundle-gpu.
constexpr u32 WORKGROUP = 256;

// Stores per thread; equals the constant in src/parameters.rs.
constexpr u32 STORES = 4;
