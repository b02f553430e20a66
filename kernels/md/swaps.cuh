// Swap Monte Carlo: trials in which two particles exchange their diameters, or their species with their ids. Mirrors
// src/engine/swaps.rs and src/engine/cpu/swaps.rs.
//
// Each warp has a trial. Trials have the outcome of one after the other: of those that are under way a trial waits for every
// earlier one that has a particle within reach of its own; the others change nothing that it sees. Neighbors are searched for in
// the cells of the last sorting, one half of a warp for each of the two particles: since then nobody has moved further than the lists
// allow. A system has one block, or in a cooperative launch several.
#pragma once
#include "md/forces.cuh"
#include "md/grid.cuh"
#include "md/rebuild.cuh"

#include "shared/swaps.cuh"

#ifndef SPECIES_SWAPS
#define SPECIES_SWAPS 0
#endif

#if DIAMETERS || SPECIES_SWAPS
#define SWAP_WARPS (SWAP_THREADS / 32)
#define NO_CHANGE (-(1ll << 62))

// What the energy of a particle with its neighbors depends on beside places.
#if DIAMETERS
static_assert(SPECIES_COUNT == 1, "particles with diameters are of one species");
typedef Real Kind;
INLINE Kind kind_of(const Site (&site)[SITE_COMPONENTS], u32) { return diameter_of(site); }
#else
typedef u32 Kind;
// Others change it.
INLINE Kind species_at(u32 place) { return *(const volatile u8 *)(system.particles[system.control->copy].species + place); }
INLINE Kind kind_of(const Site (&)[SITE_COMPONENTS], u32 place) { return species_at(place); }
#endif

// A trial, as all lanes of a warp have it.
struct SwapTrial {
    // By particle.
    u32 id[2];
    u32 place[2];
    double uniform;
    // The particle of the lane's half of the warp, with the diameter or species that it has and the one that it would have.
    Site site[SITE_COMPONENTS];
    Kind old_kind;
    Kind new_kind;

    // When no other trial changes these particles.
    INLINE void learn_kinds(const Site *sites) {
        Site x[SITE_COMPONENTS];
        load_site(sites, own(), x);
        old_kind = kind_of(x, own());
        load_site(sites, other(), x);
        new_kind = kind_of(x, other());
    }

    // Whether the two may exchange what they have.
    INLINE bool is_possible(const Swaps &swaps) const {
#if DIAMETERS
        return true;
#else
        // Species beyond the first eight are in no pair.
        if (SPECIES_COUNT > 8 && (old_kind > 7 || new_kind > 7)) return false;
        return swaps.pairs >> (8 * old_kind + new_kind) & 1;
#endif
    }

    INLINE u32 own() const { return place[(threadIdx.x >> 4) & 1]; }
    INLINE u32 other() const { return place[~(threadIdx.x >> 4) & 1]; }
};

INLINE SwapTrial draw_swap(const Swaps &swaps, u32 number, const u32 *place_of) {
    RandomWords words = random_block(swaps.key, number, swaps.step, PURPOSE_SWAP, 0);
    SwapTrial trial;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        trial.id[k] = (u32)((u64)words.word[k] * system.count >> 32);
        trial.place[k] = place_of[trial.id[k]];
    }
    trial.uniform = uniform_open(words.word[2], words.word[3]);
    return trial;
}

// Energy in units of 2^-32.
INLINE i64 swap_units(Real energy, bool &fits) {
    double units = mul((double)energy, 4294967296.0);
    fits = fits && fabs((double)energy) < 1048576.0;
    return fits ? wide_round(units, fits) : 0;
}

// Energy of a particle and a neighbor.
INLINE i64 swap_energy(Kind own, Kind other, Real r2, bool &fits) {
    Real force, energy;
    bool too_close;
#if DIAMETERS
    Real scale = inverse_square_of_diameter(own, other, minus_half_non_additivity);
    pairs[0].evaluate(scaled(r2, scale), true, force, energy, too_close);
#else
    pairs[own * SPECIES_COUNT + other].evaluate(r2, true, force, energy, too_close);
#endif
    fits = fits && !too_close;
    return swap_units(energy, fits);
}

// Particles that may interact with those of a trial, whatever they exchange: found by each half of the warp for its own.
#define MOST_NEAR 96
#define CELLS_AT_ONCE 4
#define NEAR_AT_ONCE 2

struct NearPlaces {
    u32 place[2][MOST_NEAR];
};

