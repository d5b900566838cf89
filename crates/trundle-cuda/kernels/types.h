// Numbers of a known size: what compiles for a device has no headers.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// The threads of a block: as the crate trundle-gpu has them.
constexpr u32 WORKGROUP = 256;

// The stores of a thread: src/parameters.rs has the same.
constexpr u32 STORES = 4;
