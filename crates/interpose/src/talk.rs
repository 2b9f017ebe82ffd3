//! Short talks between processes, by messages of our own.

use std::thread;
use std::time::{Duration, Instant};

use crate::distance::FLOOR_NS;
use crate::distances::{to_bytes, to_numbers};
use crate::ffi::{Abi, Comm, Mailbox, Result};

/// Round trips of which the shortest counts: at least so many, since the first pays for the connection;
const FEWEST_PINGS: usize = 8;
/// then more while there is time, up to so many.
const MOST_PINGS: usize = 64;
/// There is so much while somebody seems far, who may only be busy.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long a process looks again and again for the next message. Then it sleeps between looks: where there are more
/// processes than processors, others need one to answer.
const ATTENTION: Duration = Duration::from_micros(100);
const NAP: Duration = Duration::from_micros(20);
const PING: i32 = 1;
const PONG: i32 = 2;
const NEWS: i32 = 3;

/// A process that talks.
#[derive(Clone, Copy)]
pub struct Talk {
    /// The MPI's interface.
    pub abi: &'static Abi,
    /// Nobody else talks here.
    pub comm: Comm,
    /// This process.
    pub rank: usize,
}

impl Talk {
    /// The shortest round trips to some processes, who [`Talk::answer`]; for so long at least, if they are near.
    pub fn round_trips_ns(&self, to: &[usize], least: Duration) -> Result<Vec<u64>> {
        let mut best_ns = vec![u64::MAX; to.len()];
        let begin = Instant::now();
        for count in 1.. {
            let seems_far = best_ns.iter().any(|time_ns| *time_ns > FLOOR_NS);
            let patience = if seems_far { PATIENCE } else { least };
            let is_last = count >= FEWEST_PINGS && (count >= MOST_PINGS || begin.elapsed() >= patience);
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
            if let Some(index) = answers.iter().position(|answer| *answer == label) {
                best_ns[index] = best_ns[index].min(sent[index].elapsed().as_nanos() as u64);
            }
        })?;
        Ok(())
    }

    /// Answers who measures round trips.
    pub fn answer(&self, to: usize) -> Result<()> {
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

    /// Numbers that one process has, for others: at these and at that one, the numbers; elsewhere, what was given.
    pub fn tell(&self, from: usize, to: &[usize], numbers: Vec<u64>) -> Result<Vec<u64>> {
        let mut mailbox = Mailbox::new(self.abi);
        if self.rank == from {
            for other in to.iter().filter(|other| **other != from) {
                mailbox.send(self.comm, to_bytes(&numbers), *other, NEWS)?;
            }
        } else if to.contains(&self.rank) {
            mailbox.receive(self.comm, numbers.len() * size_of::<u64>(), from, NEWS)?;
            return Ok(to_numbers(&self.wait(&mut mailbox, |_| {})?));
        }
        self.wait(&mut mailbox, |_| {})?;
        Ok(numbers)
    }

    /// The last letter, when all is done; `seen` is told the labels as letters come.
    pub fn wait(&self, mailbox: &mut Mailbox, mut seen: impl FnMut(usize)) -> Result<Vec<u8>> {
        let mut last = Vec::new();
        let begin = Instant::now();
        while !mailbox.is_empty() {
            for (label, letter) in mailbox.done()? {
                seen(label);
                last = letter;
            }
            if begin.elapsed() < ATTENTION {
                thread::yield_now();
            } else {
                thread::sleep(NAP);
            }
        }
        Ok(last)
    }
}