// The possible trials of a block, and what they have changed.
struct SwapCounts {
    u64 trials;
    u64 accepted;
    i64 change;
};

// A trial whose neighbors are searched for, which does not depend on what is exchanged. When these are looked at, the trials before have to
// be over: `wait` sees to that.
template <typename Wait>
struct SwapSearch {
    const Swaps &swaps;
    SwapTrial &trial;
    const Site *sites;
    // Of the lane's half of the warp.
    u32 *near;
    u32 count;
    Wait wait;
    bool has_waited;
    bool is_possible;
    i64 change;
    bool fits;

    INLINE void evaluate() {
        if (!has_waited) {
            wait();
            has_waited = true;
            trial.learn_kinds(sites);
            is_possible = trial.is_possible(swaps);
        }
        if (!is_possible) count = 0;
        for (u32 from = threadIdx.x & 15; from < count; from += 16 * NEAR_AT_ONCE) {
            Site x[NEAR_AT_ONCE][SITE_COMPONENTS];
#pragma unroll
            for (u32 k = 0; k < NEAR_AT_ONCE; ++k) load_site(sites, from + 16 * k < count ? near[from + 16 * k] : trial.own(), x[k]);
#pragma unroll
            for (u32 k = 0; k < NEAR_AT_ONCE; ++k) {
                if (from + 16 * k >= count) break;
                Real displacement[DIMENSION], length[DIMENSION];
                Real r2 = pair_distance2(trial.site, x[k], displacement, length);
                Kind kind = kind_of(x[k], near[from + 16 * k]);
                change -= swap_energy(trial.old_kind, kind, r2, fits);
                change += swap_energy(trial.new_kind, kind, r2, fits);
            }
        }
        count = 0;
    }
};

// Finds the particles near those of a trial in the bins of a species, and evaluates them when they are many.
template <typename Wait>
INLINE void search_bins(SwapSearch<Wait> &search, const u32 *around, u32 species, Real farthest2) {
    u32 lane = threadIdx.x & 31, sub = lane & 15, half = lane & 16, of_half = 0xFFFFu << half;
    const SwapTrial &trial = search.trial;
    u32 own = trial.own(), other = trial.other();
    // The particles of two cells a lane.
    u32 first[2] = {}, last[2] = {};
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        u32 cell = sub + 16 * k;
        if (cell >= system.around_count) continue;
        u32 bin = bin_number(around[cell] & ((1u << RANK_BITS) - 1), species);
        first[k] = system.bin_start[bin];
        last[k] = system.bin_start[bin + 1];
    }
    // Cells with more particles than half a warp has lanes take several rounds.
    for (u32 skipped = 0; __any_sync(~0u, first[0] + skipped < last[0] || first[1] + skipped < last[1]); skipped += 16) {
#pragma unroll 1
        for (u32 cell = 0; cell < system.around_count; cell += CELLS_AT_ONCE) {
            Site x[CELLS_AT_ONCE][SITE_COMPONENTS];
            u32 place[CELLS_AT_ONCE];
            bool is_there[CELLS_AT_ONCE];
            // All are on their way before the first is looked at.
#pragma unroll
            for (u32 k = 0; k < CELLS_AT_ONCE; ++k) {
                u32 from = half + ((cell + k) & 15);
                u32 begin = __shfl_sync(~0u, cell < 16 ? first[0] : first[1], from);
                u32 end = __shfl_sync(~0u, cell < 16 ? last[0] : last[1], from);
                place[k] = begin + skipped + sub;
                is_there[k] = place[k] < end && place[k] != own && place[k] != other;
                load_site(search.sites, is_there[k] ? place[k] : own, x[k]);
            }
#pragma unroll
            for (u32 k = 0; k < CELLS_AT_ONCE; ++k) {
                Real displacement[DIMENSION], length[DIMENSION];
                bool is_near = is_there[k] && distance2(trial.site, x[k], displacement, length) < farthest2;
                u32 all = __ballot_sync(~0u, is_near) & of_half;
                if (is_near) search.near[search.count + __popc(all & ((1u << lane) - 1))] = place[k];
                search.count += __popc(all);
            }
            if (!__any_sync(~0u, search.count > MOST_NEAR - 16 * CELLS_AT_ONCE)) continue;
            __syncwarp();
            search.evaluate();
            __syncwarp();
        }
    }
}

