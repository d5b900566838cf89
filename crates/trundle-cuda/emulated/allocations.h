// The memory of emulated devices: the host's, which kernels reach only where it is known here.
#pragma once

#include <cstring>
#include <map>

#include <sys/mman.h>

namespace emulated {

struct Allocation {
    u64 begin;
    u64 bytes;
    int device;
    // Whether the stream that it was asked for on has come to it.
    bool is_there;
    // Whether somebody has asked to give it back, which is done once.
    bool is_dropped;

    u64 end() const { return begin + bytes; }
};

class Allocations {
  public:
    // Of memory of up to so many bytes it is seen if somebody takes what was never written for zeros. More is not touched,
    // so that it takes no pages.
    static constexpr u64 MOST_TOUCHED = 1 << 26;

    // Gives where it begins, or 0.
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

    // What holds so many bytes of a device.
    const Allocation* holding(u64 at, u64 bytes, int device) const {
        auto found = known.upper_bound(at);
        if (found == known.begin())
            return nullptr;
        const Allocation& before = (--found)->second;
        const bool is_within = at <= before.end() && bytes <= before.end() - at;
        return is_within && before.is_there && before.device == device ? &before : nullptr;
    }

    // Nobody gets these addresses again: who still has one meets no memory, and not that of somebody else.
    void remove(const Allocation& allocation) {
        mmap(reinterpret_cast<void*>(allocation.begin), allocation.bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        known.erase(allocation.begin);
    }

    // The bytes of a device that somebody has.
    u64 bytes_of(int device) const {
        u64 all = 0;
        for (const auto& each : known)
            all += each.second.device == device ? each.second.bytes : 0;
        return all;
    }

  private:
    std::map<u64, Allocation> known;
};

// Sets bytes. Whole pages of zeros are given back, and take no memory.
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
