// Runs launches of specialised kernels on the host, with the checks of trundle-cuda's emulated NVRTC.
#define HAS_BARRIERS 1
#include "specialised.h"

#include <algorithm>
#include <cstdio>
#include <vector>

// A launch, as the tests write it. Positions count from multiples of 16.
struct Launch {
    long long kernel, blocks, threads, src_begin, src, read_from, read_to, dst_begin, dst, lengths, first_length;
};

// Runs the launches of a file, and writes the destinations to the standard output.
static int run_all(const char* path, const emulated::Entry* kernels) {
    std::FILE* file = std::fopen(path, "rb");
    Launch launch;
    while (std::fread(&launch, sizeof(launch), 1, file) == 1) {
        std::vector<uint4> src(launch.src / 16 + 3), dst(launch.dst / 16 + 3);
        std::vector<long long> lengths(launch.lengths);
        std::vector<unsigned char> written(dst.size() * 16);
        memset(src.data(), 0xa5, src.size() * 16);
        char* to = (char*)dst.data() + launch.dst_begin;
        bool is_read = std::fread((char*)src.data() + launch.src_begin, 1, launch.src, file) == size_t(launch.src);
        is_read = is_read && std::fread(to, 1, launch.dst, file) == size_t(launch.dst);
        is_read = is_read && std::fread(lengths.data(), 8, launch.lengths, file) == size_t(launch.lengths);
        if (!is_read)
            return 2;
        const u64 from = u64(src.data()), into = u64(dst.data()), table = u64(lengths.data());
        const Moved moved = {from, into, table + 8 * launch.first_length,
                             from + launch.read_from, from + launch.read_to, into + launch.dst_begin + launch.dst,
                             table, table + 8 * launch.lengths,
                             written.data(), unsigned(launch.blocks), unsigned(launch.threads)};
        const char* fault = emulated::run(kernels[launch.kernel], moved);
        if (!fault && std::count(written.begin(), written.begin() + launch.dst_begin, 0) != launch.dst_begin)
            fault = "a write before the destination";
        if (fault) {
            std::fprintf(stderr, "kernel %lld: %s\n", launch.kernel, fault);
            return 1;
        }
        std::fwrite(to, 1, launch.dst, stdout);
    }
    return 0;
}
