//! A token bucket like Linux' HTB. Tokens are time, which the bucket gains as the clock advances. A whole frame passes
//! whenever the bucket is not in debt. So after a pause frames pass at once, up to the size of the bucket, and the last
//! frame of a message does not wait for its own serialization time.

use std::collections::VecDeque;

use super::time::Time;

/// A piece that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    chunk: u32,
    bytes: u64,
    since: Time,
}

/// One direction of a shaped rail.
#[derive(Debug)]
pub struct Shaper {
    byte_ps: f64,
    bucket_ps: i64,
    /// Longest frame, in bytes of payload: the kernel hands frames of many packets (offload frames) to an interface.
    frame_bytes: u64,
    /// The first frame of the queue holds the pieces that arrived until this time. Later pieces wait in the socket
    /// until this frame leaves, and then become one frame (TCP's corking).
    closes: Time,
    /// Header bytes of a packet.
    overhead_bytes: u64,
    /// Payload of a packet.
    packet_bytes: u64,
    /// Time in the bucket as of `filled`; below zero: a debt.
    tokens_ps: i64,
    filled: Time,
    queue: VecDeque<Waiting>,
    /// Sum of the tokens of all that wait: hundreds of connections queue here, and each acknowledgement asks.
    queued_ps: i64,
    /// Delay of the timer that releases waiting frames.
    late: Time,
}

impl Shaper {
    /// A shaper with a full bucket of `bucket` time at the rate, and the payload and header bytes of packets.
    pub fn new(mbit: f64, bucket: Time, frame_bytes: u64, packet: (u64, u64), late: Time) -> Shaper {
        let bucket_ps = bucket.0 as i64;
        Shaper {
            byte_ps: 8e6 / mbit,
            bucket_ps,
            frame_bytes,
            closes: Time::default(),
            packet_bytes: packet.0,
            overhead_bytes: packet.1,
            tokens_ps: bucket_ps,
            filled: Time::default(),
            queue: VecDeque::new(),
            queued_ps: 0,
            late,
        }
    }

    /// Changes the rate. The debt of the bucket is a time, and stays.
    pub fn set_rate(&mut self, now: Time, mbit: f64) {
        self.fill(now);
        self.byte_ps = 8e6 / mbit;
        self.queued_ps = self.queue.iter().map(|waiting| self.debt_ps(waiting.bytes)).sum();
    }

    /// A piece comes.
    pub fn offer(&mut self, now: Time, chunk: u32, bytes: u64) {
        if self.queue.is_empty() {
            self.closes = now;
        }
        self.queued_ps += self.debt_ps(bytes);
        self.queue.push_back(Waiting { chunk, bytes, since: now });
    }

    /// Removes and returns the pieces that leave now.
    pub fn release(&mut self, now: Time) -> Vec<u32> {
        self.fill(now);
        let mut left = Vec::new();
        while self.tokens_ps >= 0 && !self.queue.is_empty() {
            let mut frame = 0;
            let belongs = |frame: u64, next: &Waiting| {
                frame == 0 || next.since <= self.closes && frame + next.bytes <= self.frame_bytes
            };
            while let Some(next) = self.queue.front().filter(|next| belongs(frame, next)) {
                frame += next.bytes;
                left.push(next.chunk);
                self.queued_ps -= self.debt_ps(next.bytes);
                self.queue.pop_front();
            }
            self.tokens_ps -= self.debt_ps(frame);
            self.closes = now;
        }
        left
    }

    /// When to call [`Shaper::release`] next, if anything waits.
    pub fn due(&self) -> Option<Time> {
        let waits = self.tokens_ps < 0;
        let debt = Time(u64::try_from(-self.tokens_ps).unwrap_or(0));
        let late = if waits { self.late } else { Time::default() };
        (!self.queue.is_empty()).then_some(self.filled + debt + late)
    }

    /// Queueing delay of a short frame that arrives now.
    pub fn wait(&self, now: Time) -> Time {
        let passed = i64::try_from((now - self.filled).0).unwrap_or(i64::MAX);
        let tokens_ps = self.tokens_ps.saturating_add(passed).min(self.bucket_ps);
        let owed = u64::try_from(self.queued_ps - tokens_ps).unwrap_or(0);
        if owed > 0 { Time(owed) + self.late } else { Time::default() }
    }

    /// Tokens of a frame of `bytes` bytes.
    fn debt_ps(&self, frame: u64) -> i64 {
        let wire_bytes = frame + frame.div_ceil(self.packet_bytes) * self.overhead_bytes;
        (self.byte_ps * wire_bytes as f64).round() as i64
    }

