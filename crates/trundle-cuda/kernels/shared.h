// Shared memory for tests on the host. It records the accesses to each element since the last barrier.
#pragma once

// The index of the running thread in its block, and 1 plus the number of barriers that it has passed.
static thread_local u32 now;
static thread_local u32 phase;

static void count_shared(u32 at, u32 bytes, bool written);

// The phase and the thread of an element's last write and last read. The reader is MANY if several threads have read it
// in that phase.
struct Touched {
    u32 written_in = 0;
    u32 read_in = 0;
    u32 writer = 0;
    u32 reader = 0;
};

constexpr u32 MANY = 0xffffffff;

static void race(const char* what, u32 at) {
    if (!fault[0])
        std::snprintf(fault, sizeof(fault), "thread %u %s shared element %u, and another one has it without a barrier",
                      now, what, at);
}

// An array in shared memory, at first of arbitrary bytes. Reports a race if a thread accesses an element that another
// thread writes, without a barrier in between.
template <class T, u32 COUNT> class Shared {
    T values[COUNT];
    Touched touched[COUNT];

    T read(u32 at) {
        Touched& known = touched[at];
        if (known.written_in == phase && known.writer != now)
            race("reads", at);
        known.reader = known.read_in == phase && known.reader != now ? MANY : now;
        known.read_in = phase;
        count_shared(at * sizeof(T), sizeof(T), false);
        return values[at];
    }

    void write(u32 at, T value) {
        Touched& known = touched[at];
        if ((known.written_in == phase && known.writer != now) || (known.read_in == phase && known.reader != now))
            race("writes", at);
        known.writer = now;
        known.written_in = phase;
        count_shared(at * sizeof(T), sizeof(T), true);
        values[at] = value;
    }

    struct Place {
        Shared& of;
        u32 at;

        operator T() const { return of.read(at); }
        void operator=(T value) const { of.write(at, value); }
    };

public:
    Shared() { std::memset(values, 0xa5, sizeof(values)); }

    Place operator[](u32 at) {
        if (at < COUNT)
            return {*this, at};
        if (!fault[0])
            std::snprintf(fault, sizeof(fault), "shared element %u of %u", at, COUNT);
        return {*this, 0};
    }
};
