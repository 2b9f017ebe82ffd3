//! Samples the traffic of a host's network interfaces over time, in one process of each host.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fishplate_host::Host;
use fishplate_profile::series_file::{MAX_COLUMNS, STEP_NS, header};

use super::timeline::{Timeline, columns_of};
use crate::ffi::{Counter, GrowingFile, clock};
use crate::sync::lock;

/// Counters of all interfaces of this thread's network namespace.
const COUNTERS: &str = "/proc/thread-self/net/dev";
/// Size of the buffer for [`COUNTERS`]: about 120 bytes per interface are used.
const MAX_TEXT: usize = 16384;

pub struct Sampler {
    thread: JoinHandle<()>,
    is_over: Arc<(Mutex<bool>, Condvar)>,
}

/// Starts to sample the interfaces, unless another process of this host does so already.
pub fn sample(folder: &Path, host: &str) -> Option<Sampler> {
    let file = GrowingFile::create(&folder.join(format!("{}.rails", Host::own().id())), header::WORDS).ok()?;
    let file_of_counters = File::open(COUNTERS).ok()?;
    let counters = counters(&file_of_counters)?;
    let names: Vec<String> = columns_of(&counters).collect();
    let timeline = Timeline::begin(file, None, host, &names, clock::realtime());
    let is_over = Arc::new((Mutex::new(false), Condvar::new()));
    let shared = is_over.clone();
    let look = move || look(&file_of_counters, timeline, counters, &shared);
    // Signals are for the program's own threads.
    let thread =
        fishplate_guest::without_signals(|| thread::Builder::new().name("fishplate-profile".into()).spawn(look))
            .ok()?;
    Some(Sampler { thread, is_over })
}

impl Sampler {
    pub fn stop(self) {
        *lock(&self.is_over.0) = true;
        self.is_over.1.notify_one();
        // A panic has been reported by the thread.
        let _ = self.thread.join();
    }
}

fn look(file: &File, mut timeline: Timeline, mut before: Vec<Counter>, is_over: &(Mutex<bool>, Condvar)) {
    let mut since = clock::realtime();
    loop {
        let pause = Duration::from_nanos(STEP_NS - clock::realtime() % STEP_NS);
        let over = is_over.1.wait_timeout_while(lock(&is_over.0), pause, |is_over| !*is_over);
        let is_last = over.is_ok_and(|(is_over, _)| *is_over);
        let (Some(counters), now) = (counters(file), clock::realtime()) else { return };
        for (at, old) in before.iter_mut().enumerate() {
            let Some(new) = counters.iter().find(|counter| counter.name == old.name) else { continue };
            timeline.spread_traffic(2 * at, (since, now), old, new);
            *old = new.clone();
        }
        since = now;
        if is_last {
            return;
        }
    }
}

/// Reads the counters. The file stays open, as opening it takes ten times as long as reading it.
fn counters(file: &File) -> Option<Vec<Counter>> {
    let mut text = [0; MAX_TEXT];
    let length = file.read_at(&mut text, 0).ok()?;
    Some(parse(&String::from_utf8_lossy(&text[..length])))
}

/// Parses two lines of titles; then, for each interface, its name, a colon, eight numbers about reception, of which the first
/// is bytes, and eight about transmission.
fn parse(text: &str) -> Vec<Counter> {
    let counter = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let mut numbers = numbers.split_whitespace().map(str::parse);
        let received = numbers.next()?.ok()?;
        let sent = numbers.nth(7)?.ok()?;
        Some(Counter { name: name.trim().to_string(), sent, received })
    };
    text.lines().skip(2).filter_map(counter).take(MAX_COLUMNS / 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_interfaces() {
        let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  100       1    0    0    0     0          0         0      200       2    0    0    0     0       0          0
  r0:7 1 0 0 0 0 0 0 8 2 0 0 0 0 0 0
";
        let counter = |name: &str, received, sent| Counter { name: name.into(), sent, received };
        assert_eq!(parse(text), [counter("lo", 100, 200), counter("r0", 7, 8)]);
        assert!(counters(&File::open(COUNTERS).unwrap()).is_some_and(|counters| !counters.is_empty()));
    }
}
