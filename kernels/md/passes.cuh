// Passes over the particles of a block: forces, kicks, drift.
#pragma once
#include "md/expected_sites.cuh"
#include "md/forces.cuh"
#include "md/integrate.cuh"
#include "md/sample.cuh"
#include "md/spared_sums.cuh"
#if DOMAIN
#include "domain/tiles.cuh"
#endif

// What all passes of a launch share. The warps of a block take tiles in turn: this one has `tile(first())`, and from there
// on each that is as far away as there are warps, before `last()`. Where particles are many it lies in shared memory, once for
// each warp: in registers it would leave too few for the pair loop, whose loads the compiler then puts one behind the other.
struct Work {
    u32 copy;
    u32 site_copy;
    // Where the pass leaves a sample, if it does, and knows it from the start (`LOOKS_FOR_SAMPLE`).
    u32 *sample;
#if DOMAIN
    // Where moved particles are written: the first pass of a launch leaves those that it has found, to go back to.
    u32 copy_to;
    // Ids and species are to be written there, too.
    bool names;
    // The region that a pass works on, the block's shares of the regions, and the warp's first tile in each.
    u32 region;
    const TileShares *shares;
    u32 first_tile[2];

    // The warp's first tile: the warps that are next in turn after those of the boundary begin with the interior, so that
    // none has two tiles more than another.
    INLINE u32 first() const {
        u32 warps = blockDim.x >> 5, warp = threadIdx.x >> 5;
        u32 before = region == INTERIOR ? shares->count(BOUNDARY) % warps : 0;
        return shares->first[region] + (warp >= before ? warp - before : warp + warps - before);
    }
    INLINE u32 last() const { return shares->last[region]; }
    INLINE u32 tile(u32 at) const { return at == first() ? first_tile[region] : halo.tile_order[at]; }
    // `of_block` lies in shared memory.
    INLINE void learn_regions(const TileShares &of_block) {
        change([&] {
            shares = &of_block;
            for (region = 0; region < 2; ++region) {
                u32 at = first();
                first_tile[region] = at < last() ? halo.tile_order[at] : 0;
            }
        });
    }
    INLINE void go_to(u32 next_region) {
        change([&] { region = next_region; });
    }
    // After the first pass of a launch: particles are where it has left them, with their names.
    INLINE void stay() {
        change([&] {
            copy = copy_to;
            names = false;
        });
    }
    INLINE void take_new_sites() {
        change([&] { site_copy ^= 1; });
    }
    INLINE bool has_boundary() const { return threadIdx.x >> 5 < shares->count(BOUNDARY); }
    INLINE u32 to() const { return copy_to; }
    INLINE bool copies() const { return copy != copy_to; }
    INLINE void write_names(u32 p, u32 species) const {
        if (!names) return;
        system.particles[copy_to].id[p] = system.particles[copy].id[p];
        system.particles[copy_to].species[p] = (u8)species;
    }
#else
    u32 first_tile;
    u32 last_tile;

    INLINE u32 first() const { return first_tile + (threadIdx.x >> 5); }
    INLINE u32 last() const { return last_tile; }
    INLINE u32 tile(u32 at) const { return at; }
    INLINE u32 to() const { return copy; }
    INLINE bool copies() const { return false; }
    INLINE void write_names(u32, u32) const {}
#endif

    // Calls what changes the work: once, where the lanes of a warp share it; all of them come here.
    template <bool SHARED = true, typename Change>
    static INLINE void change(Change change_it) {
        if (!SHARED) return change_it();
        __syncwarp();
        if ((threadIdx.x & 31) == 0) change_it();
        __syncwarp();
    }
};

INLINE void present_sites(const Work &work) {
    const Particles &particles = system.particles[work.copy];
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Site site[SITE_COMPONENTS];
        take_diameter_of(site, particles.id[p]);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) site[axis] = Policy::site(policy, particles.position[axis][p], axis);
        store_site(system.sites[work.site_copy], p, site);
    }
}

// What acts on the velocities between the steps of a launch: nothing, a Langevin thermostat, one of the whole system
// (Nose-Hoover, Bussi), or Andersen's.
enum Acting { ACTS_NONE, ACTS_LANGEVIN, ACTS_GLOBAL, ACTS_ANDERSEN };

// Whether the last warp of a block takes no tiles: where sites are tagged, it waits for the kinetic energy, which a thermostat of the
// whole system needs, while the others wait for sites.
template <Acting ACTING>
static constexpr bool SPARES_WARP = TAGGED && ACTING == ACTS_GLOBAL;
template <Acting ACTING>
INLINE u32 warps_of_pass() { return (blockDim.x >> 5) - (SPARES_WARP<ACTING> ? 1 : 0); }

