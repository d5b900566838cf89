// A CUDA driver without a device, for tests: the driver functions that the crate calls, and the kernels compiled for
// the host.
//
// It behaves as badly as a real driver may: enqueued work runs only when a wait requires it, freed memory is
// inaccessible, new memory is not zeroed, and a copy reads host memory when it runs.
//
// Limits: kernels are slow and do not run concurrently; PTX is only searched for its entries; cubins are libraries of
// the emulated NVRTC; graphs have no memory of their own; an error is reported once and is not sticky.
//
// TRUNDLE_EMULATED_DEVICES        number of devices (default: 1)
// TRUNDLE_EMULATED_MEMORY         bytes per device (default: 64 GiB)
// TRUNDLE_EMULATED_WITHOUT_POOLS  devices without memory pools, for example 1,3 (default: none)

#include "../kernels/kernels.cu"

#include "allocations.h"
#include "moved.h"
#include "streams.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

using namespace emulated;

// The subset of NVIDIA's result codes used here.
enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_IMPLICIT = 906,
};

struct Event {
    Stream* stream;
    u64 end;
};

typedef const char* (*RunMoved)(const Moved*);

struct Module {
    Context* context;
    std::string text;
    // The kernel of a specialised module.
    RunMoved moved;
};

struct Function {
    Context* context;
    std::string name;
    RunMoved moved;
};

typedef std::vector<Work> Graph;

// Never destroyed, because memory may be freed during process exit.
struct Driver {
    std::mutex mutex;
    std::vector<Context*> devices;
    std::set<int> without_pools;
    u64 memory = 0;
    Allocations allocations;
    u64 begun = 0;
    std::set<const Stream*> streams;
};

static Driver& driver() {
    static Driver& driver = *new Driver;
    return driver;
}

static thread_local std::vector<Context*> current;

// Whether this thread may load modules while a stream is captured.
static thread_local bool is_relaxed = false;

struct Call {
    std::lock_guard<std::mutex> guard{driver().mutex};
    Context* context = current.empty() ? nullptr : current.back();

    // Returns the stream of a handle if it belongs to the current context.
    Stream* stream(void* handle) const {
        if (!context)
            return nullptr;
        if (!handle)
            return context->streams[0];
        Stream* stream = static_cast<Stream*>(handle);
        return driver().streams.count(stream) && stream->context == context ? stream : nullptr;
    }
};

