//! When lists are rebuilt, agreed on by all ranks with few words.
//!
//! Nobody looks at the displacements of other ranks inside a step. At some steps all compare notes: how far the
//! furthest particle is from the site that its list was built around. Lists look `h` steps ahead: a particle of constant velocity passes
//! that site at the age `h`, and is as far from it as the time from there is long. Particles move on no faster than they did so far, nearly
//! always; so the ranks know when to compare again, and at which step to rebuild. A comparison costs about as much as a step of
//! the lists' life: most lists see one, shortly before the end that those before let expect. Where a rebuilding was too
//! late, they go back to where they compared last, and rebuild at the step at which the first particle had moved too far.
//! Every decision depends on the trajectory alone, not on how steps are parted: the same run, the same rebuilds.
//!
//! Where ranks can agree within a step at little cost, they look at each drift from an age on that lists before have
//! reached ([`RebuildSchedule::look_from`]), and rebuild at the first step for which the lists are not good.

/// Steps of the next comparison and the next rebuild.
#[derive(Clone, Debug, PartialEq)]
pub struct RebuildSchedule {
    built: u64,
    /// Steps that the lists look ahead.
    ahead: f64,
    compare_at: Option<u64>,
    rebuild_at: Option<u64>,
    /// Age to which the lists are expected to be good; zero before the first comparison.
    life: f64,
    /// Ages that the last lists have reached, the latest first; zero where there were none.
    ages: [u64; 8],
}

/// Age of lists, in steps, at the first comparison of all, and as a share of the life of those before at the others.
const FIRST: u64 = 4;
const FIRST_SHARE: f64 = 0.9;
/// Further steps that a comparison finds possible, and that are not worth another one.
const FEW: u64 = 1;
/// Most steps from a comparison to the next.
pub const LONGEST: u64 = 64;
/// Share of the time that is left to a particle of constant velocity.
const CAUTION: f64 = 0.95;
/// Lists may end earlier than any of those before by this share of their age, and by a step at least.
const EARLIER: u64 = 8;

impl RebuildSchedule {
    /// The first lists were built at a step.
    pub fn built(step: u64) -> Self {
        let compare_at = Some(step + FIRST);
        RebuildSchedule {
            built: step,
            ahead: 0.0,
            compare_at,
            rebuild_at: None,
            life: 0.0,
            ages: [0; 8],
        }
    }

    /// Lists were built anew after the drift of a step, around the sites expected after `ahead` steps.
    pub fn rebuilt(&mut self, step: u64, ahead: f64) {
        let life = if self.life > 0.0 { self.life } else { (step - self.built) as f64 };
        let first = ((FIRST_SHARE * life) as u64).clamp(FIRST, LONGEST);
        let mut ages = self.ages;
        if step > self.built {
            ages.rotate_right(1);
            ages[0] = step - self.built;
        }
        let compare_at = Some(step + first);
        *self = RebuildSchedule { built: step, ahead, compare_at, rebuild_at: None, life, ages };
    }

    /// The step in which the lists were built.
    pub fn built_in(&self) -> u64 {
        self.built
    }

    /// The first step from which on the lists are probably not good: no list of those before has ended much earlier.
    pub fn look_from(&self) -> u64 {
        let youngest = self.ages.into_iter().min().unwrap_or(0);
        self.built + youngest.saturating_sub((youngest / EARLIER).max(1)).max(1)
    }

    /// Whether the step is known in which the lists are rebuilt.
    pub fn is_set(&self) -> bool {
        self.rebuild_at.is_some()
    }

    /// Lists have been good up to a step, as the ranks have seen without a comparison.
    pub fn good_until(&mut self, step: u64) {
        self.compare_at = self.compare_at.map(|compare| compare.max(step + 1));
    }

    /// Whether the lists are to be rebuilt in a step.
    pub fn rebuilds_in(&self, step: u64) -> bool {
        self.rebuild_at == Some(step)
    }

    /// Whether all compare after a step.
    pub fn compares_at(&self, step: u64) -> bool {
        self.compare_at == Some(step)
    }

    /// The last step before all must agree that the lists were good, from the present `step` on.
    pub fn verify_at(&self, step: u64) -> u64 {
        let rebuild = self.rebuild_at.map_or(u64::MAX, |rebuild| rebuild - 1);
        let compare = self.compare_at.unwrap_or(u64::MAX);
        rebuild.min(compare).min(step + LONGEST)
    }

    /// All have compared after `step`: the furthest particle is away by `share` of what the lists allow. Does
    /// nothing at a step at which no comparison was due.
    pub fn compared(&mut self, step: u64, share: f64) {
        if self.compare_at != Some(step) {
            return;
        }
        let age = (step - self.built) as f64;
        // Lists are compared when particles have passed the sites of their lists.
        let passed = (age - self.ahead).max(1.0);
        self.life = age - passed + passed / share.max(1e-9);
        let left = CAUTION * (self.life - age);
        let left = left.clamp(0.0, LONGEST as f64) as u64;
        if left > 3 {
            self.compare_at = Some(step + 2 * left / 3);
        } else {
            let more = if left > FEW { left } else { 0 };
            (self.compare_at, self.rebuild_at) = (None, Some(step + more + 1));
        }
    }

