// Blocks of a launch: each runs on a thread of the operating system, so that shared variables are thread-local
// ones; its threads are fibers that continue until they wait for each other.
#include "blocks.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

namespace {

// ---- Switching between fibers.

#if defined(__x86_64__)
typedef void *Context;

extern "C" void emulated_swap(void **save, void *load);
asm(R"(
.text
.type emulated_swap, @function
emulated_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulated_swap, . - emulated_swap
)");

void start_context(Context &context, char *stack, size_t bytes, void (*entry)()) {
    void **top = (void **)((uintptr_t)(stack + bytes) & ~(uintptr_t)15);
    *--top = nullptr;
    *--top = (void *)entry;
    for (int k = 0; k < 6; ++k) *--top = nullptr;
    context = top;
}
void swap_context(Context &save, Context &load) { emulated_swap(&save, load); }
#else
typedef ucontext_t Context;

void start_context(Context &context, char *stack, size_t bytes, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = bytes;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
}
void swap_context(Context &save, Context &load) { swapcontext(&save, &load); }
#endif

const size_t STACK = 128 << 10;
// Stacks that begin at different sets of the caches.
const size_t STACK_STRIDE = STACK + 5 * 64;
const uint64_t CANARY = 0xC0FFEE5AFE57ACC5;
const unsigned char POISON = 0xA5;
const size_t PAGE = 4096;

const char *const AT_NOTHING = "running";

// ---- Threads, warps, blocks.

struct Lane {
    emulated::Place place;
    Context context;
    unsigned warp;
    unsigned index;
    // What it waits for, and where.
    const char *name;
    const void *code;
    // At a meeting of the warp.
    unsigned mask;
    unsigned source;
    unsigned long long value;
    unsigned long long result;
};

struct Warp {
    Lane *lanes;
    unsigned alive;
    unsigned ready;
    // At a meeting of the warp.
    unsigned meeting;
    unsigned at_barrier;
};

struct Block {
    const Launch *launch;
    uint3 index;
    std::vector<Lane> lanes;
    std::vector<Warp> warps;
    unsigned alive;
    // The barrier's count, votes and answer.
    unsigned arrived;
    emulated::Vote vote;
    unsigned yes;
    int answer;
    Context outside;
    char *shared;
    // Turns of waiting loops since the last progress, and when they began.
    uint64_t spins;
    double spinning_since;
};

// One for each thread of the operating system that runs a block.
thread_local Block *block __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local Lane *lane __attribute__((tls_model("initial-exec"))) = nullptr;

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// File and line of an address in a kernel, by addr2line if there is one.
std::string place_of(const void *code) {
    Dl_info info;
    if (!code || !dladdr(code, &info)) return "an unknown place";
    uintptr_t offset = (uintptr_t)code - (uintptr_t)info.dli_fbase;
    char command[512];
    snprintf(command, sizeof command, "addr2line -s -i -f -C -p -e %s 0x%zx 2>/dev/null", info.dli_fname,
             (size_t)(offset > 0 ? offset - 1 : 0));
    // Files of memory are known by their number in this process.
    std::string text = command;
    size_t self = text.find("/proc/self/");
    if (self != std::string::npos) text.replace(self, 11, "/proc/" + std::to_string(getpid()) + "/");
    std::string answer;
    if (FILE *pipe = popen(text.c_str(), "r")) {
        char line[256];
        while (fgets(line, sizeof line, pipe)) answer += line;
        pclose(pipe);
    }
    while (!answer.empty() && answer.back() == '\n') answer.pop_back();
    for (size_t at; (at = answer.find('\n')) != std::string::npos;) answer.replace(at, 1, ";");
    if (!answer.empty() && answer.find("??") == std::string::npos) return answer;
    char plain[512];
    snprintf(plain, sizeof plain, "%s+0x%zx", info.dli_sname ? info.dli_sname : info.dli_fname, (size_t)offset);
    return plain;
}

void say_launch(const Launch &launch) {
    fprintf(stderr, "emulated GPU %d: kernel %s of %zu blocks of %u threads: ", launch.gpu, launch.name.c_str(),
            launch.blocks(), launch.threads());
}

// Who waits where in this block.
void say_waiting() {
    std::map<std::pair<const void *, const char *>, std::pair<unsigned, unsigned>> waiting;
    for (const Warp &warp : block->warps) {
        for (unsigned l = 0; l < 32; ++l) {
            if (!(warp.alive >> l & 1)) continue;
            const Lane &one = warp.lanes[l];
            auto &[count, first] = waiting[{one.code, one.name}];
            if (count++ == 0) first = one.warp * 32 + one.index;
        }
    }
    for (const auto &[key, value] : waiting) {
        fprintf(stderr, "  %u threads, the first of them %u: %s at %s\n", value.first, value.second, key.second,
                key.first ? place_of(key.first).c_str() : "an unknown place");
    }
}

[[noreturn]] void fail(const char *format, ...) {
    static std::mutex once;
    once.lock();
    say_launch(*block->launch);
    fprintf(stderr, "block (%u, %u, %u), thread %u: ", block->index.x, block->index.y, block->index.z,
            lane->warp * 32 + lane->index);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    say_waiting();
    fflush(stderr);
    abort();
}

// ---- Who runs next.

// Not 0: the seed of a random order, in which what lacks a barrier gives other results.
const long ORDER = setting("EMULATED_ORDER", 0);

unsigned random_number() {
    thread_local uint64_t state = (uint64_t)ORDER * 0x9E3779B97F4A7C15;
    state = state * 6364136223846793005 + 1442695040888963407;
    return (unsigned)(state >> 33);
}

Lane *any_ready(Warp &warp) {
    unsigned turn = random_number() & 31;
    unsigned turned = warp.ready >> turn | (turn != 0 ? warp.ready << (32 - turn) : 0);
    return warp.lanes + (((unsigned)__builtin_ctz(turned) + turn) & 31);
}

Lane *first_ready(Warp &warp) { return ORDER != 0 ? any_ready(warp) : warp.lanes + __builtin_ctz(warp.ready); }

// The next lane of the warp, or of the warps after it. `leave`: other warps come before lanes that had their turn.
Lane *next_ready(bool leave) {
    unsigned count = (unsigned)block->warps.size();
    if (ORDER != 0) {
        unsigned first = random_number() % count;
        for (unsigned k = 0; k < count; ++k) {
            Warp &warp = block->warps[(first + k) % count];
            if (warp.ready) return any_ready(warp);
        }
        return nullptr;
    }
    Warp &mine = block->warps[lane->warp];
    unsigned above = lane->index == 31 ? 0 : mine.ready & ~((2u << lane->index) - 1);
    if (above) return mine.lanes + __builtin_ctz(above);
    if (!leave && mine.ready) return first_ready(mine);
    for (unsigned k = 1; k <= count; ++k) {
        Warp &warp = block->warps[(lane->warp + k) % count];
        if (warp.ready) return first_ready(warp);
    }
    return nullptr;
}

void switch_to(Lane *next) {
    Lane *me = lane;
    if (next == me) return;
    lane = next;
    emulated::place = &next->place;
    swap_context(me->context, next->context);
}

// The lane waits: runs others until somebody has made it ready.
void wait() {
    Lane *next = next_ready(false);
    if (!next) fail("no thread can continue");
    switch_to(next);
    lane->name = AT_NOTHING;
}

// ---- Meetings.

unsigned bit_of(const Lane *of) { return 1u << of->index; }

// Ends a meeting if all lanes of the mask that still run have come.
bool try_meeting(Warp &warp, unsigned mask) {
    unsigned group = mask & warp.alive;
    if ((warp.meeting & group) != group || group == 0) return false;
    const Lane &first = warp.lanes[__builtin_ctz(group)];
    unsigned yes = 0;
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
        Lane &one = warp.lanes[__builtin_ctz(rest)];
        if (one.mask != first.mask || strcmp(one.name, first.name) != 0) {
            fail("threads of a warp meet in different calls: %s with the mask %08x and %s with the mask %08x", first.name,
                 first.mask, one.name, one.mask);
        }
        if (one.value) yes |= bit_of(&one);
    }
    bool shuffle = first.source != ~0u;
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
        Lane &one = warp.lanes[__builtin_ctz(rest)];
        if (shuffle && !(group >> one.source & 1)) {
            fail("%s: lane %u asks for the value of lane %u, which does not take part", one.name, one.index, one.source);
        }
        one.result = shuffle ? warp.lanes[one.source].value : yes;
    }
    warp.meeting &= ~group;
    warp.ready |= group;
    block->spins = 0;
    return true;
}

