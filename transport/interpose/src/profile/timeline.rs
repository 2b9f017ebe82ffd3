//! Writes a file of time series, which grows meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};

use fishplate_host::Host;
use fishplate_profile::series_file::{MAGIC, MAX_COLUMNS, STEP_NS, header};
use fishplate_profile::store_text;

use crate::ffi::{Counter, GrowingFile};

/// Number of steps by which a file grows: 40 seconds.
const GROWTH: usize = 4096;

pub struct Timeline {
    file: GrowingFile,
    columns: usize,
    first_step: u64,
    /// Capacity of the file in steps; not increased once the disk is full.
    room: usize,
    is_cut: bool,
}

/// Names of the two columns of each counter.
pub fn columns_of(counters: &[Counter]) -> impl Iterator<Item = String> {
    counters.iter().flat_map(|counter| ["sent", "received"].map(|direction| format!("{} {direction}", counter.name)))
}

impl Timeline {
    /// Begins a file at a time of day in nanoseconds. `rank` is `None` for the file of a host.
    pub fn begin(file: GrowingFile, rank: Option<usize>, host: &str, names: &[String], now: u64) -> Timeline {
        let columns = names.len().min(MAX_COLUMNS);
        let first_step = now / STEP_NS;
        let words = file.head();
        let set = |at: usize, value: u64| words[at].store(value, Ordering::Relaxed);
        set(header::COLUMNS, columns as u64);
        set(header::FIRST_STEP, first_step);
        set(header::RANK, rank.map_or(0, |rank| rank as u64 + 1));
        store_text(&words[header::HOST], host);
        set(header::HOST_ID, Host::own().id().number());
        for (column, name) in names.iter().take(columns).enumerate() {
            let at = header::NAMES + column * header::NAME_WORDS;
            store_text(&words[at..at + header::NAME_WORDS], name);
        }
        set(header::MAGIC, MAGIC);
        Timeline { file, columns, first_step, room: 0, is_cut: false }
    }

    /// Adds to a column at a time of day.
    pub fn add(&mut self, column: usize, now: u64, amount: u64) {
        let Some(step) = self.step(now) else { return };
        let number = &self.file.numbers()[step * self.columns + column];
        let sum = u64::from(number.load(Ordering::Relaxed)).saturating_add(amount);
        number.store(u32::try_from(sum).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Adds the microseconds of a period to a column, split into steps.
    pub fn add_period(&mut self, column: usize, from: u64, to: u64) {
        let mut at = from;
        while at < to {
            let end = to.min((at / STEP_NS + 1) * STEP_NS);
            // Rounded so that many short periods add up to the right sum.
            self.add(column, at, end / 1000 - at / 1000);
            at = end;
        }
    }

    /// Spreads an amount over the steps of a period.
    pub fn spread(&mut self, column: usize, from: u64, to: u64, amount: u64) {
        let steps = (to / STEP_NS).saturating_sub(from / STEP_NS).max(1);
        for step in 0..steps {
            let part = amount * (step + 1) / steps - amount * step / steps;
            self.add(column, from + step * STEP_NS, part);
        }
    }

    /// Spreads what a counter has counted in a period over its two columns, of which `column` is the first.
    pub fn spread_traffic(&mut self, column: usize, (from, to): (u64, u64), before: &Counter, after: &Counter) {
        self.spread(column, from, to, after.sent.saturating_sub(before.sent));
        self.spread(column + 1, from, to, after.received.saturating_sub(before.received));
    }

    /// Index of the step of a time, if it is within the file.
    fn step(&mut self, now: u64) -> Option<usize> {
        let step = usize::try_from((now / STEP_NS).checked_sub(self.first_step)?).ok()?;
        while step >= self.room {
            if self.is_cut {
                return None;
            }
            let room = self.room + GROWTH;
            if self.file.grow(header::WORDS * size_of::<AtomicU64>() + room * self.columns * size_of::<u32>()).is_err()
            {
                self.is_cut = true;
                self.file.head()[header::IS_CUT].store(1, Ordering::Relaxed);
                return None;
            }
            self.room = room;
        }
        let steps = &self.file.head()[header::STEPS];
        if steps.load(Ordering::Relaxed) <= step as u64 {
            steps.store(step as u64 + 1, Ordering::Relaxed);
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fishplate_profile::read;

    fn read_back(write: impl FnOnce(&mut Timeline)) -> read::Series {
        let path = std::env::temp_dir().join(format!("fishplate-timeline-{}-{:p}", std::process::id(), &write));
        let file = GrowingFile::create(&path, header::WORDS).unwrap();
        let names = ["busy".to_string(), "bytes".to_string()];
        write(&mut Timeline::begin(file, Some(3), "here", &names, 5 * STEP_NS + 7));
        let series = read::series(&std::fs::read(&path).unwrap()).unwrap();
        std::fs::remove_file(path).unwrap();
        series
    }

    #[test]
    fn periods_are_cut_at_steps() {
        let series = read_back(|timeline| {
            timeline.add_period(0, 5 * STEP_NS + STEP_NS / 2, 7 * STEP_NS + 1000);
            timeline.add(1, 6 * STEP_NS, 100);
            timeline.add(1, 7 * STEP_NS - 1, 11);
        });
        assert_eq!((series.rank, series.first_step, series.host.as_str()), (Some(3), 5, "here"));
        assert_eq!(series.columns, [vec![5000, 10000, 1], vec![0, 111, 0]]);
    }

    #[test]
    fn an_amount_is_spread_over_the_steps_since() {
        let series = read_back(|timeline| timeline.spread(1, 5 * STEP_NS, 8 * STEP_NS, 100));
        assert_eq!(series.columns[1], [33, 33, 34]);
    }

    #[test]
    fn a_file_grows() {
        let far = 5 * STEP_NS + 3 * GROWTH as u64 * STEP_NS;
        let series = read_back(|timeline| timeline.add(1, far, 9));
        assert_eq!((series.columns[1].len(), series.columns[1].last()), (3 * GROWTH + 1, Some(&9)));
    }
}