static u64 number_of(const char* variable, u64 otherwise) {
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

static Stream* new_stream(Context* context, bool is_default, bool is_blocking) {
    Stream* stream = new Stream{context, is_default, is_blocking, {}, Capture::NONE, {}};
    context->streams.push_back(stream);
    return stream;
}

// The default stream cannot be used while a stream that it waits for is captured.
static bool is_implicitly_captured(const Stream& stream) {
    for (const Stream* other : stream.context->streams)
        if (stream.is_default && other->is_blocking && other->capture != Capture::NONE)
            return true;
    return false;
}

// An operation that cannot be captured invalidates the capture.
static Result check_no_capture(Stream& stream) {
    if (is_implicitly_captured(stream))
        return CAPTURE_IMPLICIT;
    if (stream.capture == Capture::NONE)
        return SUCCESS;
    stream.capture = Capture::INVALIDATED;
    return CAPTURE_UNSUPPORTED;
}

static Result begin(Stream* stream, Work work) {
    if (!stream)
        return INVALID_HANDLE;
    if (is_implicitly_captured(*stream))
        return CAPTURE_IMPLICIT;
    if (stream->capture == Capture::INVALIDATED)
        return CAPTURE_INVALIDATED;
    if (stream->capture == Capture::ACTIVE)
        stream->captured.push_back(std::move(work));
    else
        stream->queue.push_back(Begun{++driver().begun, std::move(work)});
    return SUCCESS;
}

static Result begin_uncaptured(Stream* stream, Work work) {
    if (!stream)
        return INVALID_HANDLE;
    const Result refusal = check_no_capture(*stream);
    return refusal ? refusal : begin(stream, std::move(work));
}

static Result take_failure(Context* context) {
    const bool has_failed = context->has_failed;
    context->has_failed = false;
    return has_failed ? ILLEGAL_ADDRESS : SUCCESS;
}

static Result wait(Stream* stream) {
    if (!stream)
        return INVALID_HANDLE;
    if (const Result refusal = check_no_capture(*stream))
        return refusal;
    carry_out(*stream, driver().begun + 1);
    return take_failure(stream->context);
}

static const Allocation* holding(u64 at, u64 bytes, const Stream* stream) {
    return driver().allocations.holding(at, bytes, stream->context->device);
}

static std::string no_memory(const std::string& who, u64 at, u64 bytes) {
    std::ostringstream text;
    text << who << ": " << bytes << " bytes at " << std::hex << at << " are no memory of the device, or not any more";
    return text.str();
}

static std::string run_kernel(const std::string& name, const Launch& launch, u64 blocks, const Stream* stream) {
    const Allocation* src = holding(launch.src, launch.src_bytes, stream);
    const Allocation* dst = holding(launch.dst, 1, stream);
    const Allocation* numbers = holding(launch.numbers, 8, stream);
    if (!src)
        return no_memory(name + ", its source", launch.src, launch.src_bytes);
    if (!dst)
        return no_memory(name + ", its destination", launch.dst, 1);
    if (!numbers && launch.numbers)
        return no_memory(name + ", its tables", launch.numbers, 8);
    const u64 dst_bytes = dst->end() - launch.dst;
    const std::unique_ptr<void, void (*)(void*)> written(std::calloc(dst_bytes, 1), std::free);
    const ::LaunchMemory memory{launch.src,
                          launch.src_bytes,
                          launch.dst,
                          dst_bytes,
                          launch.numbers,
                          numbers ? numbers->end() - launch.numbers : 0,
                          static_cast<u8*>(written.get())};
    const char* fault = ::run(name.c_str(), &launch, blocks, &memory);
    return fault ? name + ": " + fault : "";
}

// Runs a specialised kernel. It may access whole allocations, and changes only bytes of the destination.
static std::string run_specialised(RunMoved run, Moved moving, const Stream* stream) {
    const Allocation* src = holding(moving.src, 16, stream);
    const Allocation* dst = holding(moving.dst, 1, stream);
    const Allocation* numbers = holding(moving.numbers, 8, stream);
    if (!src)
        return no_memory("moved, its source", moving.src, 16);
    if (!dst)
        return no_memory("moved, its destination", moving.dst, 1);
    if (!numbers && moving.numbers)
        return no_memory("moved, its tables", moving.numbers, 8);
    moving.src_begin = src->begin;
    moving.src_end = src->end();
    moving.dst_end = dst->end();
    moving.numbers_begin = numbers ? numbers->begin : 0;
    moving.numbers_end = numbers ? numbers->end() : 0;
    const std::unique_ptr<void, void (*)(void*)> written(std::calloc(dst->end() - moving.dst, 1), std::free);
    moving.written = static_cast<unsigned char*>(written.get());
    const char* fault = run(&moving);
    return fault ? std::string("moved: ") + fault : "";
}

// The end of a library in memory, where its table of sections ends.
static size_t library_bytes(const void* image) {
    const Elf64_Ehdr& header = *static_cast<const Elf64_Ehdr*>(image);
    return header.e_shoff + size_t(header.e_shentsize) * header.e_shnum;
}

// Loads a library of the emulated NVRTC. Returns null for any other.
static RunMoved load_specialised(const void* image) {
    char path[] = "/tmp/emulated-cubin-XXXXXX";
    const int file = mkstemp(path);
    const size_t bytes = library_bytes(image);
    const bool is_written = file >= 0 && write(file, image, bytes) == ssize_t(bytes);
    void* library = is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (is_written && !library)
        std::fprintf(stderr, "emulated module: %s\n", dlerror());
    close(file);
    unlink(path);
    return library ? reinterpret_cast<RunMoved>(dlsym(library, "run_moved")) : nullptr;
}

extern "C" {

int cuDriverGetVersion(int* version) {
    *version = 13000;
    return SUCCESS;
}

// NVIDIA's NVRTC looks for its cache here, and crashes if the function is missing.
int cuGetExportTable(const void**, const void*) {
    return NOT_FOUND;
}

int cuInit(unsigned) {
    const Call call;
    Driver& all = driver();
    if (!all.devices.empty())
        return SUCCESS;
    all.memory = number_of("TRUNDLE_EMULATED_MEMORY", u64(64) << 30);
    const u64 devices = number_of("TRUNDLE_EMULATED_DEVICES", 1);
    for (u64 device = 0; device < devices; ++device) {
        all.devices.push_back(new Context{int(device), {}});
        new_stream(all.devices.back(), true, false);
    }
    const char* without = std::getenv("TRUNDLE_EMULATED_WITHOUT_POOLS");
    std::istringstream list(without ? without : "");
    for (std::string each; std::getline(list, each, ',');)
        all.without_pools.insert(std::atoi(each.c_str()));
    return SUCCESS;
}

int cuGetErrorString(int result, const char** text) {
    switch (result) {
    case SUCCESS: *text = "no error"; break;
    case INVALID_VALUE: *text = "invalid argument"; break;
    case OUT_OF_MEMORY: *text = "out of memory"; break;
    case NOT_INITIALIZED: *text = "initialization error"; break;
    case INVALID_DEVICE: *text = "invalid device ordinal"; break;
    case INVALID_IMAGE: *text = "device kernel image is invalid"; break;
    case INVALID_CONTEXT: *text = "invalid device context"; break;
    case INVALID_HANDLE: *text = "invalid resource handle"; break;
    case NOT_FOUND: *text = "named symbol not found"; break;
    case ILLEGAL_ADDRESS: *text = "an illegal memory access was encountered"; break;
    case NOT_SUPPORTED: *text = "operation not supported"; break;
    case CAPTURE_UNSUPPORTED: *text = "operation not permitted when stream is capturing"; break;
    case CAPTURE_INVALIDATED: *text = "operation failed due to a previous error during capture"; break;
    case CAPTURE_IMPLICIT: *text = "operation would make the legacy stream depend on a capturing blocking stream"; break;
    default: *text = nullptr; return INVALID_VALUE;
    }
    return SUCCESS;
}

int cuDeviceGetCount(int* count) {
    const Call call;
    *count = int(driver().devices.size());
    return SUCCESS;
}

int cuDeviceGet(int* device, int ordinal) {
    const Call call;
    if (ordinal < 0 || u64(ordinal) >= driver().devices.size())
        return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

int cuDeviceGetName(char* name, int bytes, int) {
    std::snprintf(name, size_t(bytes), "emulated");
    return SUCCESS;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
    const Call call;
    switch (attribute) {
    case 75: *value = 9; break; // The compute capability,
    case 76: *value = 0; break; // 9.0.
    case 115: *value = driver().without_pools.count(device) == 0; break;
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(Context** context, int device) {
    const Call call;
    if (device < 0 || u64(device) >= driver().devices.size())
        return INVALID_DEVICE;
    *context = driver().devices[size_t(device)];
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int) {
    return SUCCESS;
}

int cuCtxGetCurrent(Context** context) {
    *context = current.empty() ? nullptr : current.back();
    return SUCCESS;
}

int cuCtxSetCurrent(Context* context) {
    if (!current.empty())
        current.pop_back();
    if (context)
        current.push_back(context);
    return SUCCESS;
}

int cuCtxPushCurrent_v2(Context* context) {
    current.push_back(context);
    return SUCCESS;
}

int cuCtxPopCurrent_v2(Context** context) {
    if (current.empty())
        return INVALID_CONTEXT;
    *context = current.back();
    current.pop_back();
    return SUCCESS;
}

int cuCtxSynchronize() {
    const Call call;
    if (!call.context)
        return INVALID_CONTEXT;
    for (Stream* stream : call.context->streams)
        carry_out(*stream, driver().begun + 1);
    return take_failure(call.context);
}

int cuModuleLoadData(Module** module, const void* image) {
    const Call call;
    if (!call.context)
        return INVALID_CONTEXT;
    const Driver& all = driver();
    for (const Stream* stream : all.streams)
        if (stream->context == call.context && stream->capture == Capture::ACTIVE && !is_relaxed) {
            std::fprintf(stderr, "a module is loaded while a stream is captured\n");
            return CAPTURE_UNSUPPORTED;
        }
    if (!std::memcmp(image, ELFMAG, SELFMAG)) {
        const RunMoved moved = load_specialised(image);
        *module = new Module{call.context, "", moved};
        return moved ? SUCCESS : INVALID_IMAGE;
    }
    const std::string text = static_cast<const char*>(image);
    if (text.find(".version ") == std::string::npos || text.find(".target sm_") == std::string::npos)
        return INVALID_IMAGE;
    *module = new Module{call.context, text, nullptr};
    return SUCCESS;
}

int cuModuleGetFunction(Function** function, Module* module, const char* name) {
    const Call call;
    if (module->moved) {
        *function = new Function{module->context, name, module->moved};
        return std::strcmp(name, "moved") ? NOT_FOUND : SUCCESS;
    }
    if (module->text.find(std::string(".visible .entry ") + name + "(") == std::string::npos)
        return NOT_FOUND;
    *function = new Function{module->context, name, nullptr};
    return SUCCESS;
}

int cuMemAlloc_v2(u64* address, size_t bytes) {
    const Call call;
    if (!call.context)
        return INVALID_CONTEXT;
    if (bytes == 0)
        return INVALID_VALUE;
    const int device = call.context->device;
    const u64 used = driver().allocations.bytes_of(device);
    const bool has_room = bytes <= driver().memory - used;
    *address = has_room ? driver().allocations.add(bytes, device, true) : 0;
    return *address ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemAllocAsync(u64* address, size_t bytes, void* handle) {
    const Call call;
    Stream* stream = call.stream(handle);
    if (!stream)
        return INVALID_HANDLE;
    const int device = stream->context->device;
    if (driver().without_pools.count(device))
        return NOT_SUPPORTED;
    if (bytes == 0)
        return INVALID_VALUE;
    if (const Result refusal = check_no_capture(*stream))
        return refusal;
    // Memory freed earlier on the stream can be reused.
    if (bytes > driver().memory - driver().allocations.bytes_of(device))
        carry_out(*stream, driver().begun + 1);
    const bool has_room = bytes <= driver().memory - driver().allocations.bytes_of(device);
    const u64 begin_at = has_room ? driver().allocations.add(bytes, device, false) : 0;
    if (!begin_at)
        return OUT_OF_MEMORY;
    *address = begin_at;
    return begin(stream, [begin_at] {
        if (Allocation* allocation = driver().allocations.beginning_at(begin_at))
            allocation->is_there = true;
        return std::string();
    });
}

int cuMemGetAddressRange_v2(u64* begin, size_t* bytes, u64 address) {
    const Call call;
    if (!call.context)
        return INVALID_CONTEXT;
    const Allocation* allocation = driver().allocations.holding(address, 1, call.context->device);
    if (!allocation)
        return INVALID_VALUE;
    *begin = allocation->begin;
    *bytes = allocation->bytes;
    return SUCCESS;
}

// Does not wait.
int cuMemFree_v2(u64 address) {
    const Call call;
    Allocation* allocation = driver().allocations.beginning_at(address);
    if (!allocation || allocation->is_dropped)
        return INVALID_VALUE;
    driver().allocations.remove(*allocation);
    return SUCCESS;
}

int cuMemFreeAsync(u64 address, void* handle) {
    const Call call;
    Stream* stream = call.stream(handle);
    Allocation* allocation = driver().allocations.beginning_at(address);
    if (stream && driver().without_pools.count(stream->context->device))
        return NOT_SUPPORTED;
    if (!allocation || allocation->is_dropped)
        return INVALID_VALUE;
    const Result refusal = begin_uncaptured(stream, [address] {
        const Allocation* allocation = driver().allocations.beginning_at(address);
        if (!allocation || !allocation->is_there)
            return no_memory("a stream gives back what it does not have", address, 0);
        driver().allocations.remove(*allocation);
        return std::string();
    });
    allocation->is_dropped = refusal == SUCCESS;
    return refusal;
}

int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
    if (bytes == 0)
        return INVALID_VALUE;
    *memory = std::malloc(bytes);
    return *memory ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemsetD8Async(u64 at, unsigned char value, size_t bytes, void* handle) {
    const Call call;
    const Stream* stream = call.stream(handle);
    return begin(call.stream(handle), [=] {
        if (!holding(at, bytes, stream))
            return no_memory("a memset", at, bytes);
        set_bytes(at, value, bytes);
        return std::string();
    });
}

int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void* handle) {
    const Call call;
    const Stream* stream = call.stream(handle);
    return begin_uncaptured(call.stream(handle), [=] {
        if (!holding(to, bytes, stream))
            return no_memory("a copy from the host", to, bytes);
        std::memcpy(reinterpret_cast<void*>(to), from, bytes);
        return std::string();
    });
}

int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void* handle) {
    const Call call;
    const Stream* stream = call.stream(handle);
    return begin_uncaptured(call.stream(handle), [=] {
        if (!holding(from, bytes, stream))
            return no_memory("a copy to the host", from, bytes);
        std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
        return std::string();
    });
}

int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, void* handle) {
    const Call call;
    const Stream* stream = call.stream(handle);
    return begin(call.stream(handle), [=] {
        if (!holding(from, bytes, stream))
            return no_memory("a copy, its source", from, bytes);
        if (!holding(to, bytes, stream))
            return no_memory("a copy, its destination", to, bytes);
        std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
        return std::string();
    });
}

// Synchronous copies use the default stream.
int cuMemcpyHtoD_v2(u64 to, const void* from, size_t bytes) {
    const int refusal = cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
    const Call call;
    return refusal ? refusal : wait(call.stream(nullptr));
}

int cuMemcpyDtoH_v2(void* to, u64 from, size_t bytes) {
    const int refusal = cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
    const Call call;
    return refusal ? refusal : wait(call.stream(nullptr));
}

int cuStreamCreate(Stream** stream, unsigned flags) {
    const Call call;
    if (!call.context)
        return INVALID_CONTEXT;
    *stream = new_stream(call.context, false, flags != 1);
    driver().streams.insert(*stream);
    return SUCCESS;
}

int cuStreamDestroy_v2(void* handle) {
    const Call call;
    Stream* stream = call.stream(handle);
    if (!stream || stream->is_default)
        return INVALID_HANDLE;
    carry_out(*stream, driver().begun + 1);
    driver().streams.erase(stream);
    return SUCCESS;
}

int cuStreamSynchronize(void* handle) {
    const Call call;
    return wait(call.stream(handle));
}

int cuStreamBeginCapture_v2(void* handle, int) {
    const Call call;
    Stream* stream = call.stream(handle);
    if (!stream)
        return INVALID_HANDLE;
    if (stream->is_default || stream->capture != Capture::NONE)
        return CAPTURE_UNSUPPORTED;
    stream->capture = Capture::ACTIVE;
    return SUCCESS;
}

int cuStreamIsCapturing(void* handle, int* status) {
    const Call call;
    const Stream* stream = call.stream(handle);
    if (!stream)
        return INVALID_HANDLE;
    if (is_implicitly_captured(*stream))
        return CAPTURE_IMPLICIT;
    *status = int(stream->capture);
    return SUCCESS;
}

int cuStreamEndCapture(void* handle, Graph** graph) {
    const Call call;
    Stream* stream = call.stream(handle);
    if (!stream || stream->capture == Capture::NONE)
        return INVALID_VALUE;
    const bool is_valid = stream->capture == Capture::ACTIVE;
    *graph = is_valid ? new Graph(std::move(stream->captured)) : nullptr;
    stream->capture = Capture::NONE;
    stream->captured.clear();
    return is_valid ? SUCCESS : CAPTURE_INVALIDATED;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
    constexpr int THREAD_LOCAL = 1, RELAXED = 2;
    const bool was_relaxed = is_relaxed;
    is_relaxed = *mode == RELAXED;
    *mode = was_relaxed ? RELAXED : THREAD_LOCAL;
    return SUCCESS;
}

int cuGraphInstantiateWithFlags(Graph** executable, const Graph* graph, unsigned long long) {
    *executable = new Graph(*graph);
    return SUCCESS;
}

int cuGraphLaunch(const Graph* executable, void* handle) {
    const Call call;
    for (const Work& work : *executable)
        if (const Result refusal = begin(call.stream(handle), work))
            return refusal;
    return SUCCESS;
}

int cuGraphExecDestroy(Graph* executable) {
    delete executable;
    return SUCCESS;
}

int cuGraphDestroy(Graph* graph) {
    delete graph;
    return SUCCESS;
}

int cuEventCreate(Event** event, unsigned) {
    *event = new Event{nullptr, 0};
    return SUCCESS;
}

int cuEventRecord(Event* event, void* handle) {
    const Call call;
    const Result refusal = begin_uncaptured(call.stream(handle), [] { return std::string(); });
    *event = Event{call.stream(handle), driver().begun + 1};
    return refusal;
}

int cuEventQuery(const Event* event) {
    const Call call;
    if (!event->stream)
        return SUCCESS;
    const std::deque<Begun>& queue = event->stream->queue;
    return queue.empty() || queue.front().number >= event->end ? SUCCESS : NOT_READY;
}

int cuEventSynchronize(const Event* event) {
    const Call call;
    if (!event->stream)
        return SUCCESS;
    carry_out(*event->stream, event->end);
    return take_failure(event->stream->context);
}

int cuStreamWaitEvent(void* handle, const Event* event, unsigned) {
    const Call call;
    const Event recorded = *event;
    return begin_uncaptured(call.stream(handle), [recorded] {
        if (recorded.stream)
            carry_out(*recorded.stream, recorded.end);
        return std::string();
    });
}

int cuEventDestroy_v2(Event* event) {
    delete event;
    return SUCCESS;
}

int cuLaunchKernel(const Function* function, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned, void* handle, void** parameters, void**) {
    const Call call;
    const Stream* stream = call.stream(handle);
    if (!stream || function->context != stream->context)
        return INVALID_HANDLE;
    if (blocks == 0 || blocks > 0x7fffffff || blocks_y != 1 || blocks_z != 1)
        return INVALID_VALUE;
    if (threads_y != 1 || threads_z != 1)
        return INVALID_VALUE;
    if (const RunMoved run = function->moved) {
        Moved moving{};
        moving.src = *static_cast<const u64*>(parameters[0]);
        moving.dst = *static_cast<const u64*>(parameters[1]);
        moving.numbers = *static_cast<const u64*>(parameters[2]);
        moving.blocks = blocks;
        moving.threads = threads;
        return begin(call.stream(handle), [=] { return run_specialised(run, moving, stream); });
    }
    if (threads != WORKGROUP)
        return INVALID_VALUE;
    const Launch launch = *static_cast<const Launch*>(parameters[0]);
    const std::string name = function->name;
    return begin(call.stream(handle), [=] { return run_kernel(name, launch, blocks, stream); });
}

} // extern "C"
