//! A station: one thing that serves one piece of a message at a time, such as a bus, a port or a kernel's protocol code.

use std::collections::VecDeque;

use super::time::Time;

/// The two queues of a station. The two directions of a bus take turns; other stations use one queue for all pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Data that leaves the host.
    Out,
    /// Data that comes into the host.
    In,
}

/// A piece that wants to be served.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Which piece.
    pub chunk: u32,
    /// How long it takes.
    pub service: Time,
}

/// Placeholder for a piece that was forwarded while it is still being served (cut-through).
const FORWARDED: u32 = u32::MAX;

/// A station with its queues. It loses nothing: the windows of the senders bound the queues.
#[derive(Debug, Default)]
pub struct Station {
    queues: [VecDeque<Job>; 2],
    serving: Option<u32>,
    last: usize,
}

impl Station {
    /// Takes a job. `Some`: it is served at once, and the caller says when that ends.
    pub fn submit(&mut self, turn: Turn, job: Job) -> Option<Job> {
        if self.serving.is_none() {
            self.last = turn as usize;
            return Some(self.begin(job));
        }
        self.queues[turn as usize].push_back(job);
        None
    }

    /// The job in service is done. Returns it, and the next job, whose service begins.
    pub fn done(&mut self) -> (Option<u32>, Option<Job>) {
        let done = self.serving.take();
        let other = 1 - self.last;
        let turn = if self.queues[other].is_empty() { self.last } else { other };
        let next = self.queues[turn].pop_front();
        if next.is_some() {
            self.last = turn;
        }
        (done, next.map(|job| self.begin(job)))
    }

    /// The piece in service was already forwarded.
    pub fn forward(&mut self) {
        self.serving = Some(FORWARDED);
    }

    fn begin(&mut self, job: Job) -> Job {
        self.serving = Some(job.chunk);
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_directions_take_turns() {
        let mut station = Station::default();
        let job = |chunk| Job { chunk, service: Time(10) };
        assert!(station.submit(Turn::Out, job(0)).is_some());
        for (turn, chunk) in [(Turn::Out, 1), (Turn::Out, 2), (Turn::In, 3), (Turn::In, 4)] {
            assert!(station.submit(turn, job(chunk)).is_none());
        }
        let mut order = Vec::new();
        while let (Some(done), _) = station.done() {
            order.push(done);
        }
        assert_eq!(order, [0, 3, 1, 4, 2]);
    }
}
