//! Where the time of a GPU goes that works with its peers, by its own clock.
use super::halo::Report;
use crate::engine::report::GpuSeconds;

/// Nanoseconds in the parts of rebuildings and of steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuTimes {
    /// From one report to the beginning of what comes next: launches, and the host between.
    between: u64,
    /// Kick and drift, leaving and entering.
    migration: u64,
    sorting: u64,
    /// Choosing what is sent, waiting for ghosts, placing them.
    ghosts: u64,
    /// Building of lists, and agreeing that all had room.
    lists: u64,
    /// Passes over the particles, with waiting for ghosts between them.
    passes: u64,
    /// The furthest displacement, and agreeing on it.
    comparing: u64,
    /// When the last report was written.
    reported: u64,
}

impl GpuTimes {
    /// Adds those of a rebuilding.
    pub fn rebuilt(&mut self, report: &Report) {
        let [leaving, sorting, sending, listing] = report.control.time_stamps;
        self.begin(leaving);
        self.migration += sorting.saturating_sub(leaving);
        self.sorting += sending.saturating_sub(sorting);
        self.ghosts += listing.saturating_sub(sending);
        self.lists += report.written.saturating_sub(listing);
        self.reported = report.written;
    }

    /// Adds those of a launch of steps.
    pub fn stepped(&mut self, report: &Report) {
        let [begun, ended, ..] = report.control.time_stamps;
        self.begin(begun);
        self.passes += ended.saturating_sub(begun);
        self.comparing += report.written.saturating_sub(ended);
        self.reported = report.written;
    }

    fn begin(&mut self, now: u64) {
        if self.reported > 0 {
            self.between += now.saturating_sub(self.reported);
        }
    }

    /// Something else comes before the next report.
    pub fn interrupt(&mut self) {
        self.reported = 0;
    }

    /// Nanoseconds in all, and those of them in which ranks communicate: migration (with the step's kick and drift),
    /// ghosts, agreeing, and what of the passes is waiting, of which this is the share.
    pub fn all_and_communication(&self, waiting: f64) -> [i64; 2] {
        let communication = self.migration + self.ghosts + self.comparing;
        let all = communication + self.sorting + self.lists + self.passes + self.between;
        [all, communication + (self.passes as f64 * waiting) as u64].map(|time| time as i64)
    }

    /// Seconds; of the passes this share was waiting.
    pub fn report(&self, waiting: f64) -> GpuSeconds {
        let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        GpuSeconds {
            passes: seconds(self.passes),
            waiting_in_passes: seconds(self.passes) * waiting,
            comparing: seconds(self.comparing),
            migration: seconds(self.migration),
            sorting: seconds(self.sorting),
            ghosts: seconds(self.ghosts),
            lists: seconds(self.lists),
            between: seconds(self.between),
        }
    }
}
