// CUDA's words for texts of kernels on the host. Threads are fibers, which change at barriers. Accesses to the buffers
// are checked.
#define HOST
#define DEVICE static inline
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <ucontext.h>

using std::max;
using std::min;

struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
static uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static struct { unsigned x; } blockIdx, threadIdx;

static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
    return unsigned(((unsigned long long)high << 32 | low) >> (bits & 31));
}
static unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned made = 0;
    for (int k = 0; k < 4; ++k)
        made |= unsigned(both >> 8 * (selector >> 4 * k & 7) & 255) << 8 * k;
    return made;
}

// A launch, as the tests write it. Positions count from multiples of 16.
struct Launch {
    long long kernel, blocks, threads, src_begin, src, read_from, read_to, dst_begin, dst, lengths, first_length;
};

static Launch launch;
static std::vector<bool> written;

static void check(const char* what, bool is_right, long long at, size_t bytes) {
    if (is_right && at % (long long)bytes == 0)
        return;
    std::fprintf(stderr, "kernel %lld: %s of %zu bytes at %lld\n", launch.kernel, what, bytes, at);
    std::exit(1);
}

template <class T> static T source(const uint4* p, unsigned at) {
    check("a read", at >= launch.read_from && at + sizeof(T) <= size_t(launch.read_to), at, sizeof(T));
    T value;
    std::memcpy(&value, (const char*)p + at, sizeof(T));
    return value;
}
static uint4 source_ahead(const uint4* p, unsigned at) { return source<uint4>(p, at); }
template <class T> static void store(uint4* p, unsigned at, T value) {
    check("a write", at >= launch.dst_begin && at + sizeof(T) <= size_t(launch.dst_begin + launch.dst), at, sizeof(T));
    for (unsigned byte = at; byte < at + sizeof(T); ++byte) {
        check("a second write", !written[byte], byte, 1);
        written[byte] = true;
    }
    std::memcpy((char*)p + at, &value, sizeof(T));
}
template <class T> static T shared_load(const uint4* p, unsigned at) { return *(const T*)((const char*)p + at); }
template <class T> static void shared_store(uint4* p, unsigned at, T value) { *(T*)((char*)p + at) = value; }
static unsigned length(const long long* p, unsigned at) {
    const long long entry = launch.first_length + int(at) / 8;
    check("a read of a length", entry >= 0 && entry < launch.lengths, int(at), 8);
    return unsigned(*(const long long*)((const char*)p + int(at)));
}

typedef void (*Moved)(const uint4*, uint4*, const long long*);
struct Fiber {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(1 << 16);
    bool done = true;
};
static ucontext_t scheduler;
static std::vector<Fiber> fibers(1024);
static Moved running;
static const uint4* src_;
static uint4* dst_;
static const long long* lengths_;

static void __syncthreads() { swapcontext(&fibers[threadIdx.x].context, &scheduler); }

static void run_thread() {
    running(src_, dst_, lengths_);
    fibers[threadIdx.x].done = true;
}

static void run_block() {
    for (unsigned thread = 0; thread < launch.threads; ++thread) {
        Fiber& fiber = fibers[thread];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &scheduler;
        makecontext(&fiber.context, run_thread, 0);
        fiber.done = false;
    }
    for (bool again = true; again;) {
        again = false;
        for (threadIdx.x = 0; threadIdx.x < launch.threads; ++threadIdx.x)
            if (!fibers[threadIdx.x].done) {
                swapcontext(&scheduler, &fibers[threadIdx.x].context);
                again = true;
            }
    }
}

// Runs the launches of a file, and writes the destinations to the standard output.
static int run_all(const char* path, const Moved* kernels) {
    std::FILE* file = std::fopen(path, "rb");
    while (std::fread(&launch, sizeof(launch), 1, file) == 1) {
        std::vector<uint4> src(launch.src / 16 + 3), dst(launch.dst / 16 + 3);
        std::vector<long long> lengths(launch.lengths);
        std::memset(src.data(), 0xa5, src.size() * 16);
        char* to = (char*)dst.data() + launch.dst_begin;
        bool is_read = std::fread((char*)src.data() + launch.src_begin, 1, launch.src, file) == size_t(launch.src);
        is_read = is_read && std::fread(to, 1, launch.dst, file) == size_t(launch.dst);
        is_read = is_read && std::fread(lengths.data(), 8, launch.lengths, file) == size_t(launch.lengths);
        if (!is_read)
            return 2;
        written.assign(dst.size() * 16, false);
        running = kernels[launch.kernel];
        src_ = src.data(), dst_ = dst.data(), lengths_ = lengths.data() + launch.first_length;
        for (blockIdx.x = 0; blockIdx.x < launch.blocks; ++blockIdx.x)
            run_block();
        std::fwrite(to, 1, launch.dst, stdout);
    }
    return 0;
}
