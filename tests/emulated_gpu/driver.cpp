// A driver of CUDA whose GPUs are emulated by the processor: `libcuda.so.1` for tests on machines without a GPU.
//
// Together with nvrtc.cpp (`libnvrtc.so`), which hands the kernels to a C++ compiler, it runs the whole CUDA engine,
// slowly: host code, kernels, cooperative launches, several GPUs in one process or in several.
//
// Emulated: blocks and their threads (blocks.cpp), barriers, shuffles and votes with their masks, atomics, shared and
// constant memory, streams and events (all work of a GPU runs in the order in which it was given, on one thread a GPU:
// two streams never overlap), page-locked memory, peers, handles of memory for other processes.
// Not emulated: how a GPU orders memory (the processor's order is stricter), time, registers, occupancy, the GPU's
// approximate functions (here correctly rounded: so `count_wrong_reciprocals`, which tries 1.7e9 arguments, is not
// run), limits that only machine code has.
// Reported, with kernel, block, thread and line, and then the process is aborted: threads that wait for each other for good,
// shuffles with lanes that do not take part or under other masks, touching memory within a page after an allocation (or dynamic shared
// memory) or after it was freed, waiting for other blocks longer than EMULATED_PATIENCE seconds. New memory and shared
// variables hold bytes 0xA5.
//
// Environment: EMULATED_GPUS (1), EMULATED_MULTIPROCESSORS (4), EMULATED_PATIENCE (60, seconds), EMULATED_ORDER (0: the
// threads of a block run in their order from one meeting to the next; else the seed of a random order, which shows
// missing barriers), EMULATED_OPTIMIZATION (-O1, the compiler's option), EMULATED_KEEP (set: the text of compiled kernels stays),
// EMULATED_FREE_MIB (the GPU never says that more is free), EMULATED_CALLS (a file: how many copies, launches and waits there were).
#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "gpus.h"

namespace {

// Of this thread, the present one last.
thread_local std::vector<Gpu *> *current = nullptr;

}  // namespace

// Never destroyed: threads use it until the process ends.
std::vector<Gpu *> &gpus() {
    static std::vector<Gpu *> *all = [] {
        auto *gpus = new std::vector<Gpu *>;
        for (int k = 0; k < setting("EMULATED_GPUS", 1); ++k) {
            gpus->push_back(new Gpu);
            gpus->back()->ordinal = k;
        }
        return gpus;
    }();
    return *all;
}

Gpu *current_gpu() { return current && !current->empty() ? current->back() : nullptr; }

Gpu *gpu_of(void *stream) {
    // Null, legacy and per-thread default streams.
    return (uintptr_t)stream <= 2 ? current_gpu() : ((Stream *)stream)->gpu;
}

namespace {

std::atomic<uint64_t> calls[CALL_KINDS];

// Writes their numbers when the process ends.
struct WriteCalls {
    ~WriteCalls() {
        static const char *const names[CALL_KINDS] = {"copies to the GPU", "copies from the GPU", "copies on the GPU",
                                                      "fillings", "launches", "waits"};
        const char *path = getenv("EMULATED_CALLS");
        FILE *file = path ? fopen(path, "w") : nullptr;
        if (!file) return;
        for (int call = 0; call < CALL_KINDS; ++call) {
            fprintf(file, "%s: %llu\n", names[call], (unsigned long long)calls[call].load());
        }
        fclose(file);
    }
} write_calls;

}  // namespace

void count_call(Call call) { calls[call].fetch_add(1, std::memory_order_relaxed); }

Result complain(Result result, const std::string &message) {
    fprintf(stderr, "emulated GPU: %s\n", message.c_str());
    return result;
}