unsigned long long meet(const char *name, const void *code, unsigned mask, unsigned long long value, unsigned source) {
    Warp &warp = block->warps[lane->warp];
    unsigned bit = bit_of(lane);
    lane->name = name;
    lane->code = code;
    if (!(mask & bit)) fail("%s with the mask %08x, in which the calling lane %u is not", name, mask, lane->index);
    lane->mask = mask;
    lane->value = value;
    lane->source = source;
    warp.meeting |= bit;
    warp.ready &= ~bit;
    if (!try_meeting(warp, mask)) wait();
    lane->name = AT_NOTHING;
    return lane->result;
}

bool try_barrier() {
    if (block->arrived == 0 || block->arrived != block->alive) return false;
    switch (block->vote) {
        case emulated::VOTE_NONE: block->answer = 0; break;
        case emulated::VOTE_ANY: block->answer = block->yes != 0; break;
        case emulated::VOTE_ALL: block->answer = block->yes == block->arrived; break;
        case emulated::VOTE_COUNT: block->answer = (int)block->yes; break;
    }
    for (Warp &warp : block->warps) {
        warp.ready |= warp.at_barrier;
        warp.at_barrier = 0;
    }
    block->arrived = block->yes = 0;
    block->spins = 0;
    return true;
}

// A thread has come to its end: nobody waits for it.
[[noreturn]] void finish() {
    Warp &warp = block->warps[lane->warp];
    warp.alive &= ~bit_of(lane);
    warp.ready &= ~bit_of(lane);
    block->alive -= 1;
    for (unsigned rest = warp.meeting; rest != 0; rest = warp.meeting & (rest & (rest - 1))) {
        try_meeting(warp, warp.lanes[__builtin_ctz(rest)].mask);
    }
    try_barrier();
    Lane *next = next_ready(false);
    if (next) switch_to(next);
    if (block->alive != 0) fail("no thread can continue");
    Context never;
    swap_context(never, block->outside);
    abort();
}