// Whether the tiles of a block are those that come in its turn (docs/performance.md, "Tiles in turn"): with a thermostat of the whole system
// steps take longer so.
template <Acting ACTING>
static constexpr bool IN_TURN = TAGGED && ACTING != ACTS_GLOBAL;
template <Acting ACTING>
INLINE u32 tile_of(const Work &work, u32 at) { return IN_TURN<ACTING> ? tile_of_block<true>(at) : work.tile(at); }

// Whether a pass looks after its pair loop for where it leaves a sample (`present_sample`), which one system with many particles gains by.
// Else it has that in registers, or in the shared memory of its work. As measured (docs/performance.md, "Time correlations").
template <Acting ACTING, bool SINGLE_LANE>
static constexpr bool LOOKS_FOR_SAMPLE = SAMPLING && !TAGGED && !MEMBERS && !DOMAIN && !TILTED && !SINGLE_LANE &&
                                         (ACTING == ACTS_LANGEVIN || (ACTING == ACTS_NONE && IS_INTEGER<Sum>));

// What a pass does.
struct PassOf {
    const Thermostat &thermostat;
    // Of the whole system, and whether it acts in this pass, in a turn of its signal.
    const GlobalThermostat &global;
#if LOOKS_AHEAD
    const PassesBeforeLists &before_lists;
#endif
    bool acts;
    u32 turn;
    u64 step;
    // The second kick of the step; the first kick and the drift of the next one; to keep the forces.
    bool kick, go_on, store_force;
    // Of the sites of the next step, if they have one.
    u32 next_tag;
    // Something has gone wrong behind the sites of the pass before, which could not say so.
    bool failed_before;
    // The first block finds the factor of the whole system in this turn of the launch.
    bool from_first;
    u32 turn_of_factor;

    // Of the whole system on all velocities, as soon as it is there.
    INLINE double factor() const {
        if (from_first) return factor_from_first_block(turn_of_factor);
        if (acts) global.ready.wait(turn);
        return global.memory.factor;
    }
    INLINE bool stores_forces(u32 site_copy) const {
#if LOOKS_AHEAD
        // Read again after the pair loop: in a register it would stand in its way.
        if (*(const volatile bool *)&before_lists.stores_forces[site_copy]) return true;
#endif
        return store_force;
    }
    INLINE bool has_friction() const { return thermostat.kind == THERMOSTAT_NOSE_HOOVER; }
};

#if TAGGED
// Of the particles of the block's tiles, where these are consecutive.
INLINE AxesOfBlock axes_of_block(const Work &work) {
    u32 of_tile = group_of().particles, first = work.first_tile * of_tile, last = work.last_tile * of_tile;
    return AxesOfBlock{work.copy, first, DIMENSION * ((last < system.count ? last : system.count) - first)};
}
#endif

// Adds the sums of the lanes of a warp, which all come here, as far as the thermostat has them; first the kinetic energy, which all blocks
// wait for.
template <Acting ACTING, typename Sums>
INLINE void add_of_tile(const PassOf &pass, const SplitSum (&of_tile)[2], Sums &sums) {
    if (ACTING == ACTS_GLOBAL && pass.go_on) sums.add(1, of_tile[1]);
    if (ACTING == ACTS_LANGEVIN || (ACTING == ACTS_GLOBAL && !pass.has_friction())) sums.add(0, of_tile[0]);
}

// What a pass sums up of the stress in most steps: nothing (else `md/stress.cuh`).
struct WithoutStress {
    static constexpr bool IS_WANTED = false;

    static INLINE void clear() {}
    static INLINE bool sum_forces(const Group &group, u32 tile, u32 p, u32 species, const PresentSites &sites, Sum (&sum)[DIMENSION],
                                  const u32 *, Findings &) {
        return ::sum_forces(group, tile, p, species, sites, sum);
    }
    static INLINE void add_kinetic(const Body &, bool, const u32 *, u32, Findings &) {}
};

