//! The pair loop, written once over precision, potential and truncation.
//!
//! Cost: one fused kernel per particle and segment of its list, 16 (or 8) neighbors at a time; the
//! compiler vectorises the loop over lanes for the instruction set of the caller.
use super::force_term::Exchange;
use super::gather::{DIAMETER, Sites, gather};
use super::neighbors::NeighborList;
use crate::arithmetic::Real;
use crate::engine::precision::Policy;
use crate::engine::swaps;
use crate::potential::{Evaluator, Mixing, Truncated, is_reduced};

/// One pair of species in the pair loop.
#[derive(Clone, Copy)]
pub struct PairEntry<R, V> {
    pub interaction: Truncated<R, V>,
    /// Below this squared distance the pair's force does not fit into the sums; above zero where the potential has a pole.
    pub core2: R,
}

/// All pairs of species in the pair loop, and how diameters of particles enter, if they have any.
pub struct PairTable<R, V> {
    pub species_count: usize,
    pub entries: Vec<PairEntry<R, V>>,
    pub mixing: Option<Mixing<R>>,
}

impl<R: Real, V: Evaluator<R>> PairTable<R, V> {
    /// Factors on squared distances from a particle, and on the forces over distance: `1 / sigma_ij^2`, or one.
    #[inline(always)]
    fn scales<P: Policy<Real = R>, const LANES: usize>(
        &self,
        targets: &Targets<P>,
        particle: usize,
        neighbors: &[u32; LANES],
    ) -> [R; LANES] {
        match self.mixing {
            None => [R::ONE; LANES],
            Some(mixing) => {
                let own = targets.diameter(particle);
                std::array::from_fn(|lane| {
                    mixing.inverse_square(own, targets.diameter(neighbors[lane] as usize))
                })
            }
        }
    }
}

/// Particles whose forces are wanted.
pub struct Targets<'a, P: Policy> {
    /// Place in memory of the first.
    pub first: usize,
    pub species: &'a [u8],
    pub neighbors: &'a NeighborList,
    /// Sites of all particles, in the order of memory.
    pub sites: &'a Sites<P>,
}

impl<P: Policy> Targets<'_, P> {
    #[inline(always)]
    fn site(&self, place: usize) -> [P::Site; 3] {
        let [x, y, z, _] = self.sites[place];
        [x, y, z]
    }

    #[inline(always)]
    fn diameter(&self, place: usize) -> P::Real {
        P::Real::from_bits(P::site_to_bits(self.sites[place][DIAMETER]))
    }

    /// Sites of neighbors, by component and lane.
    #[inline(always)]
    fn neighbor_sites<const SET: usize, const LANES: usize>(
        &self,
        places: &[u32; LANES],
    ) -> [[P::Site; LANES]; 3] {
        // SAFETY: list entries are places in memory, below the number of sites; loops are compiled with `SET`
        // only for processors that have it.
        unsafe { gather::<P, SET, LANES>(self.sites, places) }
    }
}

/// Energy and virial of one particle's pairs, each pair halved between its two particles by the
/// caller: `U`, and `r_a F_b` for ab = xx, yy, zz, xy, xz, yz.
pub type EnergyAndVirial = [f64; 7];

/// Interaction of one particle with neighbors, lane by lane: at the same place without a force, and none with itself.
struct Lane<R> {
    displacement: [R; 3],
    /// In the units that the pairs' constants are for.
    length: [R; 3],
    /// As [`Truncated::evaluate`] gives it.
    force: R,
    energy: R,
    too_close: bool,
}

/// Displacement, length in the units that the pairs' constants are for, and its square in units of the pair's diameter.
#[inline(always)]
fn distance<P: Policy, const KIND: usize, const TILTED: bool>(
    policy: &P,
    site: [P::Site; 3],
    other: [P::Site; 3],
    scale: P::Real,
) -> ([P::Real; 3], [P::Real; 3], P::Real) {
    let mut displacement: [P::Real; 3] =
        std::array::from_fn(|axis| policy.displacement(site[axis], other[axis], axis));
    if TILTED {
        displacement = policy.straightened(displacement);
    }
    let length: [P::Real; 3] = std::array::from_fn(|axis| {
        if is_reduced::<P::Real>(KIND) {
            policy.relative_length(displacement[axis], axis)
        } else {
            policy.length(displacement[axis], axis)
        }
    });
    let r2 = length[0].fused(length[0], length[1].fused(length[1], length[2] * length[2])) * scale;
    (displacement, length, r2)
}

/// Force and energy of one particle with all lanes, where the potential is faster so.
#[inline(always)]
fn in_lanes<P, V, const KIND: usize, const LANES: usize, const TILTED: bool>(
    policy: &P,
    entry: &PairEntry<P::Real, V>,
    site: [P::Site; 3],
    others: &[[P::Site; LANES]; 3],
    scales: &[P::Real; LANES],
) -> Option<[(P::Real, P::Real); LANES]>
where
    P: Policy,
    V: Evaluator<P::Real>,
{
    if !V::IN_LANES {
        return None;
    }
    let r2 = std::array::from_fn(|lane| {
        let other = std::array::from_fn(|axis| others[axis][lane]);
        distance::<P, KIND, TILTED>(policy, site, other, scales[lane]).2
    });
    Some(entry.interaction.evaluate_lanes::<KIND, LANES>(r2))
}