void entry() {
    block->launch->kernel->call(block->launch->arguments);
    finish();
}

// ---- Blocks.

// Stacks of the fibers of a block, kept for the next one.
struct Stacks {
    char *memory;
    unsigned count;

    char *of(unsigned thread) const { return memory + thread * STACK_STRIDE; }
};

// Never destroyed: kernels may run while the process ends.
std::mutex &stacks_lock = *new std::mutex;
std::vector<Stacks> &free_stacks = *new std::vector<Stacks>;

Stacks take_stacks(unsigned count) {
    std::lock_guard<std::mutex> guard(stacks_lock);
    for (size_t k = 0; k < free_stacks.size(); ++k) {
        if (free_stacks[k].count >= count) {
            Stacks found = free_stacks[k];
            free_stacks.erase(free_stacks.begin() + (long)k);
            return found;
        }
    }
    Stacks stacks = {nullptr, count};
    void *memory = mmap(nullptr, count * STACK_STRIDE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("emulated GPU: no memory for stacks");
        abort();
    }
    stacks.memory = (char *)memory;
    return stacks;
}

void give_stacks(Stacks stacks) {
    std::lock_guard<std::mutex> guard(stacks_lock);
    free_stacks.push_back(stacks);
}

// Shared variables are undefined at first.
void poison_shared(const Launch &launch) {
    launch.touch_shared();
    void *start = nullptr;
    if (dlinfo(launch.module, RTLD_DI_TLS_DATA, &start) != 0 || !start) return;
    struct Search {
        void *start;
        size_t bytes;
    } search = {start, 0};
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *data) {
            Search *search = (Search *)data;
            if (info->dlpi_tls_data != search->start) return 0;
            for (int k = 0; k < info->dlpi_phnum; ++k) {
                if (info->dlpi_phdr[k].p_type == PT_TLS) search->bytes = info->dlpi_phdr[k].p_memsz;
            }
            return 1;
        },
        &search);
    memset(start, POISON, search.bytes);
}

