// The emulated GPUs, as the parts of the driver know them.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <stdint.h>

#include "blocks.h"

typedef int Result;
typedef unsigned long long Pointer;

enum : Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    PEER_ACCESS_ALREADY_ENABLED = 704,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    NOT_SUPPORTED = 801,
};

// Bytes of a GPU.
const size_t MEMORY = (size_t)8 << 30;

// Each GPU has a thread that does what it is given, in order.
struct Gpu {
    int ordinal;
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;
    uint64_t given = 0, done = 0;
    bool started = false;
    size_t used = 0;

    uint64_t give(std::function<void()> work) {
        std::lock_guard<std::mutex> guard(lock);
        if (!started) {
            started = true;
            std::thread([this] { serve(); }).detach();
        }
        queue.push_back(std::move(work));
        changed.notify_all();
        return ++given;
    }

    void wait(uint64_t ticket) {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [&] { return done >= ticket; });
    }

    uint64_t last() {
        std::lock_guard<std::mutex> guard(lock);
        return given;
    }

    void wait_for_all() { wait(last()); }

    bool is_done(uint64_t ticket) {
        std::lock_guard<std::mutex> guard(lock);
        return done >= ticket;
    }

    void serve() {
        for (;;) {
            std::function<void()> work;
            {
                std::unique_lock<std::mutex> guard(lock);
                changed.wait(guard, [&] { return !queue.empty(); });
                work = std::move(queue.front());
                queue.pop_front();
            }
            work();
            std::lock_guard<std::mutex> guard(lock);
            ++done;
            changed.notify_all();
        }
    }
};

struct Stream {
    Gpu *gpu;
};

std::vector<Gpu *> &gpus();

// The GPU that this thread talks to, or null.
Gpu *current_gpu();

// That of a stream.
Gpu *gpu_of(void *stream);

// Calls of the driver by kind. With EMULATED_CALLS their numbers are in that file when the process has ended.
enum Call { COPY_TO_GPU, COPY_FROM_GPU, COPY_ON_GPU, FILLING, LAUNCH, WAITING, CALL_KINDS };
void count_call(Call call);

// Says what is wrong.
Result complain(Result result, const std::string &message);
