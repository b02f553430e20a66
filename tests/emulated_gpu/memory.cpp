// Memory of the emulated GPUs: every allocation ends at a page that must not be touched, and is a file, so that other
// processes can map it.
#include <algorithm>
#include <map>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpus.h"

namespace {

const size_t PAGE = 4096;

struct Allocation {
    char *start;
    size_t bytes;
    char *region;
    size_t region_bytes;
    int file;
    Gpu *gpu;
    bool freed;
};

std::mutex &memory_lock() {
    static std::mutex *lock = new std::mutex;
    return *lock;
}
std::map<char *, Allocation> &allocations() {
    static auto *all = new std::map<char *, Allocation>;
    return *all;
}

size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

// Maps a file of memory between two pages that must not be touched.
bool map_file(int file, size_t bytes, Allocation &allocation) {
    size_t pages = whole_pages(bytes);
    allocation.bytes = bytes;
    allocation.region_bytes = pages + 2 * PAGE;
    void *region = mmap(nullptr, allocation.region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return false;
    allocation.region = (char *)region;
    void *mapped = mmap(allocation.region + PAGE, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    if (mapped == MAP_FAILED) return false;
    allocation.start = allocation.region + PAGE + pages - (bytes + 15) / 16 * 16;
    allocation.file = file;
    allocation.freed = false;
    return true;
}

Result allocate(Gpu *gpu, size_t bytes, Pointer *pointer) {
    if (!gpu) return INVALID_CONTEXT;
    if (bytes == 0) return INVALID_VALUE;
    std::lock_guard<std::mutex> guard(memory_lock());
    if (gpu->used + bytes > MEMORY) return OUT_OF_MEMORY;
    int file = memfd_create("emulated_gpu", MFD_CLOEXEC);
    Allocation allocation = {};
    if (file < 0 || ftruncate(file, (off_t)whole_pages(bytes)) != 0 || !map_file(file, bytes, allocation)) {
        return complain(OUT_OF_MEMORY, std::string("memory cannot be mapped: ") + strerror(errno));
    }
    allocation.gpu = gpu;
    gpu->used += bytes;
    // Large pieces stay untouched: they may never be used as a whole.
    memset(allocation.start, 0xA5, std::min(bytes, (size_t)16 << 20));
    allocations()[allocation.start] = allocation;
    *pointer = (Pointer)allocation.start;
    return SUCCESS;
}

Result release(Pointer pointer) {
    if (pointer == 0) return SUCCESS;
    std::lock_guard<std::mutex> guard(memory_lock());
    auto at = allocations().find((char *)pointer);
    if (at == allocations().end() || at->second.freed) {
        return complain(INVALID_VALUE, "memory is freed that was not allocated");
    }
    Allocation &allocation = at->second;
    if (allocation.gpu) allocation.gpu->used -= allocation.bytes;
    close(allocation.file);
    // Nobody gets these addresses again.
    mmap(allocation.region, allocation.region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
    allocation.freed = true;
    return SUCCESS;
}

// The allocation that an address lies in or near.
Allocation *near(const char *address) {
    for (auto &[start, allocation] : allocations()) {
        if (address >= allocation.region && address < allocation.region + allocation.region_bytes) return &allocation;
    }
    return nullptr;
}

// Whether a copy stays within an allocation, if it begins in one.
Result check(Pointer pointer, size_t bytes, const char *what) {
    std::lock_guard<std::mutex> guard(memory_lock());
    Allocation *found = near((char *)pointer);
    if (!found) return SUCCESS;
    if (!found->freed && (char *)pointer >= found->start && (char *)pointer + bytes <= found->start + found->bytes) {
        return SUCCESS;
    }
    return complain(INVALID_VALUE, std::string(what) + " of " + std::to_string(bytes) + " bytes leaves an allocation of " +
                                       std::to_string(found->bytes) + " bytes" + (found->freed ? ", which was freed" : ""));
}

Result copy(Call call, void *to, const void *from, size_t bytes, const char *what) {
    count_call(call);
    if (Result bad = check((Pointer)to, bytes, what)) return bad;
    if (Result bad = check((Pointer)from, bytes, what)) return bad;
    Gpu *gpu = current_gpu();
    if (!gpu) return INVALID_CONTEXT;
    if (call == COPY_FROM_GPU) count_call(WAITING);
    gpu->wait_for_all();
    memmove(to, from, bytes);
    return SUCCESS;
}

Result copy_later(Call call, void *to, const void *from, size_t bytes, void *stream, const char *what) {
    count_call(call);
    if (Result bad = check((Pointer)to, bytes, what)) return bad;
    if (Result bad = check((Pointer)from, bytes, what)) return bad;
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    gpu->give([=] { memmove(to, from, bytes); });
    return SUCCESS;
}

template <typename T>
Result fill(Pointer at, T value, size_t count, void *stream, bool later) {
    if (Result bad = check(at, count * sizeof(T), "a filling")) return bad;
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    count_call(FILLING);
    uint64_t ticket = gpu->give([=] { std::fill_n((T *)at, count, value); });
    if (!later) gpu->wait(ticket);
    return SUCCESS;
}

struct IpcHandle {
    char mark[8];
    int process;
    int file;
    size_t bytes;
    char rest[40];
};
static_assert(sizeof(IpcHandle) == 64, "the size of CUipcMemHandle");

}  // namespace

std::string what_lies_at(const void *address) {
    char text[200];
    // The process is about to end: the lock may be held.
    const Allocation *found = near((const char *)address);
    if (!found) {
        snprintf(text, sizeof text, "bad address %p, which is in no allocation", address);
    } else if (found->freed) {
        snprintf(text, sizeof text, "bad address %p, in an allocation of %zu bytes that was freed", address, found->bytes);
    } else {
        long at = (const char *)address - found->start;
        snprintf(text, sizeof text, "bad address %p, %ld bytes %s an allocation of %zu bytes", address,
                 at < 0 ? -at : at - (long)found->bytes, at < 0 ? "before" : "after", found->bytes);
    }
    return text;
}

extern "C" {

Result cuMemAlloc_v2(Pointer *pointer, size_t bytes) { return allocate(current_gpu(), bytes, pointer); }
Result cuMemFree_v2(Pointer pointer) {
    if (!current_gpu()) return INVALID_CONTEXT;
    current_gpu()->wait_for_all();
    return release(pointer);
}
Result cuMemAllocAsync(Pointer *pointer, size_t bytes, void *stream) { return allocate(gpu_of(stream), bytes, pointer); }
Result cuMemFreeAsync(Pointer pointer, void *stream) {
    Gpu *gpu = gpu_of(stream);
    if (!gpu) return INVALID_CONTEXT;
    gpu->give([=] { release(pointer); });
    return SUCCESS;
}
Result cuMemGetInfo_v2(size_t *free, size_t *total) {
    if (!current_gpu()) return INVALID_CONTEXT;
    std::lock_guard<std::mutex> guard(memory_lock());
    *total = MEMORY;
    static const size_t most = (size_t)setting("EMULATED_FREE_MIB", MEMORY >> 20) << 20;
    *free = std::min(MEMORY - current_gpu()->used, most);
    return SUCCESS;
}
Result cuMemAllocHost_v2(void **pointer, size_t bytes) {
    return posix_memalign(pointer, PAGE, std::max(bytes, (size_t)1)) == 0 ? SUCCESS : OUT_OF_MEMORY;
}
Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned) { return cuMemAllocHost_v2(pointer, bytes); }
Result cuMemFreeHost(void *pointer) {
    if (current_gpu()) current_gpu()->wait_for_all();
    free(pointer);
    return SUCCESS;
}
Result cuMemHostRegister_v2(void *, size_t, unsigned) { return SUCCESS; }
Result cuMemHostUnregister(void *) { return SUCCESS; }
Result cuMemHostGetDevicePointer_v2(Pointer *pointer, void *host, unsigned) {
    *pointer = (Pointer)host;
    return SUCCESS;
}
Result cuMemcpyHtoD_v2(Pointer to, const void *from, size_t bytes) { return copy(COPY_TO_GPU, (void *)to, from, bytes, "a copy to the GPU"); }
Result cuMemcpyDtoH_v2(void *to, Pointer from, size_t bytes) { return copy(COPY_FROM_GPU, to, (void *)from, bytes, "a copy from the GPU"); }
Result cuMemcpyDtoD_v2(Pointer to, Pointer from, size_t bytes) { return copy(COPY_ON_GPU, (void *)to, (void *)from, bytes, "a copy"); }
Result cuMemcpy(Pointer to, Pointer from, size_t bytes) { return copy(COPY_ON_GPU, (void *)to, (void *)from, bytes, "a copy"); }
Result cuMemcpyPeer(Pointer to, void *, Pointer from, void *, size_t bytes) {
    return copy(COPY_ON_GPU, (void *)to, (void *)from, bytes, "a copy between GPUs");
}
Result cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t bytes, void *stream) {
    return copy_later(COPY_TO_GPU, (void *)to, from, bytes, stream, "a copy to the GPU");
}
Result cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t bytes, void *stream) {
    return copy_later(COPY_FROM_GPU, to, (void *)from, bytes, stream, "a copy from the GPU");
}
Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void *stream) {
    return copy_later(COPY_ON_GPU, (void *)to, (void *)from, bytes, stream, "a copy");
}
Result cuMemcpyAsync(Pointer to, Pointer from, size_t bytes, void *stream) {
    return copy_later(COPY_ON_GPU, (void *)to, (void *)from, bytes, stream, "a copy");
}
Result cuMemcpyPeerAsync(Pointer to, void *, Pointer from, void *, size_t bytes, void *stream) {
    return copy_later(COPY_ON_GPU, (void *)to, (void *)from, bytes, stream, "a copy between GPUs");
}
Result cuMemsetD8_v2(Pointer at, unsigned char value, size_t count) { return fill(at, value, count, nullptr, false); }
Result cuMemsetD32_v2(Pointer at, unsigned value, size_t count) { return fill(at, value, count, nullptr, false); }
Result cuMemsetD8Async(Pointer at, unsigned char value, size_t count, void *stream) { return fill(at, value, count, stream, true); }
Result cuMemsetD32Async(Pointer at, unsigned value, size_t count, void *stream) { return fill(at, value, count, stream, true); }
Result cuPointerGetAttribute(void *value, int attribute, Pointer pointer) {
    std::lock_guard<std::mutex> guard(memory_lock());
    Allocation *found = near((char *)pointer);
    if (!found || found->freed) return INVALID_VALUE;
    switch (attribute) {
        case 1: *(Gpu **)value = found->gpu; return SUCCESS;
        case 2: *(unsigned *)value = 2; return SUCCESS;
        case 9: *(int *)value = found->gpu ? found->gpu->ordinal : 0; return SUCCESS;
        default: return NOT_SUPPORTED;
    }
}

