// Descents of many systems to minima of their energies by FIRE (`passes.cuh`): a block a system, each in a box of its own. Blocks
// know nothing of each other, so that a minimum does not depend on which others are found in the launch.
//
// Particles lie in the order of their ids, and lists are searched for among all of them; the present sites are in shared memory. Sums
// are made tile by tile: the same bits for any size of a block. A launch pauses after a time; the lists and their reference stay
// in memory, so that the next one goes on with the same bits.
#include "md/rebuild.cuh"
#include "md/virial.cuh"
#include "minimize/passes.cuh"

#include "shared/descents_of_many.cuh"

static_assert(OWN_BOXES && STAGED_COPIES == 1, "what a block has alone");

// Behind the sites in shared memory: of each tile the sums of an iteration, or the energy and the virial.
struct EnergySums {
    double sum[ENERGY_SUMS];
};
INLINE void *memory_of_tiles(u32 count) { return staged_memory() + (size_t)count * STAGED_STRIDE; }

// Takes the particles of a configuration, at rest.
INLINE void take_configuration(const Particles &particles, const StagedSites &sites, const Configurations &from, u32 entry) {
    for (u32 p = threadIdx.x; p < system.count; p += blockDim.x) {
        size_t at = (size_t)entry * system.count + p;
        Site site[SITE_COMPONENTS];
#if DIAMETERS
        site[DIMENSION] = from.diameter[at];
#endif
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            site[axis] = from.position[3 * at + axis];
            particles.position[axis][p] = site[axis];
            particles.image[axis][p] = from.image[3 * at + axis];
            particles.velocity[axis][p] = 0.0;
        }
        store_site(sites, p, site);
    }
}

INLINE void give_configuration(const Particles &particles, const Configurations &to, u32 entry) {
    for (u32 p = threadIdx.x; p < system.count; p += blockDim.x) {
        size_t at = 3 * ((size_t)entry * system.count + p);
        for (int axis = 0; axis < 3; ++axis) {
            to.found_position[at + axis] = axis < DIMENSION ? particles.position[axis][p] : 0.0;
            to.found_image[at + axis] = axis < DIMENSION ? particles.image[axis][p] : 0;
        }
    }
}

// The sites of particles whose lists are there.
INLINE void stage_present(const Particles &particles, const StagedSites &sites) {
    for (u32 p = threadIdx.x; p < system.count; p += blockDim.x) {
        Site site[SITE_COMPONENTS], reference[SITE_COMPONENTS];
        load_site(system.reference, p, reference);
        take_diameter(site, reference);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) site[axis] = particles.position[axis][p];
        store_site(sites, p, site);
    }
}

// Lists of all particles from the staged sites, which become the reference; whether one had no room. `first_of`: of each species the first id.
static __device__ __noinline__ bool search_lists(const Group group, const Particles &particles, const StagedSites sites,
                                                 const u32 *first_of) {
    for (u32 p = threadIdx.x; p < system.count; p += blockDim.x) {
        Site site[SITE_COMPONENTS];
        load_site(sites, p, site);
        store_site(system.reference, p, site);
    }
    bool full = false;
    u32 tiles = tile_count(group);
    for (u32 tile = threadIdx.x >> 5; tile < tiles; tile += blockDim.x >> 5) {
        Search search;
        if (!search.begin(group, tile, sites)) continue;
        u32 species = particles.species[search.particle];
        for (u32 b = 0; b < SPECIES_COUNT; ++b) {
            search.filling = search.particle;
            add_candidates<false>(group, sites, Reach(species, b), first_of[b], first_of[b + 1], search);
            end_segment<false>(group, b, search);
        }
        full |= is_too_long<false>(group, search);
    }
    full = __syncthreads_or(full) != 0;
    if (full && threadIdx.x == 0) system.control->status = STATUS_LISTS_FULL;
    return full;
}

// Twice the energy, and r_a F_b of all pairs, in both orders, for ab = xx, yy, zz, xy, xz, yz. All threads of the block come here.
static __device__ __noinline__ void sum_energy(const Group group, const Particles &particles, const StagedSites sites,
                                               double (&total)[ENERGY_SUMS]) {
    EnergySums *of_tile = (EnergySums *)memory_of_tiles(system.count);
    u32 tiles = tile_count(group);
    for (u32 tile = threadIdx.x >> 5; tile < tiles; tile += blockDim.x >> 5) {
        u32 p = particle_of(group, tile);
        bool active = p < system.count;
        u32 species = active ? particles.species[p] : 0;
        Site site[SITE_COMPONENTS];
        load_site(sites, active ? p : 0, site);
        Sum energy = Policy::zero_sum();
        Sum virial[6];
#pragma unroll
        for (int k = 0; k < 6; ++k) virial[k] = Policy::zero_sum();
        walk(group, tile, p, species, sites, [&](const Pair &constants, u32 place, const Site(&other)[SITE_COMPONENTS]) {
            Interaction pair = interaction(constants, site, other, place != p);
            Policy::accumulate_energy(energy, pair.energy);
            add_virial(virial, pair);
        });
        bool counts = active && group.member == 0;
#pragma unroll
        for (int k = 0; k < ENERGY_SUMS; ++k) {
            double sum = total_of_group(group, k == 0 ? energy : virial[k > 0 ? k - 1 : 0]);
            if (!counts) sum = 0.0;
            for (u32 offset = 16; offset > 0; offset >>= 1) sum = add(sum, exchange(sum, offset));
            if (group.lane == 0) of_tile[tile].sum[k] = sum;
        }
    }
    __syncthreads();
    if (threadIdx.x >= ENERGY_SUMS) return;
    double sum = 0.0;
    for (u32 tile = 0; tile < tiles; ++tile) sum = add(sum, of_tile[tile].sum[threadIdx.x]);
    total[threadIdx.x] = sum;
}