// Change of the potential energy by the exchange, in all lanes; NO_CHANGE: an energy is too large, or the exchange is not possible,
// which is noted.
template <typename Wait>
INLINE i64 change_by_exchange(const Swaps &swaps, SwapTrial &trial, const Site *sites, Real farthest2, NearPlaces &near_places,
                              Wait wait, bool &is_possible) {
    u32 own = trial.own();
    Site reference[SITE_COMPONENTS];
    load_site(sites, own, trial.site);
    load_site(system.reference, own, reference);
    SwapSearch<Wait> search = {swaps, trial, sites, near_places.place[(threadIdx.x >> 4) & 1], 0, wait, false, true, 0, true};
    const u32 *around = system.around + (size_t)cell_of(reference) * system.around_count;
    for (u32 species = 0; species < SPECIES_COUNT; ++species) search_bins(search, around, species, farthest2);
    __syncwarp();
    search.evaluate();
    is_possible = search.is_possible;
    i64 change = search.change;
    for (u32 offset = 16; offset > 0; offset >>= 1) change += exchange(change, offset);
    return __all_sync(~0u, search.fits && is_possible) ? change : NO_CHANGE;
}

// Metropolis' rule.
INLINE bool accepts(const Swaps &swaps, const SwapTrial &trial, i64 change) {
    if (change <= 0) return true;
    double exponent = divide(-divide((double)change, 4294967296.0), swaps.temperature);
    return exponent > -700.0 && trial.uniform < exp_f64(exponent);
}

// Gives each of a trial's particles what the other had. All lanes come here.
INLINE void exchange_kinds(const SwapTrial &trial, Site *sites) {
    bool is_first = (threadIdx.x & 15) == 0;
    u32 own = trial.own();
#if DIAMETERS
    if (!is_first) return;
    Site diameter = site_of_real(trial.new_kind);
    sites[(size_t)own * SITE_STRIDE + DIMENSION] = diameter;
    system.reference[(size_t)own * SITE_STRIDE + DIMENSION] = diameter;
    system.diameter[trial.id[(threadIdx.x >> 4) & 1]] = diameter;
#else
    const Particles &particles = system.particles[system.control->copy];
    volatile u32 *id = particles.id;
    u32 new_id = id[trial.other()];
    __syncwarp();
    if (!is_first) return;
    id[own] = new_id;
    ((volatile u8 *)particles.species)[own] = (u8)trial.new_kind;
#endif
}

// Whether one of the particles of a trial is, or may become, a neighbor of one of another trial, or is the same.
INLINE bool touches(const Site (&own)[2][SITE_COMPONENTS], const u32 (&place)[2], const Site *sites, Real farthest2) {
    bool found = false;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        Site x[SITE_COMPONENTS];
        load_site(sites, place[k], x);
        Real displacement[DIMENSION], length[DIMENSION];
        found |= distance2(own[0], x, displacement, length) < farthest2;
        found |= distance2(own[1], x, displacement, length) < farthest2;
    }
    return found;
}

INLINE void meet_all_blocks() {
    if (gridDim.x == 1) {
        __syncthreads();
    } else {
        synchronize(false);
    }
}

INLINE void fence_for(bool alone) {
    if (alone) {
        fence_block();
    } else {
        fence();
    }
}

// Exchanges what a trial's particles have, or not. All lanes come here; returns whether the exchange was possible.
template <typename Wait>
INLINE bool take_trial(const Swaps &swaps, SwapTrial &trial, Site *sites, Real farthest2, NearPlaces &near, SwapCounts &counts,
                       Wait wait) {
    if (trial.place[0] == trial.place[1]) return DIAMETERS;
    bool is_possible;
    i64 change = change_by_exchange(swaps, trial, sites, farthest2, near, wait, is_possible);
    if (change == NO_CHANGE || !accepts(swaps, trial, change)) return is_possible;
    u32 lane = threadIdx.x & 31;
    exchange_kinds(trial, sites);
    if (lane == 0) {
        atomicAdd((unsigned long long *)&counts.accepted, 1ull);
        atomicAdd((unsigned long long *)&counts.change, (unsigned long long)change);
    }
    return true;
}

// Trials that a warp which is through with all of them has finished.
#define NO_MORE_TRIALS (1u << 30)

