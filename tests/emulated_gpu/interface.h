// What compiled kernels (device.h) and the emulation (blocks.cpp) know of each other.
#pragma once
#include <stddef.h>

struct uint3 {
    unsigned x, y, z;
};
typedef uint3 dim3;

namespace emulated {

// A thread of a block, and the block, as kernels see them.
struct Place {
    uint3 thread;
    uint3 block;
    uint3 block_size;
    uint3 grid;
};

// The thread that runs on this thread of the operating system.
extern thread_local Place *place __attribute__((tls_model("initial-exec")));

// A compiled kernel: its arguments are copied at the launch, used by all threads, and dropped at the end.
struct Kernel {
    void *(*copy)(void **arguments);
    void (*call)(void *arguments);
    void (*drop)(void *arguments);
    unsigned most_threads;
};

enum Vote { VOTE_NONE, VOTE_ANY, VOTE_ALL, VOTE_COUNT };

}  // namespace emulated

extern "C" {
// What lane `source` of the warp gave, once all lanes of `mask` have come here.
unsigned long long emulated_shuffle(const char *name, unsigned mask, unsigned long long value, unsigned source);
// The lanes of `mask` that gave true.
unsigned emulated_ballot(const char *name, unsigned mask, int value);
int emulated_barrier(const char *name, emulated::Vote vote, int value);
void *emulated_dynamic_shared();
long long emulated_clock();
}

// Lets the block's other threads run, then other threads of the operating system.
void spin_wait();
