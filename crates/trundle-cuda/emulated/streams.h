// Streams of the emulated devices. Enqueued work runs when a wait requires it, and not earlier.
#pragma once

#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace emulated {

struct Context;

// A unit of work; returns the failure, or an empty string.
typedef std::function<std::string()> Work;

struct Begun {
    // Sequence number over all streams.
    u64 number;
    Work work;
};

// Values as in the driver's API.
enum class Capture { NONE = 0, ACTIVE = 1, INVALIDATED = 2 };

struct Stream {
    Context* context;
    bool is_default;
    // Whether it synchronizes with the default stream.
    bool is_blocking;
    std::deque<Begun> queue;
    Capture capture = Capture::NONE;
    std::vector<Work> captured;
};

struct Context {
    int device;
    // The first is the default stream. Destroyed streams stay listed, so that their handles are not reused.
    std::vector<Stream*> streams;
    // Whether a failure has not been reported yet.
    bool has_failed = false;
};

inline bool waits_for(const Stream& stream, const Stream& other) {
    return (stream.is_default && other.is_blocking) || (stream.is_blocking && other.is_default);
}

// Runs the work enqueued on a stream before `end`, and the work it waits for.
inline void carry_out(Stream& stream, u64 end) {
    while (!stream.queue.empty() && stream.queue.front().number < end) {
        const Begun begun = std::move(stream.queue.front());
        stream.queue.pop_front();
        for (Stream* other : stream.context->streams)
            if (waits_for(stream, *other))
                carry_out(*other, begun.number);
        const std::string fault = begun.work();
        if (!fault.empty()) {
            std::fprintf(stderr, "emulated device %d: %s\n", stream.context->device, fault.c_str());
            stream.context->has_failed = true;
        }
    }
}

} // namespace emulated
