//! Times of one run of a program, from its profile.

use anyhow::{Result, bail, ensure};

use super::schema::{Profile, Rank, World};
use super::unseen;

/// Names of the times in records, all in seconds.
pub const NAMES: [&str; 6] = [
    "run_time",
    "communication_time",
    "communication_time_greatest",
    "late_time",
    "computing_time_greatest",
    "computing_and_late_time_greatest",
];

/// Times of one run, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// From MPI_Init to MPI_Finalize, of the rank that took longest.
    pub run: f64,
    /// In MPI, mean over the ranks.
    pub communication: f64,
    /// In MPI, of the rank with most.
    pub communication_greatest: f64,
    /// Of the time in MPI, waiting for ranks that were late; mean over the ranks.
    pub late: f64,
    /// Outside of MPI, of the rank with most.
    pub computing_greatest: f64,
    /// Outside of MPI and waiting for late ranks, of the rank with most.
    pub computing_and_late_greatest: f64,
}

impl Times {
    /// Of the only MPI program that ran.
    ///
    /// # Errors
    /// When there was none, or more than one, or some of its ranks left no recording.
    pub fn of(profile: &Profile) -> Result<Times> {
        if let Some(problem) = profile.unreadable.first() {
            bail!("a rank's file cannot be read: {problem}");
        }
        ensure!(!profile.worlds.is_empty(), "{}", unseen::line(profile));
        ensure!(profile.worlds.len() == 1, "{} MPI programs ran; the times of one are needed", profile.worlds.len());
        let world = &profile.worlds[0];
        ensure!(world.ranks.len() == world.size, "{}", unseen::absent(world).join("; "));
        Ok(Times::of_world(world))
    }

    fn of_world(world: &World) -> Times {
        let of = |part: fn(&Rank) -> u64| world.ranks.iter().map(move |rank| part(rank) as f64 / 1e9);
        let mean = |part| of(part).sum::<f64>() / world.ranks.len().max(1) as f64;
        let greatest = |part| of(part).fold(0.0, f64::max);
        // While MPI_Pcontrol disables recording, the activity is unknown, and counts as computing.
        let computing: fn(&Rank) -> u64 = |rank| rank.run_ns.saturating_sub(rank.in_mpi_ns);
        let computing_and_late: fn(&Rank) -> u64 = |rank| rank.run_ns.saturating_sub(rank.transfer_ns());
        Times {
            run: greatest(|rank| rank.run_ns),
            communication: mean(|rank| rank.in_mpi_ns),
            communication_greatest: greatest(|rank| rank.in_mpi_ns),
            late: mean(|rank| rank.late.total_ns().min(rank.in_mpi_ns)),
            computing_greatest: greatest(computing),
            computing_and_late_greatest: greatest(computing_and_late),
        }
    }

    /// In the order of [`NAMES`].
    pub fn values(&self) -> [f64; NAMES.len()] {
        [
            self.run,
            self.communication,
            self.communication_greatest,
            self.late,
            self.computing_greatest,
            self.computing_and_late_greatest,
        ]
    }

    /// From values in the order of [`NAMES`].
    pub fn of_values(values: [f64; NAMES.len()]) -> Times {
        let [run, communication, communication_greatest, late, computing_greatest, computing_and_late_greatest] =
            values;
        Times { run, communication, communication_greatest, late, computing_greatest, computing_and_late_greatest }
    }
}
