// Launches, as driver.cpp asks for them.
#pragma once
#include <atomic>
#include <string>

#include "interface.h"

struct Launch {
    std::string name;
    const emulated::Kernel *kernel;
    void *arguments;
    uint3 grid;
    uint3 size;
    size_t shared_bytes;
    bool cooperative;
    int gpu;
    // Of the kernel's module: gives an address among this thread's shared variables (see `poison_shared`).
    void *(*touch_shared)();
    void *module;

    size_t blocks() const { return (size_t)grid.x * grid.y * grid.z; }
    unsigned threads() const { return size.x * size.y * size.z; }
};

// Runs all blocks; returns when all are done.
void run(const Launch &launch);

// Says which block and thread runs here; false if none does.
bool say_where(const void *code);

// Number from the environment.
long setting(const char *name, long otherwise);

// For the message about a bad address: what lies there.
std::string what_lies_at(const void *address);
