// Streams of emulated devices: what is begun on one is done when somebody waits for it, and not before.
#pragma once

#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace emulated {

struct Context;

// Does something, and says what went wrong, if anything did.
typedef std::function<std::string()> Work;

struct Begun {
    // All that is begun anywhere is counted.
    u64 number;
    Work work;
};

// As the driver has them.
enum class Capture { NONE = 0, ACTIVE = 1, INVALIDATED = 2 };

struct Stream {
    Context* context;
    bool is_default;
    // Whether it and the default stream wait for each other.
    bool is_blocking;
    std::deque<Begun> queue;
    Capture capture = Capture::NONE;
    std::vector<Work> captured;
};

struct Context {
    int device;
    // The first is the default one. Destroyed ones stay, so that no other one is taken for them.
    std::vector<Stream*> streams;
    // Whether something went wrong, and nobody was told yet.
    bool has_failed = false;
};

inline bool waits_for(const Stream& stream, const Stream& other) {
    return (stream.is_default && other.is_blocking) || (stream.is_blocking && other.is_default);
}

// Does what was begun on a stream before `end`, and what that waits for.
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
