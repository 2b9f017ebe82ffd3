//! Measures round trip times between processes by short messages, and broadcasts small data.

use std::thread;
use std::time::{Duration, Instant};

use super::estimates::{to_bytes, to_numbers};
use super::proximity::NEAR_NS;
use crate::ffi::{Abi, Comm, Mailbox, Result};

/// Minimum number of round trips, of which the shortest counts: the first includes the connection setup.
const MIN_PINGS: usize = 8;
/// Maximum number of round trips, if there is time.
const MAX_PINGS: usize = 64;
/// Time limit of the round trips to a process that seems far: it may only be busy.
const MAX_TIME: Duration = Duration::from_millis(100);
/// How long a process polls for the next message without sleeping. Then it sleeps between polls: if there are more processes
/// than processors, the peers need one to answer.
const YIELD_TIME: Duration = Duration::from_micros(100);
const SLEEP: Duration = Duration::from_micros(20);
const PING: i32 = 1;
const PONG: i32 = 2;
const NUMBERS: i32 = 3;

/// A process that measures or answers.
#[derive(Clone, Copy)]
pub struct Prober {
    /// The MPI's interface.
    pub abi: &'static Abi,
    /// Not used for other messages meanwhile.
    pub comm: Comm,
    pub rank: usize,
}

impl Prober {
    /// The shortest round trips to some processes, which call [`Prober::answer_pings`]. Measures near ones for at least `least`.
    pub fn round_trips_ns(&self, to: &[usize], least: Duration) -> Result<Vec<u64>> {
        let mut best_ns = vec![u64::MAX; to.len()];
        let begin = Instant::now();
        for count in 1.. {
            let seems_far = best_ns.iter().any(|time_ns| *time_ns > NEAR_NS);
            let patience = if seems_far { MAX_TIME } else { least };
            let is_last = count >= MIN_PINGS && (count >= MAX_PINGS || begin.elapsed() >= patience);
            self.ping(to, is_last, &mut best_ns)?;
            if is_last {
                break;
            }
        }
        Ok(best_ns)
    }

    fn ping(&self, to: &[usize], is_last: bool, best_ns: &mut [u64]) -> Result<()> {
        let mut mailbox = Mailbox::new(self.abi);
        let (mut answers, mut sent) = (Vec::new(), Vec::new());
        for other in to {
            answers.push(mailbox.receive(self.comm, 1, *other, PONG)?);
        }
        for other in to {
            sent.push(Instant::now());
            mailbox.send(self.comm, vec![u8::from(is_last)], *other, PING)?;
        }
        self.wait(&mut mailbox, |label| {
            if let Some(index) = answers.iter().position(|answer_pings| *answer_pings == label) {
                best_ns[index] = best_ns[index].min(sent[index].elapsed().as_nanos() as u64);
            }
        })?;
        Ok(())
    }

    /// Answers the pings of a process that measures round trips.
    pub fn answer_pings(&self, to: usize) -> Result<()> {
        loop {
            let mut mailbox = Mailbox::new(self.abi);
            mailbox.receive(self.comm, 1, to, PING)?;
            let is_last = self.wait(&mut mailbox, |_| {})? != [0];
            mailbox.send(self.comm, vec![0], to, PONG)?;
            self.wait(&mut mailbox, |_| {})?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Sends numbers from one process to others. Returns the numbers at all of these; elsewhere, the argument.
    pub fn broadcast(&self, from: usize, to: &[usize], numbers: Vec<u64>) -> Result<Vec<u64>> {
        let mut mailbox = Mailbox::new(self.abi);
        if self.rank == from {
            for other in to.iter().filter(|other| **other != from) {
                mailbox.send(self.comm, to_bytes(&numbers), *other, NUMBERS)?;
            }
        } else if to.contains(&self.rank) {
            mailbox.receive(self.comm, numbers.len() * size_of::<u64>(), from, NUMBERS)?;
            return Ok(to_numbers(&self.wait(&mut mailbox, |_| {})?));
        }
        self.wait(&mut mailbox, |_| {})?;
        Ok(numbers)
    }

    /// Waits for all messages and returns the last one. Calls `seen` with the label of each completed message.
    pub fn wait(&self, mailbox: &mut Mailbox, mut seen: impl FnMut(usize)) -> Result<Vec<u8>> {
        let mut last = Vec::new();
        let begin = Instant::now();
        while !mailbox.is_empty() {
            for (label, message) in mailbox.completed()? {
                seen(label);
                last = message;
            }
            if begin.elapsed() < YIELD_TIME {
                thread::yield_now();
            } else {
                thread::sleep(SLEEP);
            }
        }
        Ok(last)
    }
}
