// Measurements of the present state, and changes of all velocities between launches: ordinary kernels.
#include "md/andersen.cuh"
#include "md/pair_sums.cuh"
#include "md/stress.cuh"
#include "md/volume.cuh"

#define FOR_EACH_PARTICLE(p)                                                                       \
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x)

// The sums of the block's system, of which the first has `total`.
INLINE SplitSum *sums_of_system(SplitSum *total) { return total + (size_t)blockIdx.y * ALL_SUMS; }

// Sums of m v_a v_b for ab = xx, yy, zz, xy, xz, yz, then of m v_a.
extern "C" __global__ void __launch_bounds__(256)
    measure_velocities(SplitSum *total) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    SplitSum sums[9] = {};
    FOR_EACH_PARTICLE(p) {
        double mass = system.mass[particles.species[p]];
        double v[3] = {0.0, 0.0, 0.0};
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            v[axis] = Policy::velocity_to_f64(policy, particles.velocity[axis][p], axis);
        }
        bool fits = true;
#pragma unroll
        for (int k = 0; k < 6; ++k) add_term(sums[k], kinetic_stress_term(mass, v, k, fits));
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) add_term(sums[6 + axis], exact_term(mul(mass, v[axis]), fits));
        flag_range(system.control, fits, STATUS_KINETIC_RANGE, particles.id[p]);
    }
    add_to_totals(sums, sums_of_system(total));
}

// Sums over pairs (`md/pair_sums.cuh`).
INLINE void add_pair_sums(SplitSum *total) {
    const Control &control = *system.control;
    // Loaded together. Within a launch no thread sets the status that asks for longer lists, so that all threads decide alike.
    const u32 status = *(const volatile u32 *)&control.status, copy = control.copy, site_copy = control.site_copy;
    // There are no sums where the launch before has found that lists have no room.
    if (status == STATUS_LISTS_FULL) return;
    const Particles &particles = system.particles[copy];
    const Site *sites = system.sites[site_copy];
    if (have_lanes_several_threads()) {
        add_pair_sums_of_eighths(particles, sites, sums_of_system(total));
    } else {
        add_pair_sums_of_tiles(particles, sites, sums_of_system(total));
    }
}

extern "C" __global__ void __launch_bounds__(256)
    measure_pairs(SplitSum *total) {
    enter_system();
    add_pair_sums(total);
}

// Leaves words in memory of the host, and behind them the number of the letter, for which the host looks. One block.
INLINE void post_letter(const Letter &letter) {
    const volatile u32 *from = letter.from;
    for (u32 k = threadIdx.x; k < letter.words; k += blockDim.x) letter.to[k] = from[k];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *(volatile u32 *)(letter.to + letter.words) = letter.number;
}

extern "C" __global__ void __launch_bounds__(256)
    post(const __grid_constant__ Letter letter) {
    post_letter(letter);
}

// Blocks of the next kernel that are done; zero between launches.
__device__ u32 measured_blocks;

// Whether a block is the last one to be done with the sums over pairs. All its threads come here.
INLINE bool is_last_to_measure() {
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(&measured_blocks, 1) == gridDim.x - 1;
        if (is_last) measured_blocks = 0;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

// The same of one system, and a letter from the block that is done last.
extern "C" __global__ void __launch_bounds__(256)
    measure_pairs_and_post(SplitSum *total, const __grid_constant__ Letter letter) {
    enter_system();
    add_pair_sums(total);
    if (is_last_to_measure()) post_letter(letter);
}

// The same in the box of a trial, and the last block decides on it. Then the next launch of steps finds its control, and sums that are zero.
extern "C" __global__ void __launch_bounds__(256)
    measure_pairs_and_decide(SplitSum *total, const __grid_constant__ Letter letter, const __grid_constant__ VolumeDecision rule,
                             const __grid_constant__ Control next, SplitSum *sums, u64 *accepted) {
    enter_system();
    add_pair_sums(total);
    if (!is_last_to_measure()) return;
    if (threadIdx.x == 0) {
        bool fits = *(const volatile u32 *)&system.control->status == STATUS_DONE;
        *accepted = fits && accepts(rule, total) ? 1 : 0;
    }
    __syncthreads();
    post_letter(letter);
    __syncthreads();
    const bool is_accepted = *accepted != 0;
    double heat = is_accepted ? next.heat + (of_pairs_once(total[0]) - rule.energy) : next.heat;
    __syncthreads();
    copy_by_block(*system.control, next);
    for (u32 k = threadIdx.x; k < ALL_SUMS; k += blockDim.x) sums[k] = SplitSum{0, 0};
    __syncthreads();
    if (threadIdx.x == 0) system.control->heat = heat;
}

// Sum of m (F dt / 2m)^2 over all particles, by the forces that a pass has stored.
extern "C" __global__ void __launch_bounds__(256)
    measure_kicks(SplitSum *total, double timestep) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    SplitSum sum = {0, 0};
    double half = mul(0.5, timestep);
    FOR_EACH_PARTICLE(p) {
        double mass = system.mass[particles.species[p]];
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            double kick = divide(mul(half, Policy::force_to_f64(policy, system.force[axis][p], axis)), mass);
            add_term(sum, exact_term(mul(mass, mul(kick, kick)), fits));
        }
        flag_range(system.control, fits, STATUS_KINETIC_RANGE, particles.id[p]);
    }
    add_to_total(sum, sums_of_system(total));
}

