//! Events for the user: a line each on standard error, from the level of `FISHPLATE_LOG` on. See
//! `docs/reference/settings.md`.
//!
//! Nothing is logged for a single message or frame, so a level that is off costs nothing that could be measured.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use fishplate_guest::printable;
use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::process;

/// Log target of events about unproven connections. They have a rate limit of their own: a flood of a port must not keep other
/// warnings out of the log.
pub const STRANGERS: &str = "fishplate::strangers";
/// Rate limit of warnings: lines in a burst.
const BURST: u32 = 20;
/// After a burst, one more line in this time.
const REFILL_INTERVAL: Duration = Duration::from_secs(1);
/// [`BURST`] of the more detailed levels.
const DETAILS_BURST: u32 = 500;
const DETAILS_REFILL_INTERVAL: Duration = Duration::from_millis(10);

/// Writes events of `level` and above from now on. The endpoint that is opened last decides for the whole process.
pub fn start(level: LevelFilter) {
    static LOGGER: OnceLock<Logger> = OnceLock::new();
    let logger = LOGGER.get_or_init(|| Logger {
        started: Instant::now(),
        warnings: Mutex::new(RateLimit::new(BURST, REFILL_INTERVAL)),
        strangers: Mutex::new(RateLimit::new(BURST, REFILL_INTERVAL)),
        details: Mutex::new(RateLimit::new(DETAILS_BURST, DETAILS_REFILL_INTERVAL)),
    });
    // Fails the second time, and where the library has another logger.
    let _ = log::set_logger(logger);
    log::set_max_level(level);
}

struct Logger {
    started: Instant,
    warnings: Mutex<RateLimit>,
    strangers: Mutex<RateLimit>,
    details: Mutex<RateLimit>,
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("fishplate")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let limit = match record.level() {
            _ if record.target() == STRANGERS => &self.strangers,
            Level::Error | Level::Warn => &self.warnings,
            Level::Info | Level::Debug | Level::Trace => &self.details,
        };
        let now = Instant::now();
        let note = match limit.lock().unwrap_or_else(PoisonError::into_inner).admit(now) {
            Decision::Write(suppressed) => suppressed,
            Decision::SuppressFromNow => {
                return write_line(&format!("{}more lines are left out", self.prefix(record.level(), now)));
            }
            Decision::Suppress => return,
        };
        let mut line = self.prefix(record.level(), now);
        let _ = write!(line, "{}", record.args());
        if note > 0 {
            let _ = write!(line, " ({note} lines were left out before)");
        }
        write_line(&line);
    }

    fn flush(&self) {}
}

impl Logger {
    fn prefix(&self, level: Level, now: Instant) -> String {
        let seconds = now.duration_since(self.started).as_secs_f64();
        let level = level.as_str().to_ascii_lowercase();
        format!("fishplate: {level} +{seconds:.3}s {}: ", process::name())
    }
}

/// Writes a line in one system call, so that lines of several processes do not mix.
fn write_line(line: &str) {
    let line = printable(&line.replace('\n', " ")).into_owned() + "\n";
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// A token bucket that limits the rate of lines.
struct RateLimit {
    burst: u32,
    refill_interval: Duration,
    /// Lines that may be written now.
    tokens: u32,
    /// When `tokens` was refilled last.
    refilled_at: Option<Instant>,
    suppressed: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// The line is written; the number of lines before it that were suppressed.
    Write(u32),
    /// The first line that is suppressed: a notice is written in its place.
    SuppressFromNow,
    Suppress,
}

impl RateLimit {
    fn new(burst: u32, refill_interval: Duration) -> RateLimit {
        RateLimit { burst, refill_interval, tokens: burst, refilled_at: None, suppressed: 0 }
    }

    fn admit(&mut self, now: Instant) -> Decision {
        let refilled_at = *self.refilled_at.get_or_insert(now);
        let refilled = (now.duration_since(refilled_at).as_nanos() / self.refill_interval.as_nanos())
            .min(u128::from(self.burst)) as u32;
        if refilled > 0 {
            self.refilled_at = Some(now);
            self.tokens = (self.tokens + refilled).min(self.burst);
        }
        if self.tokens == 0 {
            self.suppressed += 1;
            return if self.suppressed == 1 { Decision::SuppressFromNow } else { Decision::Suppress };
        }
        self.tokens -= 1;
        Decision::Write(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_reported_once_and_counted() {
        let mut limit = RateLimit::new(3, Duration::from_secs(1));
        let start = Instant::now();
        let mut admit = |seconds| limit.admit(start + Duration::from_secs(seconds));
        assert_eq!([admit(0), admit(0), admit(0)], [Decision::Write(0), Decision::Write(0), Decision::Write(0)]);
        assert_eq!([admit(0), admit(0), admit(0)], [Decision::SuppressFromNow, Decision::Suppress, Decision::Suppress]);
        assert_eq!([admit(1), admit(1)], [Decision::Write(3), Decision::SuppressFromNow]);
        // As many as at first, however long it was quiet.
        assert_eq!([admit(99), admit(99), admit(99)], [Decision::Write(1), Decision::Write(0), Decision::Write(0)]);
        assert_eq!(admit(99), Decision::SuppressFromNow);
    }
}
