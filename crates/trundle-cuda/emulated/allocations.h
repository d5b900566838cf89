// Memory of the emulated devices. It is host memory, and kernels may access only ranges recorded here.
#pragma once

#include <cstring>
#include <map>

#include <sys/mman.h>

namespace emulated {

struct Allocation {
    u64 begin;
    u64 bytes;
    int device;
    // Whether the stream that allocated it has reached the allocation.
    bool is_there;
    // Whether the memory was freed; freeing twice is an error.
    bool is_dropped;

    u64 end() const { return begin + bytes; }
};

class Allocations {
  public:
    // Allocations up to this size are filled with garbage, so that reading uninitialized memory is noticed. Larger
    // ones are not touched, so they use no pages.
    static constexpr u64 MOST_TOUCHED = 1 << 26;

    // Returns the address, or 0.
    u64 add(u64 bytes, int device, bool is_there) {
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return 0;
        if (bytes <= MOST_TOUCHED)
            std::memset(memory, 0xa5, bytes);
        const u64 begin = reinterpret_cast<u64>(memory);
        known[begin] = Allocation{begin, bytes, device, is_there, false};
        return begin;
    }

    Allocation* beginning_at(u64 begin) {
        const auto found = known.find(begin);
        return found == known.end() ? nullptr : &found->second;
    }

    const Allocation* holding(u64 at, u64 bytes, int device) const {
        auto found = known.upper_bound(at);
        if (found == known.begin())
            return nullptr;
        const Allocation& before = (--found)->second;
        const bool is_within = at <= before.end() && bytes <= before.end() - at;
        return is_within && before.is_there && before.device == device ? &before : nullptr;
    }

    // The address range stays reserved, so stale addresses never reach a newer allocation.
    void remove(const Allocation& allocation) {
        mmap(reinterpret_cast<void*>(allocation.begin), allocation.bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        known.erase(allocation.begin);
    }

    u64 bytes_of(int device) const {
        u64 all = 0;
        for (const auto& each : known)
            all += each.second.device == device ? each.second.bytes : 0;
        return all;
    }

  private:
    std::map<u64, Allocation> known;
};

// Fills a range. Whole pages of zeros are remapped and use no memory.
inline void set_bytes(u64 at, u8 value, u64 bytes) {
    constexpr u64 PAGE = 1 << 16;
    const u64 first = (at + PAGE - 1) / PAGE * PAGE;
    const u64 last = (at + bytes) / PAGE * PAGE;
    if (value != 0 || bytes <= Allocations::MOST_TOUCHED) {
        std::memset(reinterpret_cast<void*>(at), value, bytes);
        return;
    }
    std::memset(reinterpret_cast<void*>(at), 0, first - at);
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    std::memset(reinterpret_cast<void*>(last), 0, at + bytes - last);
}

} // namespace emulated
