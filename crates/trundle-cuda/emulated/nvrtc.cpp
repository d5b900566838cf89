// NVRTC for the emulated driver: the host's compiler makes a library of the text, whose bytes stand for a cubin.
//
// Texts that contain `#error` fail, as with any compiler. CXX selects the compiler (default: c++).
//
// HERE is the folder of specialised.h.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace {

// The subset of NVIDIA's result codes used here.
enum Result {
    SUCCESS = 0,
    INVALID_INPUT = 3,
    INVALID_OPTION = 5,
    COMPILATION = 6,
};

struct Program {
    std::string text, log, library;
};

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The number of compiled kernels, for tests.
std::atomic<unsigned long long> compiled{0};

} // namespace

extern "C" {

unsigned long long nvrtc_compilations() {
    return compiled;
}

int nvrtcVersion(int* major, int* minor) {
    *major = 12;
    *minor = 0;
    return SUCCESS;
}

int nvrtcCreateProgram(Program** program, const char* text, const char*, int headers, const char* const*,
                       const char* const*) {
    if (headers != 0)
        return INVALID_INPUT;
    *program = new Program{text, "", ""};
    return SUCCESS;
}

int nvrtcDestroyProgram(Program** program) {
    delete *program;
    *program = nullptr;
    return SUCCESS;
}

int nvrtcCompileProgram(Program* program, int options, const char* const* given) {
    const bool has_kernel = program->text.find(" moved(") != std::string::npos;
    compiled += has_kernel;
    for (int each = 0; each < options; ++each)
        if (!std::strncmp(given[each], "--gpu-architecture=", 19) && std::strcmp(given[each] + 19, "sm_90")) {
            program->log = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
            return INVALID_OPTION;
        }
    char folder[] = "/tmp/emulated-nvrtc-XXXXXX";
    if (!mkdtemp(folder))
        return COMPILATION;
    const std::string at = folder;
    {
        std::ofstream file(at + "/text.cpp");
        const bool has_barriers = program->text.find("__syncthreads") != std::string::npos;
        file << "#define HAS_BARRIERS " << has_barriers << "\n#include \"" HERE "/specialised.h\"\n#line 1 \"moved.cu\"\n"
             << program->text << "\n";
        if (has_kernel)
            file << "extern \"C\" const char* run_moved(const Moved* moving) { return emulated::run(moved, *moving); }\n";
    }
    const char* compiler = std::getenv("CXX");
    // Without the libraries that the process has anyway, linking takes half the time.
    const std::string flags = " -std=c++17 -O0 -w -fPIC -shared -fno-threadsafe-statics -nostartfiles -nodefaultlibs ";
    const std::string command = std::string(compiler ? compiler : "c++") + flags + "-o " + at + "/library.so " + at +
                                "/text.cpp >" + at + "/log 2>&1";
    const bool is_right = std::system(command.c_str()) == 0;
    program->log = content(at + "/log");
    program->library = is_right ? content(at + "/library.so") : "";
    for (const char* name : {"/text.cpp", "/library.so", "/log"})
        unlink((at + name).c_str());
    rmdir(folder);
    return is_right ? SUCCESS : COMPILATION;
}

int nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
    *bytes = program->log.size() + 1;
    return SUCCESS;
}

int nvrtcGetProgramLog(Program* program, char* log) {
    std::memcpy(log, program->log.c_str(), program->log.size() + 1);
    return SUCCESS;
}

int nvrtcGetCUBINSize(Program* program, size_t* bytes) {
    *bytes = program->library.size();
    return SUCCESS;
}

int nvrtcGetCUBIN(Program* program, char* library) {
    std::memcpy(library, program->library.data(), program->library.size());
    return SUCCESS;
}

} // extern "C"