/// `evaluated` is what [`in_lanes`] gave for the two.
#[inline(always)]
fn pair<P, V, const KIND: usize, const TILTED: bool>(
    policy: &P,
    entry: &PairEntry<P::Real, V>,
    site: [P::Site; 3],
    other: [P::Site; 3],
    is_other: bool,
    scale: P::Real,
    evaluated: Option<(P::Real, P::Real)>,
) -> Lane<P::Real>
where
    P: Policy,
    V: Evaluator<P::Real>,
{
    let (displacement, length, r2) = distance::<P, KIND, TILTED>(policy, site, other, scale);
    let inside = r2 < entry.interaction.cutoff2();
    let coincident = r2 < P::Real::COINCIDENT2;
    let (force, energy) = match evaluated {
        Some(evaluated) => evaluated,
        None => entry.interaction.evaluate::<KIND>(r2),
    };
    Lane {
        displacement,
        length,
        force: if inside & !coincident { force * scale } else { P::Real::ZERO },
        energy: if coincident & is_other {
            entry.interaction.contact_energy().unwrap_or(P::Real::ZERO)
        } else if inside & !coincident {
            energy
        } else {
            P::Real::ZERO
        },
        too_close: inside & is_other & (r2 < entry.core2),
    }
}

/// Forces on the targets; returns whether a pair was too close for its force to fit.
///
/// Without `TILTED` the box has no tilt, and no time is lost for one.
#[inline(always)]
pub fn forces<P, V, const KIND: usize, const SET: usize, const LANES: usize, const TILTED: bool>(
    policy: &P,
    table: &PairTable<P::Real, V>,
    targets: &Targets<P>,
    out: &mut [Vec<P::Force>; 3],
) -> bool
where
    P: Policy,
    V: Evaluator<P::Real>,
{
    let mut too_close = [0u32; LANES];
    for (local, &species) in targets.species.iter().enumerate() {
        let i = targets.first + local;
        let site = targets.site(i);
        let mut x = P::zero_sums::<LANES>();
        let mut y = P::zero_sums::<LANES>();
        let mut z = P::zero_sums::<LANES>();
        for other in 0..table.species_count {
            let entry = table.entries[species as usize * table.species_count + other];
            let segment = targets.neighbors.segment(local, other, table.species_count);
            for neighbors in segment.as_chunks::<LANES>().0 {
                let others = targets.neighbor_sites::<SET, LANES>(neighbors);
                let scales = table.scales(targets, i, neighbors);
                let evaluated =
                    in_lanes::<P, V, KIND, LANES, TILTED>(policy, &entry, site, &others, &scales);
                let mut impulses = [[P::Real::ZERO; LANES]; 3];
                for lane in 0..LANES {
                    let other = std::array::from_fn(|axis| others[axis][lane]);
                    let is_other = neighbors[lane] != i as u32;
                    let pair = pair::<P, V, KIND, TILTED>(
                        policy,
                        &entry,
                        site,
                        other,
                        is_other,
                        scales[lane],
                        evaluated.map(|all| all[lane]),
                    );
                    let impulse = if is_reduced::<P::Real>(KIND) {
                        pair.force
                    } else {
                        policy.impulse(pair.force)
                    };
                    let [fx, fy, fz] = std::array::from_fn(|axis| {
                        impulse * P::arm(pair.displacement[axis], pair.length[axis])
                    });
                    if P::WIDE_SUMS {
                        (impulses[0][lane], impulses[1][lane], impulses[2][lane]) = (fx, fy, fz);
                    } else {
                        P::accumulate_force(&mut x, lane, fx);
                        P::accumulate_force(&mut y, lane, fy);
                        P::accumulate_force(&mut z, lane, fz);
                    }
                    too_close[lane] |= u32::from(pair.too_close);
                }
                if P::WIDE_SUMS {
                    for lane in 0..LANES {
                        P::accumulate_force(&mut x, lane, impulses[0][lane]);
                        P::accumulate_force(&mut y, lane, impulses[1][lane]);
                        P::accumulate_force(&mut z, lane, impulses[2][lane]);
                    }
                }
            }
        }
        for (axis, lanes) in [x, y, z].iter().enumerate() {
            out[axis][local] = P::total(lanes);
        }
    }
    too_close.iter().any(|&lane| lane != 0)
}