// Sums of the velocities in units of their last digit, where they are integers.
extern "C" __global__ void __launch_bounds__(256)
    sum_units(SplitSum *total) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    SplitSum sums[3] = {};
    FOR_EACH_PARTICLE(p) {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) add_term(sums[axis], units(particles.velocity[axis][p]));
    }
    add_to_totals(sums, sums_of_system(total));
}

// Boltzmann-distributed velocities.
extern "C" __global__ void __launch_bounds__(256)
    draw_velocities(u64 seed, u64 step, u32 purpose, double temperature) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    FOR_EACH_PARTICLE(p) {
        double width = square_root(divide(temperature, system.mass[particles.species[p]]));
        double normal[3];
        normals3(seed, particles.id[p], step, purpose, normal);
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            particles.velocity[axis][p] = Policy::velocity_from_f64(policy, mul(width, normal[axis]), axis, fits);
        }
        flag_range(system.control, fits, STATUS_VELOCITY_RANGE, particles.id[p]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    shift_velocities(const __grid_constant__ Shift by) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    FOR_EACH_PARTICLE(p) {
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            double v = Policy::velocity_to_f64(policy, particles.velocity[axis][p], axis);
            particles.velocity[axis][p] = Policy::velocity_from_f64(policy, sub(v, by.x[axis]), axis, fits);
        }
        flag_range(system.control, fits, STATUS_VELOCITY_RANGE, particles.id[p]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    subtract_units(const __grid_constant__ Shares shares) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    FOR_EACH_PARTICLE(p) {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            i64 more = particles.id[p] < shares.rest[axis] ? 1 : 0;
            Velocity &velocity = particles.velocity[axis][p];
            velocity = Policy::subtract_units(velocity, shares.share[axis] + more);
        }
    }
}

