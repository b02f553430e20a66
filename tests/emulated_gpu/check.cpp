// The emulated GPU itself: `check FOLDER CASE` runs small kernels through the driver and the compiler in FOLDER. The
// cases that say what must come out end with 0; the faulty kernels must be reported, and end the process.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

typedef unsigned long long Pointer;

static const char *TEXT = R"(
typedef unsigned long long u64;
extern "C" __global__ void __launch_bounds__(64) lanes(int *out) {
    int t = threadIdx.x, lane = t & 31;
    __shared__ int sum;
    if (t == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, t);
    int up = __shfl_up_sync(~0u, lane, 3), down = __shfl_down_sync(~0u, lane, 3), other = __shfl_xor_sync(~0u, lane, 16);
    int group = lane & ~7, wide = __shfl_sync(0xFFu << group, lane, 2, 8);
    unsigned odd = __ballot_sync(~0u, lane & 1);
    int many = __syncthreads_count(t < 40), any = __syncthreads_or(t == 50), all = __syncthreads_and(t != 50);
    bool right = up == (lane < 3 ? lane : lane - 3) && down == (lane > 28 ? lane : lane + 3) && other == (lane ^ 16) &&
                 wide == group + 2 && odd == 0xAAAAAAAAu && many == 40 && any && !all && sum == 64 * 63 / 2 && blockDim.x == 64;
    out[blockIdx.x * 64 + t] = right;
}
// Two launches that wait for each other.
extern "C" __global__ void meet(u64 *mine, u64 *theirs) {
    if (threadIdx.x == 0) {
        __atomic_store_n(mine, 1ull, __ATOMIC_RELEASE);
        while (__atomic_load_n(theirs, __ATOMIC_ACQUIRE) == 0) spin_wait();
    }
    __syncthreads();
}
extern "C" __global__ void beyond(int *out) { out[threadIdx.x] = 1; }
extern "C" __global__ void stuck(int *out) {
    if (threadIdx.x < 40) __syncthreads();
    else __shfl_xor_sync(~0u, out[0], 1);
}
extern "C" __global__ void absent(int *out) {
    if (threadIdx.x % 32 < 16) out[0] = __shfl_xor_sync(0xFFFFu, out[0], 16);
}
extern "C" __global__ void alone(u64 *never) {
    while (__atomic_load_n(never, __ATOMIC_RELAXED) == 0) spin_wait();
}
)";

static void *driver, *compiler;

template <typename... A>
static void call(void *library, const char *name, A... arguments) {
    auto function = (int (*)(A...))dlsym(library, name);
    int status = function ? function(arguments...) : -1;
    if (status != 0) {
        printf("%s: %d\n", name, status);
        exit(2);
    }
}

static std::vector<char> compile() {
    void *program = nullptr;
    const char *const *none = nullptr;
    call(compiler, "nvrtcCreateProgram", &program, TEXT, "check.cu", 0, none, none);
    call(compiler, "nvrtcCompileProgram", program, 0, none);
    size_t bytes = 0;
    call(compiler, "nvrtcGetCUBINSize", program, &bytes);
    std::vector<char> image(bytes);
    call(compiler, "nvrtcGetCUBIN", program, image.data());
    return image;
}

struct Gpu {
    void *context = nullptr, *module = nullptr;

    Gpu(int ordinal, const std::vector<char> &image) {
        call(driver, "cuDevicePrimaryCtxRetain", &context, ordinal);
        enter();
        call(driver, "cuModuleLoadData", &module, (const void *)image.data());
    }
    void enter() { call(driver, "cuCtxSetCurrent", context); }
    Pointer memory(size_t bytes) {
        enter();
        Pointer pointer = 0;
        call(driver, "cuMemAlloc_v2", &pointer, bytes);
        call(driver, "cuMemsetD8_v2", pointer, (unsigned char)0, bytes);
        return pointer;
    }
    void launch(const char *name, unsigned blocks, unsigned threads, std::vector<Pointer> arguments) {
        enter();
        void *function = nullptr;
        call(driver, "cuModuleGetFunction", &function, module, name);
        std::vector<void *> pointers;
        for (Pointer &argument : arguments) pointers.push_back(&argument);
        call(driver, "cuLaunchKernel", function, blocks, 1u, 1u, threads, 1u, 1u, 0u, (void *)nullptr, pointers.data(),
             (void **)nullptr);
    }
    void wait() {
        enter();
        call(driver, "cuCtxSynchronize");
    }
};

struct Handle {
    char bytes[64];
};

int main(int count, char **arguments) {
    if (count != 3) return 3;
    std::string folder = arguments[1], which = arguments[2];
    setenv("EMULATED_GPUS", "2", 1);
    setenv("EMULATED_PATIENCE", "1", 0);
    driver = dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    compiler = dlopen((folder + "/libnvrtc.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!driver || !compiler) return 3;
    call(driver, "cuInit", 0u);
    std::vector<char> image = compile();
    if (which == "processes") {
        // The handle of a flag goes to a second process, and its flag's handle comes back.
        int there[2], back[2];
        if (pipe(there) || pipe(back)) return 3;
        bool first = fork() != 0;
        Gpu gpu(first ? 0 : 1, image);
        Pointer mine = gpu.memory(8), theirs = 0;
        Handle handle, other;
        call(driver, "cuIpcGetMemHandle", &handle, mine);
        if (write(first ? there[1] : back[1], &handle, sizeof handle) != sizeof handle) return 3;
        if (read(first ? back[0] : there[0], &other, sizeof other) != sizeof other) return 3;
        call(driver, "cuIpcOpenMemHandle_v2", &theirs, other, 1u);
        gpu.launch("meet", 1, 32, {mine, theirs});
        gpu.wait();
        // Memory goes with its process.
        char done = 0;
        if (write(first ? there[1] : back[1], &done, 1) != 1 || read(first ? back[0] : there[0], &done, 1) != 1) return 3;
        call(driver, "cuIpcCloseMemHandle", theirs);
        int status = 0;
        if (first) wait(&status);
        return status == 0 ? 0 : 1;
    }
    Gpu gpu(0, image);
    if (which == "lanes") {
        Pointer out = gpu.memory(3 * 64 * 4);
        gpu.launch("lanes", 3, 64, {out});
        std::vector<int> right(3 * 64);
        call(driver, "cuMemcpyDtoH_v2", (void *)right.data(), out, right.size() * sizeof(int));
        for (int one : right) {
            if (one != 1) return 1;
        }
        return 0;
    }
    if (which == "GPUs") {
        Gpu other(1, image);
        Pointer a = gpu.memory(8), b = other.memory(8);
        gpu.launch("meet", 1, 32, {a, b});
        other.launch("meet", 1, 32, {b, a});
        gpu.wait();
        other.wait();
        return 0;
    }
    // Room for 40 threads of 64.
    Pointer out = gpu.memory(160);
    gpu.launch(which.c_str(), 1, which == "alone" ? 32 : 64, {out});
    gpu.wait();
    return 0;
}