/// Energy and virial of each target.
///
/// A tilt of zero changes no bit: loops that are rarely wanted are made once for all boxes. So in what follows.
#[inline(always)]
pub fn energies<P, V, const KIND: usize, const SET: usize, const LANES: usize>(
    policy: &P,
    table: &PairTable<P::Real, V>,
    targets: &Targets<P>,
    out: &mut Vec<EnergyAndVirial>,
) where
    P: Policy,
    V: Evaluator<P::Real>,
{
    const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    for (local, &species) in targets.species.iter().enumerate() {
        let i = targets.first + local;
        let site = targets.site(i);
        let mut energy = P::zero_sums::<LANES>();
        let mut virial: [P::Sums<LANES>; 6] = std::array::from_fn(|_| P::zero_sums());
        for other in 0..table.species_count {
            let entry = table.entries[species as usize * table.species_count + other];
            let segment = targets.neighbors.segment(local, other, table.species_count);
            for neighbors in segment.as_chunks::<LANES>().0 {
                let others = targets.neighbor_sites::<SET, LANES>(neighbors);
                let scales = table.scales(targets, i, neighbors);
                let evaluated =
                    in_lanes::<P, V, KIND, LANES, true>(policy, &entry, site, &others, &scales);
                for lane in 0..LANES {
                    let other = std::array::from_fn(|axis| others[axis][lane]);
                    let is_other = neighbors[lane] != i as u32;
                    let pair = pair::<P, V, KIND, true>(
                        policy,
                        &entry,
                        site,
                        other,
                        is_other,
                        scales[lane],
                        evaluated.map(|all| all[lane]),
                    );
                    P::accumulate_energy(&mut energy, lane, pair.energy);
                    let force = if is_reduced::<P::Real>(KIND) {
                        policy.force_of_impulse(pair.force)
                    } else {
                        pair.force
                    };
                    let length: [P::Real; 3] =
                        std::array::from_fn(|axis| policy.length(pair.displacement[axis], axis));
                    for (sum, (a, b)) in virial.iter_mut().zip(PAIRS) {
                        let term = force * length[a] * length[b];
                        P::accumulate_energy(sum, lane, term);
                    }
                }
            }
        }
        let mut sums = [P::energy_to_f64(P::total(&energy)); 7];
        for (sum, lanes) in sums[1..].iter_mut().zip(&virial) {
            *sum = P::energy_to_f64(P::total(lanes));
        }
        out.push(sums);
    }
}

/// A pair that is too close: places in memory, distance, and place of its entry in the table. For error messages.
pub fn find_too_close<P, V, const KIND: usize>(
    policy: &P,
    table: &PairTable<P::Real, V>,
    targets: &Targets<P>,
) -> Option<([usize; 2], f64, usize)>
where
    P: Policy,
    V: Evaluator<P::Real>,
{
    for (local, &species) in targets.species.iter().enumerate() {
        let i = targets.first + local;
        let site = targets.site(i);
        for other in 0..table.species_count {
            let at = species as usize * table.species_count + other;
            let entry = table.entries[at];
            for &j in targets.neighbors.segment(local, other, table.species_count) {
                let other = targets.site(j as usize);
                let [scale] = table.scales(targets, i, &[j]);
                let pair = pair::<P, V, KIND, true>(
                    policy,
                    &entry,
                    site,
                    other,
                    j as usize != i,
                    scale,
                    None,
                );
                if pair.too_close {
                    let length = |axis| policy.length(pair.displacement[axis], axis).to_f64();
                    let r2: f64 = (0..3).map(|axis| length(axis).powi(2)).sum();
                    return Some(([i, j as usize], r2.sqrt(), at));
                }
            }
        }
    }
    None
}

/// Change of the energy by an exchange, in the units of [`swaps`]; `None`: the energy of a pair is too large.
///
/// That of the two with each other is the same before and after.
pub fn change_by_exchange<P, V, const KIND: usize>(
    policy: &P,
    table: &PairTable<P::Real, V>,
    exchange: &Exchange<'_, P>,
) -> Option<i64>
where
    P: Policy,
    V: Evaluator<P::Real>,
{
    let Exchange { sites, species, places, neighbors } = exchange;
    let diameter = |place: usize| P::Real::from_bits(P::site_to_bits(sites[place][DIAMETER]));
    let site = |place: usize| -> [P::Site; 3] { std::array::from_fn(|axis| sites[place][axis]) };
    let mut change = 0;
    for (own, other, neighbors) in
        [(places[0], places[1], &neighbors[0]), (places[1], places[0], &neighbors[1])]
    {
        for &neighbor in neighbors {
            let place = neighbor as usize;
            if place == own || place == other {
                continue;
            }
            // Of `own`, as if it were the particle that is `at`.
            let energy = |at: usize| {
                let row = usize::from(species[at]) * table.species_count;
                let entry = &table.entries[row + usize::from(species[place])];
                let scale = table.mixing.map_or(P::Real::ONE, |mixing| {
                    mixing.inverse_square(diameter(at), diameter(place))
                });
                let pair = pair::<P, V, KIND, true>(
                    policy,
                    entry,
                    site(own),
                    site(place),
                    true,
                    scale,
                    None,
                );
                if pair.too_close { None } else { swaps::units_of(pair.energy.to_f64()) }
            };
            change += energy(other)? - energy(own)?;
        }
    }
    Some(change)
}