namespace {

void set_current(Gpu *gpu) {
    if (!current) current = new std::vector<Gpu *>;
    if (current->empty()) current->push_back(gpu);
    current->back() = gpu;
}

int multiprocessors() { return (int)setting("EMULATED_MULTIPROCESSORS", 4); }

struct Event {
    std::mutex lock;
    Gpu *gpu = nullptr;
    uint64_t ticket = 0;
    double time = 0.0;
};

const int SHARED_BYTES = 48 << 10, MOST_SHARED_BYTES = 227 << 10;
const unsigned MOST_THREADS = 1024;
// Threads that a multiprocessor has room for.
const unsigned RESIDENT_THREADS = 2048;

// ---- Modules.

struct Module {
    Gpu *gpu;
    void *handle;
    int file;
};

struct Function {
    Module *module;
    std::string name;
    const emulated::Kernel *kernel;
    int shared_bytes;
};

size_t image_bytes(const void *image) {
    const auto *header = (const Elf64_Ehdr *)image;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return 0;
    return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

Result launch(Function *function, uint3 grid, uint3 size, unsigned shared, void *stream, void **arguments, bool cooperative) {
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    if (gpu != function->module->gpu) return complain(INVALID_HANDLE, function->name + " belongs to another GPU");
    Launch launch = {function->name,
                     function->kernel,
                     nullptr,
                     grid,
                     size,
                     shared,
                     cooperative,
                     gpu->ordinal,
                     (void *(*)())dlsym(function->module->handle, "emulated_touch_shared"),
                     function->module->handle};
    unsigned threads = launch.threads();
    if (threads == 0 || launch.blocks() == 0 || threads > MOST_THREADS || threads > function->kernel->most_threads) {
        return complain(INVALID_VALUE, function->name + " cannot run with " + std::to_string(threads) + " threads a block");
    }
    if ((int)shared > std::max(SHARED_BYTES, function->shared_bytes)) {
        return complain(INVALID_VALUE, function->name + " may not have so much shared memory");
    }
    size_t at_once = (size_t)multiprocessors() * (RESIDENT_THREADS / threads);
    if (cooperative && launch.blocks() > at_once) return COOPERATIVE_LAUNCH_TOO_LARGE;
    if (function->name == "count_wrong_reciprocals") return SUCCESS;
    launch.arguments = function->kernel->copy(arguments);
    gpu->give([launch] {
        run(launch);
        launch.kernel->drop(launch.arguments);
    });
    return SUCCESS;
}

// ---- Errors of kernels.

struct sigaction before_segv, before_bus;

void on_bad_address(int number, siginfo_t *info, void *context) {
    const void *code = nullptr;
#if defined(__x86_64__)
    code = (const void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#endif
    (void)context;
    if (!say_where((const char *)code + 1)) {
        sigaction(number, number == SIGSEGV ? &before_segv : &before_bus, nullptr);
        return;
    }
    fprintf(stderr, ": %s\n", what_lies_at(info->si_addr).c_str());
    fflush(stderr);
    abort();
}

void start() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action = {};
        action.sa_sigaction = on_bad_address;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        sigaction(SIGSEGV, &action, &before_segv);
        sigaction(SIGBUS, &action, &before_bus);
        // Kernels find `emulated_...` among the process's symbols.
        Dl_info info;
        if (dladdr((void *)&gpus, &info)) dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    });
}

double seconds() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

}  // namespace

extern "C" {

// ---- The driver and its GPUs.

Result cuInit(unsigned) {
    start();
    return gpus().empty() ? 100 : SUCCESS;
}
Result cuDriverGetVersion(int *version) {
    *version = 13000;
    return SUCCESS;
}
Result cuDeviceGetCount(int *count) {
    *count = (int)gpus().size();
    return SUCCESS;
}
Result cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal >= (int)gpus().size()) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}
Result cuDeviceGetName(char *name, int length, int) {
    snprintf(name, (size_t)length, "emulated GPU");
    return SUCCESS;
}
Result cuDeviceGetUuid_v2(char *uuid, int device) {
    snprintf(uuid, 16, "emulated %06d", device);
    return SUCCESS;
}
Result cuDeviceGetUuid(char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }
Result cuDeviceGetPCIBusId(char *text, int length, int device) {
    snprintf(text, (size_t)length, "0000:%02x:00.0", device);
    return SUCCESS;
}
Result cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = MEMORY;
    return SUCCESS;
}
Result cuDeviceGetAttribute(int *value, int attribute, int) {
    switch (attribute) {
        case 1: *value = (int)MOST_THREADS; break;
        case 2: case 3: *value = 1024; break;
        case 4: *value = 64; break;
        case 5: *value = 2147483647; break;
        case 6: case 7: *value = 65535; break;
        case 8: *value = SHARED_BYTES; break;
        case 9: *value = 65536; break;
        case 10: *value = 32; break;
        case 12: *value = 65536; break;
        case 13: *value = 1000000; break;
        case 16: *value = multiprocessors(); break;
        case 39: *value = (int)RESIDENT_THREADS; break;
        case 75: *value = 9; break;
        case 76: *value = 0; break;
        // Unified addressing, cooperative launch, shared memory that may be asked for.
        case 41: case 95: *value = 1; break;
        case 81: *value = 228 << 10; break;
        case 97: *value = MOST_SHARED_BYTES; break;
        default: *value = 0; break;
    }
    return SUCCESS;
}
Result cuDeviceCanAccessPeer(int *possible, int from, int to) {
    *possible = from != to;
    return SUCCESS;
}
Result cuDeviceGetP2PAttribute(int *value, int, int, int) {
    *value = 1;
    return SUCCESS;
}
Result cuGetErrorName(int status, const char **text) {
    switch (status) {
        case SUCCESS: *text = "CUDA_SUCCESS"; break;
        case INVALID_VALUE: *text = "CUDA_ERROR_INVALID_VALUE"; break;
        case OUT_OF_MEMORY: *text = "CUDA_ERROR_OUT_OF_MEMORY"; break;
        case INVALID_DEVICE: *text = "CUDA_ERROR_INVALID_DEVICE"; break;
        case INVALID_IMAGE: *text = "CUDA_ERROR_INVALID_IMAGE"; break;
        case INVALID_CONTEXT: *text = "CUDA_ERROR_INVALID_CONTEXT"; break;
        case INVALID_HANDLE: *text = "CUDA_ERROR_INVALID_HANDLE"; break;
        case NOT_FOUND: *text = "CUDA_ERROR_NOT_FOUND"; break;
        case NOT_READY: *text = "CUDA_ERROR_NOT_READY"; break;
        case PEER_ACCESS_ALREADY_ENABLED: *text = "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"; break;
        case COOPERATIVE_LAUNCH_TOO_LARGE: *text = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"; break;
        case NOT_SUPPORTED: *text = "CUDA_ERROR_NOT_SUPPORTED"; break;
        default: *text = "CUDA_ERROR_UNKNOWN"; break;
    }
    return SUCCESS;
}
Result cuGetErrorString(int status, const char **text) { return cuGetErrorName(status, text); }
Result cuGetExportTable(const void **table, const void *) {
    *table = nullptr;
    return INVALID_VALUE;
}