// One pass: forces at the sites of step `step`, its second kick, and the first kick and drift of the next. Sums: the heat,
// which a Langevin thermostat gives in the drift and one of the whole system with the second kick; and for the latter twice the
// kinetic energy of the next half step. `Stress`: whether and how the stress at the step is summed up.
template <Acting ACTING, bool SINGLE_LANE, typename Stress = WithoutStress, typename Sums>
INLINE Findings force_pass(const PassOf &pass, const Work &work, Sums &sums) {
    constexpr bool LANGEVIN = ACTING == ACTS_LANGEVIN, GLOBAL = ACTING == ACTS_GLOBAL, LOOKS = LOOKS_FOR_SAMPLE<ACTING, SINGLE_LANE>;
    const Particles &particles = system.particles[work.copy], &to = system.particles[work.to()];
    const PresentSites sites = present_sites_of(system.sites[work.site_copy], work.site_copy);
    Group group = group_of<SINGLE_LANE>();
    Findings findings = {false, TAGGED && pass.failed_before};
    double noise = LANGEVIN ? langevin_noise(pass.thermostat, pass.step + 1) : 0.0;
    Stress::clear();
    for (u32 at = work.first(); at < work.last(); at += warps_of_pass<ACTING>()) {
        u32 tile = tile_of<ACTING>(work, at), p = particle_of(group, tile);
        bool active = p < system.count;
        bool leads = active && group.member == 0;
        Sum sum[DIMENSION];
        u32 species = active ? particles.species[p] : 0;
        // Early: it is waited for at the end.
        u32 sampled_id = !LOOKS && work.sample && leads ? particles.id[p] : 0;
        bool too_close = Stress::sum_forces(group, tile, p, species, sites, sum, particles.id, findings);
        forget_registers();
        if (too_close) report(system.control, findings, STATUS_TOO_CLOSE, particles.id[p]);
        Force force[DIMENSION];
        total_of_group(group, sum, force);
        double factor = GLOBAL ? pass.factor() : 1.0;
        SplitSum of_tile[2] = {};
        Body body;
        Body::Kick kick;
        u32 id = 0;
        auto end_step = [&] {
            body.load(particles, p);
            id = LANGEVIN || GLOBAL ? particles.id[p] : 0;
            kick = body.kick_of(force);
            if (pass.kick) {
                if (GLOBAL && !pass.has_friction()) {
                    body.scale_and_kick(factor, kick, id, of_tile[0], findings);
                } else {
                    if (GLOBAL) body.scale(factor, id, findings);
                    body.half_kick(kick);
                }
            }
            if (LOOKS) {
                u32 *sample = present_sample();
                if (sample) store_sampled(sample, particles.id[p], body.position, body.image, body.velocity);
            } else if (work.sample) {
                store_sampled(work.sample, sampled_id, body.position, body.image, body.velocity);
            }
        };
        auto begin_step = [&] {
            if (pass.go_on) {
                body.half_kick(kick);
                if (GLOBAL) {
                    if (pass.has_friction()) body.scale(factor, id, findings);
                    if (!TILTED) body.add_kinetic(of_tile[1], id, findings);
                }
                if (LANGEVIN) {
                    body.half_drift(particles, p);
                    body.friction_and_noise(pass.thermostat, noise, id, pass.step + 1, of_tile[0], findings);
                }
#if TAGGED
                body.drift<LANGEVIN>(particles, TaggedSites{system.sites[work.site_copy ^ 1], pass.next_tag}, p, findings);
#else
                body.drift<LANGEVIN>(particles, next_sites_of(system.sites[work.site_copy ^ 1], work.site_copy ^ 1), p, findings);
#endif
                // A flow changes velocities in the drift.
                if (GLOBAL && TILTED) body.add_kinetic(of_tile[1], id, findings);
            }
            if (pass.go_on || work.copies()) body.store_place(to, p);
            body.store_velocity(to, p);
            work.write_names(p, species);
            if (pass.stores_forces(work.site_copy)) {
#pragma unroll
                for (int axis = 0; axis < DIMENSION; ++axis) system.force[axis][p] = force[axis];
            }
        };
        if (Stress::IS_WANTED) {
            if (leads) end_step();
            // All lanes add.
            Stress::add_kinetic(body, leads, particles.id, p, findings);
            if (leads) begin_step();
        } else if (leads) {
            end_step();
            begin_step();
        }
        add_of_tile<ACTING>(pass, of_tile, sums);
    }
    return findings;
}