// ---- Memory of other processes.

Result cuIpcGetMemHandle(IpcHandle *handle, Pointer pointer) {
    std::lock_guard<std::mutex> guard(memory_lock());
    auto at = allocations().find((char *)pointer);
    if (at == allocations().end() || at->second.freed) return INVALID_VALUE;
    *handle = IpcHandle{"emulate", getpid(), at->second.file, at->second.bytes, {}};
    return SUCCESS;
}
Result cuIpcOpenMemHandle_v2(Pointer *pointer, IpcHandle handle, unsigned) {
    if (memcmp(handle.mark, "emulate", 8) != 0) return INVALID_HANDLE;
    // The driver refuses the same.
    if (handle.process == getpid()) return complain(INVALID_CONTEXT, "a handle is opened by the process that made it");
    std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
    int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    Allocation allocation = {};
    std::lock_guard<std::mutex> guard(memory_lock());
    if (file < 0 || !map_file(file, handle.bytes, allocation)) {
        return complain(INVALID_HANDLE, path + ": " + strerror(errno));
    }
    allocations()[allocation.start] = allocation;
    *pointer = (Pointer)allocation.start;
    return SUCCESS;
}
Result cuIpcCloseMemHandle(Pointer pointer) {
    if (current_gpu()) current_gpu()->wait_for_all();
    return release(pointer);
}

}  // extern "C"