// ---- Contexts.

Result cuDevicePrimaryCtxRetain(void **context, int device) {
    if (device < 0 || device >= (int)gpus().size()) return INVALID_DEVICE;
    *context = gpus()[(size_t)device];
    return SUCCESS;
}
Result cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
Result cuCtxSetCurrent(void *context) {
    set_current((Gpu *)context);
    return SUCCESS;
}
Result cuCtxGetCurrent(void **context) {
    *context = current_gpu();
    return SUCCESS;
}
Result cuCtxPushCurrent_v2(void *context) {
    if (!current) current = new std::vector<Gpu *>;
    current->push_back((Gpu *)context);
    return SUCCESS;
}
Result cuCtxPopCurrent_v2(void **context) {
    if (!current_gpu()) return INVALID_CONTEXT;
    if (context) *context = current->back();
    current->pop_back();
    return SUCCESS;
}
Result cuCtxGetDevice(int *device) {
    if (!current_gpu()) return INVALID_CONTEXT;
    *device = current_gpu()->ordinal;
    return SUCCESS;
}
Result cuCtxSynchronize() {
    count_call(WAITING);
    if (!current_gpu()) return INVALID_CONTEXT;
    current_gpu()->wait_for_all();
    return SUCCESS;
}
Result cuCtxEnablePeerAccess(void *context, unsigned) {
    static std::mutex lock;
    static std::vector<std::pair<Gpu *, Gpu *>> enabled;
    std::pair<Gpu *, Gpu *> pair = {current_gpu(), (Gpu *)context};
    if (!pair.first || !pair.second || pair.first == pair.second) return INVALID_CONTEXT;
    std::lock_guard<std::mutex> guard(lock);
    if (std::find(enabled.begin(), enabled.end(), pair) != enabled.end()) return PEER_ACCESS_ALREADY_ENABLED;
    enabled.push_back(pair);
    return SUCCESS;
}
Result cuCtxDisablePeerAccess(void *) { return SUCCESS; }
Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0;
    *greatest = 0;
    return SUCCESS;
}

// ---- Modules and launches.

