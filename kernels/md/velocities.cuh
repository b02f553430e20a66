// What a thermostat of the whole system does to the velocities between the kicks of two steps.
#pragma once
#include "md/integrate.cuh"
#include "md/sample.cuh"

enum Action { SUM_ONLY, SCALE_AND_SUM, SCALE_ONLY, SCALE_AND_DRIFT };

// One particle, taken from `from` and left in `to`, which may be the same: its velocity is scaled, sampled (with the rest,
// where `sample` is not null) and added to the kinetic energy, or the next step begins with it.
template <int ACTION>
INLINE void change_velocity(const Particles &from, const Particles &to, u32 p, double factor, u32 *sample,
                            Site *next_sites, SplitSum (&sums)[3], Findings &findings) {
    Body body;
    body.load(from, p);
    u32 id = from.id[p];
    if (ACTION != SUM_ONLY) body.scale(factor, id, findings);
    if (ACTION != SUM_ONLY && sample) store_sampled(sample, id, body.position, body.image, body.velocity);
    if (ACTION == SUM_ONLY || ACTION == SCALE_AND_SUM) body.add_kinetic(sums, id, findings);
    if (ACTION == SCALE_AND_DRIFT) {
        body.start_step(from, next_sites, p, findings);
        body.store_place(to, p);
    }
    if (ACTION != SUM_ONLY) body.store_velocity(to, p);
}