// As `force_pass`, for four or more lanes a particle: each of the first integrates an axis. Sums over velocities come after the sites
// of the next step, for which other blocks may wait. `SPARED_SUMS`: the last warp of the block sums them up, after its next barrier; each
// other one has one tile at most.
template <Acting ACTING, bool SPARED_SUMS, typename Sums>
INLINE Findings force_pass_by_axis(const PassOf &pass, const Work &work, Sums &sums) {
    constexpr bool LANGEVIN = ACTING == ACTS_LANGEVIN, GLOBAL = ACTING == ACTS_GLOBAL, LOOKS = LOOKS_FOR_SAMPLE<ACTING, false>;
    const Particles &particles = system.particles[work.copy], &to = system.particles[work.to()];
    const PresentSites sites = present_sites_of(system.sites[work.site_copy], work.site_copy);
    Findings findings = {false, pass.failed_before};
    double noise = LANGEVIN ? langevin_noise(pass.thermostat, pass.step + 1) : 0.0;
    Group group = group_of();
    u32 axis = group.member;
    for (u32 at = work.first(); at < work.last(); at += warps_of_pass<ACTING>()) {
        u32 tile = tile_of<ACTING>(work, at), p = particle_of(group, tile);
        bool active = p < system.count;
        bool integrates = active && axis < DIMENSION;
        AxisBody body;
        if (integrates) body.load(particles, p, axis);
        u32 species = active ? particles.species[p] : 0;
        u32 id = (LANGEVIN || GLOBAL || (!LOOKS && work.sample)) && active ? particles.id[p] : 0;
        // While the pair loop waits for what it loads.
        float normal = LANGEVIN ? normal_f32(pass.thermostat.seed, id, pass.step + 1, PURPOSE_LANGEVIN, axis) : 0.0f;
        Sum sum[DIMENSION];
        bool too_close = sum_forces(group, tile, p, species, sites, sum);
        if (too_close) report(system.control, findings, STATUS_TOO_CLOSE, particles.id[p]);
        Force force = total_of_axis(group, sum);
        Policy::Kick kick = Policy::kick(policy, force, species);
        // Nothing of this is left to the time after the factor.
        if (GLOBAL) forget_registers();
        double factor = GLOBAL ? pass.factor() : 1.0;
        Real moved2 = Real(0);
        SplitSum of_tile[2] = {};
        // The velocity at the end of the step, and what it would have been without the thermostat.
        Velocity ended = {}, without = {};
        auto end_step = [&] {
            if (!pass.kick) return;
            if (GLOBAL && !pass.has_friction()) {
                without = body.scale_and_kick(factor, kick, id, findings);
                ended = body.velocity;
                return;
            }
            if (GLOBAL) body.scale(factor, id, findings);
            body.half_kick(kick);
        };
#if !TILTED
        auto begin_step = [&] {
            if (pass.go_on) {
                body.half_kick(kick);
                if (GLOBAL && pass.has_friction()) body.scale(factor, id, findings);
                if (LANGEVIN) {
                    body.half_drift();
                    body.friction_and_noise(pass.thermostat, noise, normal, species, id, of_tile[0], findings);
                }
                moved2 = body.drift<LANGEVIN>(particles, system.sites[work.site_copy ^ 1], p, findings);
            }
        };
#endif
        auto store = [&] {
            if (pass.go_on || work.copies()) body.store_place(to, p);
            body.store_velocity(to, p);
            if (axis == 0) work.write_names(p, species);
            if (pass.stores_forces(work.site_copy)) system.force[axis][p] = force;
        };
#if TILTED
        // All lanes come here: that of the axis x needs what the next one has, that of y.
        auto begin_step_in_flow = [&] {
            if (integrates) {
                body.half_kick(kick);
                if (GLOBAL && pass.has_friction()) body.scale(factor, id, findings);
            }
            if (LANGEVIN) {
                Velocity along_y = exchange(body.velocity, 1);
                if (integrates) {
                    body.drift_in_flow<true>(DriftInBox(0, 2), along_y);
                    body.friction_and_noise(pass.thermostat, noise, normal, species, id, of_tile[0], findings);
                }
            }
            Velocity along_y = exchange(body.velocity, 1);
            if (integrates) {
                if (Policy::is_runaway(policy, body.velocity, axis)) report(system.control, findings, STATUS_RUNAWAY, particles.id[p]);
                body.drift_in_flow<LANGEVIN>(LANGEVIN ? DriftInBox(2, 2) : DriftInBox(0, 4), along_y);
            }
            if (is_flipped_after_drift()) {
                Coordinate y = exchange(body.position, 1);
                i32 image = exchange(body.image, 1);
                if (integrates && axis == 0) flip(body.position, body.image, y, image);
            }
            Real displacement = integrates ? body.arrive(system.sites[work.site_copy ^ 1], p) : Real(0);
            Real along = exchange(displacement, 1);
            displacement = axis == 0 ? fused(along, slope_after_drift(), displacement) : displacement;
            Real length = integrates ? Policy::length(policy, displacement, axis) : Real(0);
            moved2 = mul(length, length);
        };
        if (integrates) end_step();
        // All lanes store.
        if (SAMPLING && work.sample) store_sampled_axis(work.sample, id, axis, integrates, body);
        if (pass.go_on) begin_step_in_flow();
#else
        u32 *const sample = LOOKS ? present_sample() : work.sample;
        if (LOOKS && sample && active) id = particles.id[p];
        if (SAMPLING && sample) {
            // All lanes store.
            if (integrates) end_step();
            store_sampled_axis(sample, id, axis, integrates, body);
            if (integrates) begin_step();
        } else if (integrates) {
            end_step();
            begin_step();
        }
#endif
        // Sites first: other blocks may wait for them.
        moved2 = add(moved2, exchange(moved2, 1));
        moved2 = add(moved2, exchange(moved2, 2));
#if TILTED
        bool moved = axis < DIMENSION && !(moved2 <= limit2_after_drift());
        moved |= axis < DIMENSION && pass.go_on && is_flipped_after_drift();
#else
        bool moved = axis < DIMENSION && !(moved2 <= (Real)system.limit2);
#endif
        findings.needs_rebuild |= moved;
#if TAGGED
        // The first lane has the site. All lanes come to the vote on errors.
        bool has_failed = __any_sync(~0u, findings.error), asks = moved || has_failed;
        Site all[DIMENSION] = {body.site, exchange(body.site, 1), exchange(body.site, 2)};
        if (pass.go_on && active && axis == 0) {
            store_site(TaggedSites{system.sites[work.site_copy ^ 1], pass.next_tag}, p, all, asks);
        }
#endif
#if TAGGED
        if (SPARED_SUMS) {
            if (!integrates) continue;
            u32 at = axes_of_block(work).number(p, axis);
            velocities_of_pass.half[at] = body.velocity;
            velocities_of_pass.species[at] = (u8)species;
            if (!pass.has_friction()) {
                velocities_of_pass.ended[at] = ended;
                velocities_of_pass.without[at] = without;
            }
            store();
            continue;
        }
#endif
        if (GLOBAL && integrates) {
            if (pass.go_on) body.add_kinetic(species, of_tile[1], id, findings);
            if (pass.kick && !pass.has_friction()) body.add_heat_of(without, ended, species, id, of_tile[0], findings);
        }
        if (integrates) store();
        add_of_tile<ACTING>(pass, of_tile, sums);
    }
    return findings;
}

