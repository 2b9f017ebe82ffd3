//! What went between clients and servers of a storage over each rail, over time: by the counters of the servers' interfaces.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::lab::Lab;
use crate::record::RailShare;
use crate::testbed::rail_name;

/// How often counters are read at first.
const STEP: Duration = Duration::from_millis(50);
/// Most steps: with more, each becomes twice as long.
const MAX_STEPS: usize = 200;

/// Bytes and packets of one direction of a rail, of all servers, since they exist.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    bytes: u64,
    packets: u64,
}

/// Counts of all rails, to the servers and from them, by name.
type Reading = BTreeMap<String, Counts>;

/// Counting, until it is finished.
pub struct Counting {
    stop: Sender<()>,
    thread: JoinHandle<(Vec<Reading>, Duration)>,
}

/// What each direction of each rail carried.
pub struct Traffic {
    pub step_s: f64,
    pub rails: Vec<RailShare>,
}

impl Counting {
    /// Begins, where the lab has a storage with servers.
    pub fn begin(lab: &Lab) -> Option<Counting> {
        let holders: Vec<u32> = lab.hosts()[lab.clients().len()..].iter().map(|host| host.proc_id()).collect();
        let rails: Vec<String> = (0..lab.rails()).map(rail_name).collect();
        if holders.is_empty() {
            return None;
        }
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut step = STEP;
            let mut readings = vec![read(&holders, &rails)];
            while stopped.recv_timeout(step) == Err(RecvTimeoutError::Timeout) {
                readings.push(read(&holders, &rails));
                if readings.len() > MAX_STEPS {
                    step *= 2;
                    readings = readings.into_iter().step_by(2).collect();
                }
            }
            readings.push(read(&holders, &rails));
            (readings, step)
        });
        Some(Counting { stop, thread })
    }

    /// Ends it; nothing where a thread could not count.
    pub fn finish(self) -> Option<Traffic> {
        drop(self.stop);
        let (readings, step) = self.thread.join().ok()?;
        Some(Traffic { step_s: step.as_secs_f64(), rails: shares(&readings, step.as_secs_f64()) })
    }
}

fn read(holders: &[u32], rails: &[String]) -> Reading {
    let mut sums = Reading::new();
    for holder in holders {
        let table = fs::read_to_string(format!("/proc/{holder}/net/dev")).unwrap_or_default();
        add(&mut sums, &table, rails);
    }
    sums
}

/// Adds the counters of one host, as the kernel shows them.
fn add(sums: &mut Reading, table: &str, rails: &[String]) {
    for line in table.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let numbers: Vec<u64> = rest.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let name = name.trim();
        if !rails.iter().any(|rail| rail == name) || numbers.len() < 10 {
            continue;
        }
        for (direction, at) in [("to servers", 0), ("from servers", 8)] {
            let counts = sums.entry(format!("{name} {direction}")).or_default();
            counts.bytes += numbers[at];
            counts.packets += numbers[at + 1];
        }
    }
}

fn shares(readings: &[Reading], step_s: f64) -> Vec<RailShare> {
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else { return Vec::new() };
    let grown = |name: &str| {
        let (begin, end) = (first.get(name).copied().unwrap_or_default(), last[name]);
        (end.bytes.saturating_sub(begin.bytes), end.packets.saturating_sub(begin.packets))
    };
    let all: u64 = last.keys().map(|name| grown(name).0).sum();
    let share = |name: &String| {
        let (bytes, messages) = grown(name);
        let at = |reading: &Reading| reading.get(name).map_or(0, |counts| counts.bytes);
        let steps: Vec<u64> = readings.windows(2).map(|two| at(&two[1]).saturating_sub(at(&two[0]))).collect();
        let busy = steps.iter().filter(|bytes| **bytes > 0).count() as f64 * step_s;
        RailShare {
            name: name.clone(),
            bytes,
            messages,
            share: if all == 0 { 0.0 } else { bytes as f64 / all as f64 },
            retransmitted: 0,
            rate_bytes_per_s: if busy == 0.0 { 0.0 } else { bytes as f64 / busy },
            sent_over_time: steps,
        }
    };
    last.keys().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_shares_and_steps() {
        let table = |received: u64, sent: u64| {
            format!(
                "Inter-|   Receive\n face |bytes\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n    r0: {received} 2 0 0 0 0 0 0 {sent} 3 0 0 0 0 0 0\n  mgmt: 7 7 0 0 0 0 0 0 7 7 0 0 0 0 0 0\n"
            )
        };
        let reading = |received, sent| {
            let mut sums = Reading::new();
            add(&mut sums, &table(received, sent), &["r0".to_string()]);
            add(&mut sums, &table(0, 0), &["r0".to_string()]);
            sums
        };
        let shares = shares(&[reading(100, 10), reading(400, 10), reading(400, 110)], 0.5);
        let found: Vec<_> = shares.iter().map(|rail| (rail.name.as_str(), rail.bytes, rail.share)).collect();
        assert_eq!(found, [("r0 from servers", 100, 0.25), ("r0 to servers", 300, 0.75)]);
        assert_eq!((shares[1].sent_over_time.as_slice(), shares[1].rate_bytes_per_s), ([300, 0].as_slice(), 600.0));
    }
}
