// Counts the memory accesses of the warps of a launch, for tests. It does not measure time.
//
// A warp is 32 adjacent threads in lockstep. For each kind and size of access, the n-th accesses of all its threads
// since the last barrier count as one request. So the counts are exact only if all threads of a warp take the same
// branches.
#pragma once

#include <algorithm>
#include <vector>

constexpr u32 WARP = 32;
constexpr u64 SECTOR = 32;
constexpr u64 LINE = 128;

struct Traffic {
    // The bytes that threads access, and the requests of warps.
    u64 bytes;
    u64 requests;
    // The sectors and cache lines, summed over all requests.
    u64 sectors;
    u64 lines;
    // The different sectors that a block accesses, summed over all blocks, and how many of them it accesses only in
    // part.
    u64 distinct;
    u64 partial;
};

// Accesses to shared memory. A request takes as many wavefronts as the bank with the most different words has words.
// `least` is their number without such conflicts.
struct Wavefronts {
    u64 taken;
    u64 least;
};

struct Counts {
    Traffic read;
    Traffic written;
    Traffic numbers;
    Wavefronts shared_read;
    Wavefronts shared_written;
};

enum Kind : u32 { READ, WRITTEN, NUMBERS, SHARED_READ, SHARED_WRITTEN, KINDS };

struct Access {
    u32 warp;
    Kind kind;
    u32 bytes;
    u32 turn;
    u64 at;

    bool is_with(const Access& other) const {
        return warp == other.warp && kind == other.kind && bytes == other.bytes && turn == other.turn;
    }
    bool operator<(const Access& other) const {
        if (warp != other.warp)
            return warp < other.warp;
        if (kind != other.kind)
            return kind < other.kind;
        if (bytes != other.bytes)
            return bytes < other.bytes;
        return turn < other.turn;
    }
};

// The accesses of one phase, and the bytes of global memory that a block has accessed.
struct Recorder {
    Counts* counts;
    std::vector<Access> accesses;
    // For each kind, the accessed sectors, with a bit for each accessed byte.
    std::vector<std::pair<u64, u32>> touched[NUMBERS + 1];
    u32 thread = ~u32(0);
    u32 turns[KINDS][5];
};

static thread_local Recorder* recorder;

static void record(Kind kind, u64 at, u32 bytes) {
    if (recorder->thread != now) {
        std::memset(recorder->turns, 0, sizeof(recorder->turns));
        recorder->thread = now;
    }
    u32 size = 0;
    while (bytes >> (size + 1))
        ++size;
    recorder->accesses.push_back({now / WARP, kind, bytes, recorder->turns[kind][size]++, at});
    if (kind <= NUMBERS)
        recorder->touched[kind].push_back({at / SECTOR, ((1u << bytes) - 1) << at % SECTOR});
}

static void count_global(Kind kind, u64 at, u32 bytes) {
    if (recorder)
        record(kind, at, bytes);
}

static void count_shared(u32 at, u32 bytes, bool written) {
    if (recorder)
        record(written ? SHARED_WRITTEN : SHARED_READ, at, bytes);
}

static Traffic& traffic_of(Kind kind) {
    Counts& counts = *recorder->counts;
    return kind == READ ? counts.read : kind == WRITTEN ? counts.written : counts.numbers;
}

static void keep_different(std::vector<u64>& numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

// Returns the aligned parts of `size` bytes that the accesses need.
static std::vector<u64> parts_of(const Access* first, const Access* end, u64 size) {
    std::vector<u64> parts;
    for (; first < end; ++first)
        for (u64 part = first->at / size; part * size < first->at + first->bytes; ++part)
            parts.push_back(part);
    keep_different(parts);
    return parts;
}

// Shared memory serves half a warp at a time with accesses of 8 bytes, and a quarter with accesses of 16 bytes. Banks
// are 4 bytes wide.
static void count_wavefronts(Wavefronts& wavefronts, const Access* first, const Access* end) {
    const u32 at_once = WARP * 4 / (first->bytes < 4 ? 4 : first->bytes);
    for (; first < end; first += at_once) {
        u64 banks[WARP] = {};
        for (const u64 word : parts_of(first, std::min(end, first + at_once), 4))
            ++banks[word % WARP];
        wavefronts.taken += *std::max_element(banks, banks + WARP);
        wavefronts.least += 1;
    }
}

static void count_request(const Access* first, const Access* end) {
    Counts& counts = *recorder->counts;
    if (first->kind == SHARED_READ || first->kind == SHARED_WRITTEN) {
        count_wavefronts(first->kind == SHARED_READ ? counts.shared_read : counts.shared_written, first, end);
        return;
    }
    Traffic& traffic = traffic_of(first->kind);
    traffic.bytes += u64(end - first) * first->bytes;
    traffic.requests += 1;
    traffic.sectors += parts_of(first, end, SECTOR).size();
    traffic.lines += parts_of(first, end, LINE).size();
}

// Counts the accesses since the last barrier.
static void count_phase() {
    if (!recorder)
        return;
    std::vector<Access>& accesses = recorder->accesses;
    std::stable_sort(accesses.begin(), accesses.end());
    const Access* end = accesses.data() + accesses.size();
    for (const Access* first = accesses.data(); first < end;) {
        const Access* next = first;
        while (next < end && next->is_with(*first))
            ++next;
        count_request(first, next);
        first = next;
    }
    accesses.clear();
    recorder->thread = ~u32(0);
}

static void count_block() {
    if (!recorder)
        return;
    for (u32 kind = READ; kind <= NUMBERS; ++kind) {
        std::vector<std::pair<u64, u32>>& touched = recorder->touched[kind];
        std::sort(touched.begin(), touched.end());
        Traffic& traffic = traffic_of(Kind(kind));
        u32 bytes = 0;
        for (size_t each = 0; each < touched.size(); ++each) {
            bytes |= touched[each].second;
            if (each + 1 == touched.size() || touched[each + 1].first != touched[each].first) {
                traffic.distinct += 1;
                traffic.partial += bytes != ~u32(0);
                bytes = 0;
            }
        }
        touched.clear();
    }
}