// All trials of the blocks' system. Trial `number` is that of warp `number % warps`, in its round `number / warps`. It begins
// when all but the last `warps` trials before it are over: these are looked at one by one.
INLINE void take_swaps(const Swaps &swaps) {
    __shared__ u32 rounds_of_block[SWAP_WARPS];
    __shared__ NearPlaces near[SWAP_WARPS];
    __shared__ SwapCounts counts;
    begin_grid();
    Control *control = system.control;
    Site *sites = system.sites[control->site_copy];
    const Particles &particles = system.particles[control->copy];
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    u32 lane = threadIdx.x & 31, warp = thread >> 5, warps = threads >> 5;
    const bool alone = gridDim.x == 1;
    // Memory that only sorting uses: the place of each particle, and the rounds that each warp has finished.
    u32 *place_of = system.slot_of, *rounds = alone ? rounds_of_block : system.block_total;
    for (u32 p = thread; p < system.count; p += threads) place_of[particles.id[p]] = p;
    for (u32 k = thread; k < warps; k += threads) rounds[k] = 0;
    if (threadIdx.x == 0) counts = SwapCounts{0, 0, 0};
    meet_all_blocks();
    const volatile u32 *finished = rounds;
    Real farthest2 = (Real)swaps.farthest2;
    u32 round = 0, possible = 0;
    for (u32 number = warp; number < swaps.count; number += warps, ++round) {
        SwapTrial trial = draw_swap(swaps, number, place_of);
        Site own[2][SITE_COMPONENTS];
        load_site(sites, trial.place[0], own[0]);
        load_site(sites, trial.place[1], own[1]);
        // Lane l, word w: whether the trial 32 w + l + 1 before comes first.
        u32 first = 0;
        // Whether an earlier trial may change what these particles have.
        bool shared = false;
        for (u32 word = 0; 32 * word < warps; ++word) {
            u32 back = 32 * word + lane + 1;
            bool waits = false;
            if (back < warps && back <= number) {
                SwapTrial earlier = draw_swap(swaps, number - back, place_of);
                waits = touches(own, earlier.place, sites, farthest2);
#pragma unroll
                for (int k = 0; k < 4; ++k) shared |= earlier.place[k >> 1] == trial.place[k & 1];
            }
            u32 all = __ballot_sync(~0u, waits);
            if (lane == word) first = all;
        }
        auto is_finished = [&](u32 back) {
            u32 earlier = number - back;
            return finished[earlier % warps] > earlier / warps;
        };
        auto wait = [&] {
            for (u32 word = 0; 32 * word < warps; ++word) {
                bool waits = __shfl_sync(~0u, first, word) >> lane & 1;
                while (__any_sync(~0u, waits && !is_finished(32 * word + lane + 1))) spin_wait();
            }
            fence_for(alone);
        };
        // Most trials of species end here.
        bool may_be_possible = true;
        if (!DIAMETERS && !__any_sync(~0u, shared)) {
            fence_for(alone);
            trial.learn_kinds(sites);
            may_be_possible = trial.is_possible(swaps);
        }
        if (may_be_possible && take_trial(swaps, trial, sites, farthest2, near[threadIdx.x >> 5], counts, wait)) ++possible;
        fence_for(alone);
        __syncwarp();
        if (lane == 0) atomicExch(rounds + warp, round + 1);
        // All trials up to this one are to be over: those of its round before it, and the round before.
        for (u32 other = lane; other - lane < warps; other += 32) {
            u32 wanted = other < warp ? round + 1 : round;
            while (__any_sync(~0u, other < warps && finished[other] < wanted)) spin_wait();
        }
    }
    __syncwarp();
    if (lane == 0) {
        atomicExch(rounds + warp, NO_MORE_TRIALS);
        atomicAdd((unsigned long long *)&counts.trials, (unsigned long long)possible);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd((unsigned long long *)&control->swap_trials, (unsigned long long)counts.trials);
        atomicAdd((unsigned long long *)&control->swaps, (unsigned long long)counts.accepted);
        atomicAdd((unsigned long long *)&control->swap_change, (unsigned long long)counts.change);
    }
}

#if MEMBERS
extern "C" __global__ void __launch_bounds__(SWAP_THREADS, 1) swap_particles() {
    const Swaps swaps = member_of_block().swaps;
    enter_system();
    take_swaps(swaps);
}
#else
extern "C" __global__ void __launch_bounds__(SWAP_THREADS, 1) swap_particles(const __grid_constant__ Swaps swaps) {
    take_swaps(swaps);
}
#endif
#endif
