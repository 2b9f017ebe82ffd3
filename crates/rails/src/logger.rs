//! Events for the user: a line each on standard error, from the level of `FISHPLATE_LOG` on. See `docs/settings.md`.
//!
//! Nothing is logged for a message or a frame, so a level that is off costs nothing that could be measured.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::process;

/// Lines that may follow each other at once: whoever floods a port must not flood a log.
const BURST: u32 = 20;
/// Then one more every so often.
const EVERY: Duration = Duration::from_secs(1);
/// The same for what is only written when the user has asked for details.
const BURST_OF_DETAILS: u32 = 500;
const DETAILS_EVERY: Duration = Duration::from_millis(10);

/// From now on events of `level` and graver ones are written. The endpoint opened last decides for the whole process.
pub fn start(level: LevelFilter) {
    static LOGGER: OnceLock<Logger> = OnceLock::new();
    let logger = LOGGER.get_or_init(|| Logger {
        started: Instant::now(),
        warnings: Mutex::new(Limit::new(BURST, EVERY)),
        details: Mutex::new(Limit::new(BURST_OF_DETAILS, DETAILS_EVERY)),
    });
    // Refused the second time, and where the process has a logger of its own in the same library.
    let _ = log::set_logger(logger);
    log::set_max_level(level);
}

struct Logger {
    started: Instant,
    warnings: Mutex<Limit>,
    details: Mutex<Limit>,
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("fishplate")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let limit = if record.level() <= Level::Warn { &self.warnings } else { &self.details };
        let now = Instant::now();
        let note = match limit.lock().unwrap_or_else(PoisonError::into_inner).ask(now) {
            Verdict::Write(left_out) => left_out,
            Verdict::Last => return write_line(&format!("{}more lines are left out", self.head(record.level(), now))),
            Verdict::LeaveOut => return,
        };
        let mut line = self.head(record.level(), now);
        let _ = write!(line, "{}", record.args());
        if note > 0 {
            let _ = write!(line, " ({note} lines were left out before)");
        }
        write_line(&line);
    }

    fn flush(&self) {}
}

impl Logger {
    fn head(&self, level: Level, now: Instant) -> String {
        let seconds = now.duration_since(self.started).as_secs_f64();
        let level = level.as_str().to_ascii_lowercase();
        format!("fishplate: {level} +{seconds:.3}s {}: ", process::name())
    }
}

/// In one call, so that processes do not tear each other's lines.
fn write_line(line: &str) {
    let line = line.replace('\n', " ") + "\n";
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// How many lines there may be.
struct Limit {
    burst: u32,
    every: Duration,
    /// How many may be written at once.
    left: u32,
    /// When that was counted.
    counted_at: Option<Instant>,
    left_out: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It may be written; so many before were not.
    Write(u32),
    /// In its place the user is told that lines are left out.
    Last,
    LeaveOut,
}

impl Limit {
    fn new(burst: u32, every: Duration) -> Limit {
        Limit { burst, every, left: burst, counted_at: None, left_out: 0 }
    }

    fn ask(&mut self, now: Instant) -> Verdict {
        let counted_at = *self.counted_at.get_or_insert(now);
        let earned =
            (now.duration_since(counted_at).as_nanos() / self.every.as_nanos()).min(u128::from(self.burst)) as u32;
        if earned > 0 {
            self.counted_at = Some(now);
            self.left = (self.left + earned).min(self.burst);
        }
        if self.left == 0 {
            self.left_out += 1;
            return if self.left_out == 1 { Verdict::Last } else { Verdict::LeaveOut };
        }
        self.left -= 1;
        Verdict::Write(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_once_and_counted() {
        let mut limit = Limit::new(3, Duration::from_secs(1));
        let start = Instant::now();
        let mut ask = |seconds| limit.ask(start + Duration::from_secs(seconds));
        assert_eq!([ask(0), ask(0), ask(0)], [Verdict::Write(0), Verdict::Write(0), Verdict::Write(0)]);
        assert_eq!([ask(0), ask(0), ask(0)], [Verdict::Last, Verdict::LeaveOut, Verdict::LeaveOut]);
        assert_eq!([ask(1), ask(1)], [Verdict::Write(3), Verdict::Last]);
        // As many as at first, however long it was quiet.
        assert_eq!([ask(99), ask(99), ask(99)], [Verdict::Write(1), Verdict::Write(0), Verdict::Write(0)]);
        assert_eq!(ask(99), Verdict::Last);
    }
}