    fn fill(&mut self, now: Time) {
        let passed = i64::try_from((now - self.filled).0).unwrap_or(i64::MAX);
        self.tokens_ps = self.tokens_ps.saturating_add(passed).min(self.bucket_ps);
        self.filled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Gbit/s: 8 ns a byte; a bucket of 10 us, frames of 1000 bytes.
    fn shaper() -> Shaper {
        Shaper::new(1000.0, Time::ns(10_000.0), 1000, (500, 0), Time::default())
    }

    #[test]
    fn frames_pass_until_the_bucket_is_in_debt_and_the_last_is_not_held_for_its_own_length() {
        let mut shaper = shaper();
        (0..4).for_each(|chunk| shaper.offer(Time::default(), chunk, 1000));
        // 10 us - 8 us is not a debt yet; the second frame makes one of 6 us.
        assert_eq!(shaper.release(Time::default()), [0, 1]);
        assert_eq!(shaper.due(), Some(Time::ns(6_000.0)));
        assert_eq!(shaper.release(Time::ns(5_999.0)), []);
        assert_eq!(shaper.release(Time::ns(6_000.0)), [2]);
        assert_eq!(shaper.release(shaper.due().unwrap()), [3]);
        assert_eq!(shaper.due(), None);
    }

    #[test]
    fn small_pieces_that_wait_leave_as_one_frame() {
        let mut shaper = shaper();
        shaper.offer(Time::default(), 0, 2000);
        assert_eq!(shaper.release(Time::default()), [0]);
        (1..6).for_each(|chunk| shaper.offer(Time::default(), chunk, 400));
        let due = shaper.due().unwrap();
        assert_eq!(due, Time::ns(6_000.0));
        assert_eq!(shaper.release(due), [1, 2]);
    }

    #[test]
    fn what_comes_behind_a_frame_that_waits_is_the_next_frame() {
        let mut shaper = shaper();
        shaper.offer(Time::default(), 0, 2000);
        assert_eq!(shaper.release(Time::default()), [0]);
        for (at, chunk) in [(1.0, 1), (2.0, 2), (3.0, 3)] {
            shaper.offer(Time::ns(at), chunk, 300);
        }
        // The first frame alone makes a debt of 2.4 us, for which the others wait.
        assert_eq!(shaper.release(Time::ns(6_000.0)), [1]);
        assert_eq!(shaper.release(Time::ns(8_400.0)), [2, 3]);
    }

    #[test]
    fn a_late_timer_delays_what_waits_and_keeps_the_rate() {
        let mut shaper = Shaper::new(1000.0, Time::ns(10_000.0), 1000, (500, 0), Time::ns(1_000.0));
        (0..4).for_each(|chunk| shaper.offer(Time::default(), chunk, 1000));
        assert_eq!(shaper.release(Time::default()), [0, 1]);
        assert_eq!(shaper.due(), Some(Time::ns(7_000.0)));
        assert_eq!(shaper.release(Time::ns(7_000.0)), [2]);
        assert_eq!(shaper.due(), Some(Time::ns(15_000.0)));
    }

    #[test]
    fn a_frame_of_small_pieces_has_as_many_packets_as_it_needs() {
        let mut shaper = Shaper::new(1000.0, Time::ns(1.0), 1000, (500, 100), Time::default());
        (0..9).for_each(|chunk| shaper.offer(Time::default(), chunk, 100));
        assert_eq!(shaper.release(Time::default()).len(), 9);
        shaper.offer(Time::default(), 9, 1);
        // 900 bytes and 2 packets' overhead at 8 ns, less what the bucket had.
        assert_eq!(shaper.due(), Some(Time::ns(8_799.0)));
    }

    #[test]
    fn an_acknowledgement_waits_for_what_is_queued_and_not_for_the_bucket() {
        let mut shaper = shaper();
        assert_eq!(shaper.wait(Time::default()), Time::default());
        (0..3).for_each(|chunk| shaper.offer(Time::default(), chunk, 1000));
        assert_eq!(shaper.wait(Time::default()), Time::ns(14_000.0));
        assert_eq!(shaper.release(Time::default()), [0, 1]);
        assert_eq!(shaper.wait(Time::ns(1_000.0)), Time::ns(13_000.0));
    }

    #[test]
    fn another_rate_holds_for_what_comes() {
        let mut shaper = shaper();
        shaper.set_rate(Time::default(), 100.0);
        (0..2).for_each(|chunk| shaper.offer(Time::default(), chunk, 1000));
        assert_eq!(shaper.release(Time::default()), [0]);
        assert_eq!(shaper.due(), Some(Time::ns(70_000.0)));
    }
}