// The pass for a number of lanes a particle. `BY_AXIS`: known to be four or more. So they are with `SPARED_SUMS`, but where the other pass is
// left out the kernel is slower (docs/performance.md, "The factor of the whole system").
template <Acting ACTING, bool SINGLE_LANE, bool BY_AXIS = false, bool SPARED_SUMS = false, typename Sums>
INLINE Findings pass_over_particles(const PassOf &pass, const Work &work, Sums &sums) {
#if TILTED && !TAGGED
    // Lanes for each axis do not gain where one also has a Langevin thermostat and a flow to do with.
    if (ACTING == ACTS_LANGEVIN) return force_pass<ACTING, SINGLE_LANE>(pass, work, sums);
#endif
    if (BY_AXIS || (!SINGLE_LANE && system.lanes_log2 >= 2)) return force_pass_by_axis<ACTING, SPARED_SUMS>(pass, work, sums);
    return force_pass<ACTING, SINGLE_LANE>(pass, work, sums);
}

// What a step that a pass has not begun adds: findings, and a sum of the pass: that of the thermostat.
struct Started {
    Findings findings;
    SplitSum sum;
};

// The first kick of a step and its drift, by the forces that a pass has stored; `step`: the one that the drift leads to.
template <Acting ACTING>
INLINE void start_step_of(const Thermostat &thermostat, double factor, const Particles &from, const Particles &to, Site *sites,
                          u32 p, u64 step, Started &started) {
    constexpr bool LANGEVIN = ACTING == ACTS_LANGEVIN, GLOBAL = ACTING == ACTS_GLOBAL;
    Body body;
    body.load(from, p);
    u32 id = LANGEVIN || GLOBAL ? from.id[p] : 0;
    body.half_kick_by_stored(p);
    if (GLOBAL) {
        if (thermostat.kind == THERMOSTAT_NOSE_HOOVER) body.scale(factor, id, started.findings);
        if (!TILTED) body.add_kinetic(started.sum, id, started.findings);
    }
    if (LANGEVIN) {
        body.half_drift(from, p);
        body.friction_and_noise(thermostat, langevin_noise(thermostat, step), id, step, started.sum, started.findings);
    }
    body.drift<LANGEVIN>(from, sites, p, started.findings);
    if (GLOBAL && TILTED) body.add_kinetic(started.sum, id, started.findings);
    body.store_place(to, p);
    body.store_velocity(to, p);
}