    /// A particle had moved too far in a step: the lists must be rebuilt in it.
    pub fn needs_rebuild(&mut self, step: u64) {
        (self.compare_at, self.rebuild_at) = (None, Some(step));
        self.life = (step - self.built) as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps at which ranks compare, and the step of the rebuild, for a displacement that is a function of age.
    fn lifetime(share: impl Fn(u64) -> f64) -> (Vec<u64>, u64) {
        lifetime_of(RebuildSchedule::built(100), share)
    }

    fn lifetime_of(mut schedule: RebuildSchedule, share: impl Fn(u64) -> f64) -> (Vec<u64>, u64) {
        let mut compared = Vec::new();
        let mut step = 100;
        while !schedule.rebuilds_in(step + 1) {
            step = schedule.verify_at(step);
            assert!(share(step - 100) <= 1.0, "the prediction came too late");
            compared.push(step - 100);
            schedule.compared(step, share(step - 100));
        }
        (compared, step + 1 - 100)
    }

    #[test]
    fn lists_live_nearly_as_long_as_constant_velocities_allow() {
        for speed in [0.2, 0.1, 0.05, 0.01] {
            let (compared, rebuilt) = lifetime(|age| speed * age as f64);
            let allowed = (1.0 / speed) as u64;
            assert!(rebuilt <= allowed + 1 && rebuilt * 10 >= allowed * 8, "{speed}: {rebuilt}");
            assert!(compared.len() <= 6, "{speed}: {compared:?}");
        }
    }

    #[test]
    fn lists_that_look_ahead_live_as_long_as_particles_need_to_pass_their_sites() {
        for life in [10, 20, 40, 60] {
            let ahead = (0.45 * life as f64).min(10.0);
            let mut schedule = RebuildSchedule::built(100 - life);
            schedule.rebuilt(100, ahead);
            let share = |age: u64| (age as f64 - ahead).abs() / (life as f64 - ahead);
            let (compared, rebuilt) = lifetime_of(schedule, share);
            assert!(rebuilt <= life + 1 && rebuilt * 10 >= life * 9, "{life}: {rebuilt}");
            assert!(compared.len() <= 6, "{life}: {compared:?}");
        }
    }

    #[test]
    fn lists_are_looked_at_later_when_those_before_lived_long() {
        let mut schedule = RebuildSchedule::built(0);
        schedule.rebuilt(20, 0.0);
        assert_eq!(schedule.verify_at(20), 38);
        schedule.compared(38, 0.9);
        assert!(schedule.rebuilds_in(39), "one more step would be possible, and is not worth it");
        schedule.rebuilt(39, 0.0);
        assert_eq!(schedule.verify_at(39), 57);
        schedule.compared(57, 0.7);
        assert_eq!(schedule.verify_at(57), 61, "the second look");
        schedule.compared(61, 0.85);
        assert!(schedule.rebuilds_in(65));
        // Too late: those after that are expected to live so long, but four steps at least.
        schedule.rebuilt(65, 0.0);
        schedule.needs_rebuild(67);
        schedule.rebuilt(67, 0.0);
        assert_eq!(schedule.verify_at(67), 71);
    }

    #[test]
    fn all_look_a_little_earlier_than_lists_before_have_ended() {
        let mut schedule = RebuildSchedule::built(100);
        assert_eq!(schedule.look_from(), 101, "nothing is known");
        let mut step = 100;
        for age in [30, 28, 29, 33, 31, 30, 30, 32] {
            assert!(schedule.look_from() == step + 1);
            step += age;
            schedule.needs_rebuild(step);
            assert!(schedule.is_set());
            schedule.rebuilt(step, 0.0);
        }
        assert!(!schedule.is_set());
        assert_eq!(schedule.look_from(), step + 25);
        // Built again at once, for want of room.
        schedule.rebuilt(step, 0.0);
        assert_eq!(schedule.look_from(), step + 25);
        schedule.good_until(step + 40);
        assert_eq!(schedule.verify_at(step + 40), step + 41);
    }

    #[test]
    fn particles_at_rest_need_few_words() {
        let mut schedule = RebuildSchedule::built(0);
        schedule.compared(4, 0.0);
        assert_eq!(schedule.verify_at(4), 4 + 42);
        assert!(!schedule.rebuilds_in(5));
    }

    #[test]
    fn where_steps_are_parted_does_not_matter() {
        let mut schedule = RebuildSchedule::built(0);
        let before = schedule.clone();
        schedule.compared(3, 0.9);
        assert_eq!(schedule, before, "no comparison was due");
        schedule.needs_rebuild(9);
        assert!(schedule.rebuilds_in(9));
        assert_eq!(schedule.verify_at(5), 8);
    }
}