// Runs blocks until none is left.
void run_blocks(const Launch &launch, std::atomic<size_t> &next) {
    unsigned threads = launch.threads();
    Block mine = {};
    mine.launch = &launch;
    mine.lanes.resize(threads);
    mine.warps.resize((threads + 31) / 32);
    Stacks stacks = take_stacks(threads);
    // Dynamic shared memory ends at a page that must not be touched.
    size_t pages = (launch.shared_bytes + PAGE - 1) / PAGE * PAGE;
    char *shared = (char *)mmap(nullptr, pages + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages > 0) mprotect(shared, pages, PROT_READ | PROT_WRITE);
    mine.shared = shared + pages - (launch.shared_bytes + 15) / 16 * 16;
    for (size_t number; (number = next.fetch_add(1)) < launch.blocks();) {
        mine.index = {(unsigned)(number % launch.grid.x), (unsigned)(number / launch.grid.x % launch.grid.y),
                      (unsigned)(number / launch.grid.x / launch.grid.y)};
        mine.alive = threads;
        mine.arrived = mine.yes = 0;
        mine.spins = 0;
        for (unsigned w = 0; w < mine.warps.size(); ++w) {
            unsigned lanes = threads - 32 * w < 32 ? threads - 32 * w : 32, mask = lanes == 32 ? ~0u : (1u << lanes) - 1;
            mine.warps[w] = Warp{mine.lanes.data() + 32 * w, mask, mask, 0, 0};
        }
        for (unsigned t = 0; t < threads; ++t) {
            Lane &one = mine.lanes[t];
            one.place.thread = {t % launch.size.x, t / launch.size.x % launch.size.y, t / launch.size.x / launch.size.y};
            one.place.block = mine.index;
            one.place.block_size = launch.size;
            one.place.grid = launch.grid;
            one.warp = t / 32;
            one.index = t % 32;
            one.name = "not begun";
            one.code = nullptr;
            *(uint64_t *)stacks.of(t) = CANARY;
            start_context(one.context, stacks.of(t), STACK, entry);
        }
        poison_shared(launch);
        if (pages > 0) memset(shared, POISON, pages);
        block = &mine;
        lane = &mine.lanes[0];
        lane = next_ready(false);
        emulated::place = &lane->place;
        swap_context(mine.outside, lane->context);
        for (unsigned t = 0; t < threads; ++t) {
            lane = &mine.lanes[t];
            if (*(uint64_t *)stacks.of(t) != CANARY) fail("its stack of %zu bytes was too small", STACK);
        }
        block = nullptr;
        lane = nullptr;
        emulated::place = nullptr;
    }
    munmap(shared, pages + PAGE);
    give_stacks(stacks);
}

}  // namespace

namespace emulated {
thread_local Place *place __attribute__((tls_model("initial-exec"))) = nullptr;
}

void run(const Launch &launch) {
    std::atomic<size_t> next{0};
    size_t blocks = launch.blocks(), workers = blocks;
    if (!launch.cooperative) {
        // Few threads are not worth another thread of the operating system.
        size_t useful = 1 + blocks * launch.threads() / 4096, processors = std::thread::hardware_concurrency();
        workers = std::min({blocks, useful, processors > 0 ? processors : (size_t)1});
    }
    std::vector<std::thread> others;
    for (size_t k = 1; k < workers; ++k) others.emplace_back([&] { run_blocks(launch, next); });
    run_blocks(launch, next);
    for (std::thread &other : others) other.join();
}

bool say_where(const void *code) {
    if (!block) return false;
    say_launch(*block->launch);
    fprintf(stderr, "block (%u, %u, %u), thread %u, at %s", block->index.x, block->index.y, block->index.z,
            lane->warp * 32 + lane->index, place_of(code).c_str());
    return true;
}

// ---- What kernels call.

extern "C" unsigned long long emulated_shuffle(const char *name, unsigned mask, unsigned long long value,
                                               unsigned source) {
    return meet(name, __builtin_return_address(0), mask, value, source & 31);
}

extern "C" unsigned emulated_ballot(const char *name, unsigned mask, int value) {
    return (unsigned)meet(name, __builtin_return_address(0), mask, value != 0, ~0u);
}

extern "C" int emulated_barrier(const char *name, emulated::Vote vote, int value) {
    lane->name = name;
    lane->code = __builtin_return_address(0);
    if (block->arrived != 0 && block->vote != vote) fail("%s, where others wait in another barrier", name);
    Warp &warp = block->warps[lane->warp];
    block->vote = vote;
    block->arrived += 1;
    block->yes += value != 0 ? 1 : 0;
    warp.at_barrier |= bit_of(lane);
    warp.ready &= ~bit_of(lane);
    if (!try_barrier()) wait();
    lane->name = AT_NOTHING;
    return block->answer;
}

extern "C" void *emulated_dynamic_shared() { return block->shared; }

extern "C" long long emulated_clock() { return (long long)(1e9 * now()); }

void spin_wait() {
    static const double patience = (double)setting("EMULATED_PATIENCE", 60);
    lane->name = "waiting in a loop";
    lane->code = __builtin_return_address(0);
    Lane *next = next_ready(true);
    uint64_t spins = block->spins++;
    if (spins == 0) block->spinning_since = now();
    if (spins % 256 == 255 && now() - block->spinning_since > patience) {
        fail("it has waited for other blocks for %.0f seconds (EMULATED_PATIENCE)", patience);
    }
    if (!next || next == lane || spins > block->lanes.size()) {
        // Who sleeps is woken before others that only compute; who yields is not.
        if (spins % 1024 > 16) usleep(10);
    }
    if (next) switch_to(next);
    lane->name = AT_NOTHING;
}