// Whether the launch is over: it lasts for a time from when its first block began.
struct Clock {
    u64 begin;
    u64 nanoseconds_of_launch;

    INLINE void start(LaunchNotes *notes, u64 lasts) {
        u64 now = nanoseconds(), first = atomicCAS((unsigned long long *)&notes->begin, 0ull, now);
        begin = first == 0 ? now : first;
        nanoseconds_of_launch = lasts;
    }
    INLINE bool is_over() const { return nanoseconds() - begin >= nanoseconds_of_launch; }
};

// How a descent begins.
INLINE Progress at_rest(const DescentsOfMany &many) {
    Progress progress = {};
    progress.fire.first_timestep = progress.fire.timestep = many.timestep;
    progress.fire.mixing = many.mixing;
    return progress;
}

// Notes the first particle whose force is not finite.
INLINE void find_wild_force() {
    if (threadIdx.x == 0) system.control->culprit = ~0u;
    __syncthreads();
    for (u32 p = threadIdx.x; p < system.count; p += blockDim.x) {
        double force2 = 0.0;
        for (int axis = 0; axis < DIMENSION; ++axis) force2 = add(force2, mul(system.force[axis][p], system.force[axis][p]));
        if (!is_finite(force2)) atomicMin(&system.control->culprit, p);
    }
    __syncthreads();
}

// `turns`, `boxes`: of each block; `systems`, `outcomes`: of each slot.
extern "C" __global__ void __launch_bounds__(DESCENT_THREADS, DESCENT_BLOCKS)
    descend_many(const __grid_constant__ DescentsOfMany many, const DescentTurn *turns, const System *systems,
                 const PolicyConstants *boxes, const __grid_constant__ Configurations configurations, DescentOutcome *outcomes,
                 LaunchNotes *notes) {
    __shared__ Shared shared;
    __shared__ Clock clock;
    __shared__ u32 entry;
    const DescentTurn turn = turns[blockIdx.x];
    enter_system(systems[turn.slot], boxes[blockIdx.x], turn.tilt);
    DescentOutcome &outcome = outcomes[turn.slot];
    const Particles &particles = system.particles[0];
    const StagedSites sites = staged_sites(0);
    Group group = group_of();
    u32 tiles = tile_count(group);
    DescentSums *of_tile = (DescentSums *)memory_of_tiles(system.count);
    if (threadIdx.x == 0) {
        clock.start(notes, many.nanoseconds);
        shared.progress = turn.how == TURN_BEGINS ? at_rest(many) : outcome.progress;
        system.control->status = STATUS_DONE;
        system.control->list_need = 0;
    }
    bool full = false;
    if (turn.how == TURN_BEGINS) {
        take_configuration(particles, sites, configurations, turn.entry);
    } else {
        if (turn.how == TURN_SEARCHES) {
            stage_sites(system.reference, sites);
            __syncthreads();
            full = search_lists(group, particles, sites, many.first_of_species);
        }
        stage_present(particles, sites);
    }
    __syncthreads();
    u64 started_at = shared.progress.fire.iterations;
    bool needs_rebuild = turn.how == TURN_BEGINS;
    while (!full) {
        if (needs_rebuild && search_lists(group, particles, sites, many.first_of_species)) break;
        bool too_close = force_pass(group, particles, sites, 0, tiles, of_tile);
        if (__syncthreads_or(too_close)) break;
        DescentSums sums = sum_of_entries(of_tile, tiles);
        if (threadIdx.x == 0) decide(many.descent, sums, shared.progress.fire.iterations > started_at && clock.is_over(), shared);
        __syncthreads();
        if (!shared.goes_on) break;
        double fastest2 = largest_of_block(velocity_pass(particles, 0, system.count, shared.change));
        if (threadIdx.x == 0) shared.progress.moved_for = fmin(shared.timestep, divide(many.descent.furthest, square_root(fastest2)));
        __syncthreads();
        needs_rebuild = __syncthreads_or(move_pass(particles, sites, 0, system.count, shared.progress.moved_for)) != 0;
    }
    __syncthreads();
    const u32 status = system.control->status;
    const bool pauses = status == STATUS_LISTS_FULL || (status == STATUS_DONE && shared.progress.end == END_NOT);
    if (status == STATUS_DONE && shared.progress.end == END_DONE) sum_energy(group, particles, sites, outcome.energy);
    if (shared.progress.end == NOT_FINITE) find_wild_force();
    if (threadIdx.x == 0) {
        entry = pauses ? 0 : atomicAdd(&notes->given, 1u);
        outcome.progress = shared.progress;
        outcome.status = status;
        outcome.list_need = system.control->list_need;
        outcome.culprit = system.control->culprit;
        outcome.entry = entry;
    }
    __syncthreads();
    if (!pauses) give_configuration(particles, configurations, entry);
}