Result cuModuleLoadData(void **module, const void *image) {
    Gpu *gpu = current_gpu();
    if (!gpu) return INVALID_CONTEXT;
    size_t bytes = image_bytes(image);
    if (bytes == 0) return complain(INVALID_IMAGE, "this code was not compiled for it: is libnvrtc.so the emulation's?");
    // A file of its own for each: so each has its own constants.
    int file = memfd_create("emulated_kernels", MFD_CLOEXEC);
    const char *at = (const char *)image;
    for (size_t written = 0; written < bytes;) {
        ssize_t count = write(file, at + written, bytes - written);
        if (count <= 0) return complain(OUT_OF_MEMORY, "no room for the kernels");
        written += (size_t)count;
    }
    std::string path = "/proc/self/fd/" + std::to_string(file);
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return complain(INVALID_IMAGE, dlerror());
    *module = new Module{gpu, handle, file};
    return SUCCESS;
}
Result cuModuleUnload(void *module) {
    Module *of = (Module *)module;
    of->gpu->wait_for_all();
    dlclose(of->handle);
    close(of->file);
    delete of;
    return SUCCESS;
}
Result cuModuleGetFunction(void **function, void *module, const char *name) {
    Module *of = (Module *)module;
    void *kernel = dlsym(of->handle, (std::string("emulated_kernel_") + name).c_str());
    if (!kernel) return NOT_FOUND;
    *function = new Function{of, name, (const emulated::Kernel *)kernel, 0};
    return SUCCESS;
}
Result cuModuleGetGlobal_v2(Pointer *pointer, size_t *bytes, void *module, const char *name) {
    void *handle = ((Module *)module)->handle;
    // Some names are taken (device.h).
    void *variable = dlsym(handle, (std::string("emulated_") + name).c_str());
    if (!variable) variable = dlsym(handle, name);
    Dl_info info;
    const ElfW(Sym) *symbol = nullptr;
    if (!variable || !dladdr1(variable, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return NOT_FOUND;
    if (pointer) *pointer = (Pointer)variable;
    if (bytes) *bytes = symbol->st_size;
    return SUCCESS;
}
Result cuFuncGetAttribute(int *value, int attribute, void *function) {
    const Function *of = (const Function *)function;
    *value = attribute == 0   ? (int)of->kernel->most_threads
             : attribute == 4 ? 32
             : attribute == 8 ? std::max(SHARED_BYTES, of->shared_bytes)
                              : 0;
    return SUCCESS;
}
Result cuFuncSetAttribute(void *function, int attribute, int value) {
    if (attribute != 8) return SUCCESS;
    if (value > MOST_SHARED_BYTES) return INVALID_VALUE;
    ((Function *)function)->shared_bytes = value;
    return SUCCESS;
}
Result cuFuncSetCacheConfig(void *, int) { return SUCCESS; }
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int threads, size_t) {
    *blocks = threads > 0 ? (int)RESIDENT_THREADS / threads : 0;
    return SUCCESS;
}
Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared, unsigned) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **arguments, void **) {
    count_call(LAUNCH);
    return launch((Function *)function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments, false);
}
Result cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, void *stream, void **arguments) {
    count_call(LAUNCH);
    return launch((Function *)function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments, true);
}
Result cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    gpu->give([=] { function(data); });
    return SUCCESS;
}

// ---- Streams and events.

Result cuStreamCreate(void **stream, unsigned) {
    if (!current_gpu()) return INVALID_CONTEXT;
    *stream = new Stream{current_gpu()};
    return SUCCESS;
}
Result cuStreamCreateWithPriority(void **stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
Result cuStreamDestroy_v2(void *stream) {
    delete (Stream *)stream;
    return SUCCESS;
}
Result cuStreamSynchronize(void *stream) {
    count_call(WAITING);
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    gpu->wait_for_all();
    return SUCCESS;
}
Result cuStreamQuery(void *stream) {
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    return gpu->is_done(gpu->last()) ? SUCCESS : NOT_READY;
}
Result cuStreamWaitEvent(void *stream, void *event, unsigned) {
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    Event *of = (Event *)event;
    std::lock_guard<std::mutex> guard(of->lock);
    // What the same GPU was given before is done before.
    if (of->gpu && of->gpu != gpu) {
        Gpu *other = of->gpu;
        uint64_t ticket = of->ticket;
        gpu->give([=] { other->wait(ticket); });
    }
    return SUCCESS;
}
Result cuEventCreate(void **event, unsigned) {
    *event = new Event;
    return SUCCESS;
}
Result cuEventRecord(void *event, void *stream) {
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    Event *of = (Event *)event;
    std::lock_guard<std::mutex> guard(of->lock);
    of->gpu = gpu;
    of->ticket = gpu->give([of] { of->time = seconds(); });
    return SUCCESS;
}
Result cuEventRecordWithFlags(void *event, void *stream, unsigned) { return cuEventRecord(event, stream); }
Result cuEventSynchronize(void *event) {
    count_call(WAITING);
    Event *of = (Event *)event;
    std::unique_lock<std::mutex> guard(of->lock);
    Gpu *gpu = of->gpu;
    uint64_t ticket = of->ticket;
    guard.unlock();
    if (gpu) gpu->wait(ticket);
    return SUCCESS;
}
Result cuEventQuery(void *event) {
    Event *of = (Event *)event;
    std::lock_guard<std::mutex> guard(of->lock);
    return !of->gpu || of->gpu->is_done(of->ticket) ? SUCCESS : NOT_READY;
}
Result cuEventDestroy_v2(void *event) {
    cuEventSynchronize(event);
    delete (Event *)event;
    return SUCCESS;
}
Result cuEventElapsedTime_v2(float *milliseconds, void *start, void *end) {
    cuEventSynchronize(start);
    cuEventSynchronize(end);
    *milliseconds = (float)(1e3 * (((Event *)end)->time - ((Event *)start)->time));
    return SUCCESS;
}
Result cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // extern "C"