INLINE void scale_velocities_by(const System &system, const Factors &factors) {
    const Particles &particles = system.particles[system.control->copy];
    FOR_EACH_PARTICLE(p) {
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            Velocity &velocity = particles.velocity[axis][p];
            velocity = Policy::scale(velocity, factors.x[axis], fits);
        }
        flag_range(system.control, fits, STATUS_VELOCITY_RANGE, particles.id[p]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    scale_velocities(const __grid_constant__ Factors factors) {
    enter_system();
    scale_velocities_by(system, factors);
}

// The same after a trial that changes the volume, with the heat that the next launch begins with.
extern "C" __global__ void __launch_bounds__(256)
    accept_volume(const __grid_constant__ Factors factors, double heat) {
    enter_system();
    scale_velocities_by(system, factors);
    if (blockIdx.x == 0 && threadIdx.x == 0) system.control->heat = heat;
}

// What follows from the decision: velocities in the new box, and lists' limits there; or the constants of the box as they were before. What the host
// has as constants is written here, so that nothing of it may be read in this launch.
extern "C" __global__ void __launch_bounds__(256)
    settle_volume(const u64 *accepted, const __grid_constant__ Factors factors, const __grid_constant__ System new_system, System *to,
                  const __grid_constant__ WordsToCopy constants_before) {
    if (*(const volatile u64 *)accepted != 0) {
        if (blockIdx.x == 0) copy_by_block(*to, new_system);
        scale_velocities_by(new_system, factors);
    } else if (blockIdx.x == 0) {
        copy_words(constants_before);
    }
}

// Positions in the present box, whose edges are these factors as long as those of before.
INLINE void scale_positions_by(const Factors &factors) {
    const Particles &particles = system.particles[system.control->copy];
    Site *sites = system.sites[system.control->site_copy];
    FOR_EACH_PARTICLE(p) {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            Coordinate &position = particles.position[axis][p];
            i32 &image = particles.image[axis][p];
            position = Policy::scaled_coordinate(policy, position, factors.x[axis], axis, image);
            sites[(size_t)p * SITE_STRIDE + axis] = Policy::site(policy, position, axis);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
    scale_positions(const __grid_constant__ Factors factors) {
    enter_system();
    scale_positions_by(factors);
}

#if MEMBERS
// The same in all systems whose factors are not one.
INLINE bool is_scaled(const Factors &factors) { return factors.x[0] != 1.0 || factors.x[1] != 1.0 || factors.x[2] != 1.0; }

extern "C" __global__ void __launch_bounds__(256) scale_velocities_of_members() {
    const Factors &factors = member_of_block().factors;
    if (!is_scaled(factors)) return;
    enter_system();
    scale_velocities_by(system, factors);
}
extern "C" __global__ void __launch_bounds__(256) scale_positions_of_members() {
    const Factors &factors = member_of_block().factors;
    if (!is_scaled(factors)) return;
    enter_system();
    scale_positions_by(factors);
}
#endif

extern "C" __global__ void __launch_bounds__(256) reverse_velocities() {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    FOR_EACH_PARTICLE(p) {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            Velocity &velocity = particles.velocity[axis][p];
            velocity = Policy::negate(velocity);
        }
    }
}

// The (skewed) coordinate of a particle, in the box or as if there were no boundary.
INLINE double place_along(const Particles &particles, u32 p, int axis, const ParticleRows &rows) {
    double x = Policy::coordinate_to_f64(policy, particles.position[axis][p], axis);
    double boxes = mul((double)particles.image[axis][p], rows.edges[axis]);
    return rows.quantity == ROWS_UNWRAPPED ? add(x, boxes) : x;
}

// A quantity of all particles, in id order.
extern "C" __global__ void __launch_bounds__(256)
    write_rows(const __grid_constant__ ParticleRows rows) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    FOR_EACH_PARTICLE(p) {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            size_t to = (size_t)particles.id[p] * DIMENSION + axis;
            i32 image = particles.image[axis][p];
            if (rows.quantity == ROWS_OF_IMAGES) {
                rows.images[to] = image;
            } else if (rows.quantity == ROWS_OF_VELOCITIES) {
                rows.numbers[to] = Policy::velocity_to_f64(policy, particles.velocity[axis][p], axis);
            } else if (rows.quantity == ROWS_OF_FORCES) {
                rows.numbers[to] = Policy::force_to_f64(policy, system.force[axis][p], axis);
            } else {
                double x = place_along(particles, p, axis, rows);
#if TILTED
                double y = axis == 0 ? place_along(particles, p, 1, rows) : 0.0;
                x = add(x, mul(mul(system.control->tilt, system.aspect), y));
#endif
                rows.numbers[to] = x;
            }
        }
    }
}

// The smallest pair of ids among those whose force does not fit. For error messages.
extern "C" __global__ void __launch_bounds__(256) find_too_close() {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    const Site *sites = system.sites[system.control->site_copy];
    Group group = group_of();
    u32 warps = gridDim.x * (blockDim.x >> 5), tiles = tile_count(group);
    for (u32 tile = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; tile < tiles; tile += warps) {
        u32 p = particle_of(group, tile);
        u32 species = p < system.count ? particles.species[p] : 0;
        Site site[SITE_COMPONENTS];
        load_site(sites, p < system.count ? p : 0, site);
        walk(group, tile, p, species, sites, [&](const Pair &constants, u32 place, const Site(&other)[SITE_COMPONENTS]) {
            Interaction pair = interaction(constants, site, other, place != p);
            if (!pair.too_close) return;
            u32 a = particles.id[p], b = particles.id[place];
            u64 ids = a < b ? (u64)a << 32 | b : (u64)b << 32 | a;
            atomicMin((unsigned long long *)&system.control->closest_pair, ids);
        });
    }
}
