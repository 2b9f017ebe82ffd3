//! The order of a link's frames, some of which leave as datagrams.
//!
//! What the engine is promised is one flow in which nothing is lost and nothing overtakes. So only a frame that follows
//! nothing unacknowledged goes as a datagram, and a copy of it goes into the stream before anything else that is counted,
//! or when no acknowledgement comes. The peer takes whichever is first, and drops the other: it knows both by number.

/// *Calm* is a frame before which everything has been acknowledged. After so many in a row datagrams are worth their
/// while: a copy that has to follow costs more than is gained.
const CALM: u32 = 8;
/// After a copy, datagrams pause for twice as many calm frames, in a row or not, after the next for twice as many again,
/// and so on until a datagram is acknowledged. Most doublings: where none comes through any more, one frame in so many is
/// late.
const MOST_DOUBLINGS: u32 = 13;
/// Calm frames from the first offer to the second; then twice as many, and so on.
const SECOND_OFFER: u32 = 1024;

/// Whether number `a` is behind `b`; numbers are modulo 2^32.
fn is_behind(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Which way the frames that are sent go.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    /// Number of the next counted frame: how many there were.
    next: u32,
    /// Frames that the peer has acknowledged.
    acked: u32,
    /// Number that the peer gives the next counted frame of the stream.
    on_stream: u32,
    /// The last one went as a datagram only.
    is_out: bool,
    /// Frames in a row that were acknowledged before the next left.
    calm: u32,
    /// Copies that were needed since a datagram was acknowledged.
    copies: u32,
    /// Calm frames until the next datagram.
    pause: u32,
    /// Offers that were made, and calm frames until the next.
    offers: u32,
    offer_in: u32,
}

impl Departures {
    /// The peer says that it has received `acked` frames; the newest that it has said so far.
    pub fn hear(&mut self, acked: u32) -> u32 {
        if is_behind(self.acked, acked) {
            self.acked = acked;
            if self.is_out && acked == self.next {
                (self.is_out, self.copies) = (false, 0);
            }
        }
        self.acked
    }

    /// A counted frame is about to leave. Whether it may go as a datagram.
    pub fn is_calm(&mut self) -> bool {
        if self.acked != self.next {
            self.calm = 0;
            return false;
        }
        let is_paused = self.pause > 0;
        (self.pause, self.offer_in) = (self.pause.saturating_sub(1), self.offer_in.saturating_sub(1));
        self.calm = self.calm.saturating_add(1);
        self.calm > CALM && !is_paused
    }

    /// Whether it is time to offer the peer datagrams, which then happens. Asked when it is calm and there are none yet.
    pub fn offers(&mut self) -> bool {
        let is_time = self.offer_in == 0;
        if is_time {
            self.offer_in = SECOND_OFFER << self.offers.min(MOST_DOUBLINGS);
            self.offers += 1;
        }
        is_time
    }

    /// Number of the frame that leaves next.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// It has left as a datagram.
    pub fn by_datagram(&mut self) {
        self.is_out = true;
        self.next = self.next.wrapping_add(1);
    }

    /// It goes into the stream, behind RESUME with this number if there is one. [`Departures::settle`] comes first.
    pub fn by_stream(&mut self) -> Option<u32> {
        self.next = self.next.wrapping_add(1);
        self.stream(self.next.wrapping_sub(1))
    }

    /// Whether a datagram is out that the peer has not acknowledged.
    pub fn is_out(&self) -> bool {
        self.is_out
    }

    /// Whether the copy of a datagram must go into the stream now; it does so as [`Departures::by_stream`] says of a frame.
    pub fn settle(&mut self) -> Option<Option<u32>> {
        if !std::mem::take(&mut self.is_out) {
            return None;
        }
        self.give_up_for_now();
        Some(self.stream(self.next.wrapping_sub(1)))
    }

    /// A datagram was of no use: the next one comes later.
    pub fn give_up_for_now(&mut self) {
        self.calm = 0;
        self.copies = (self.copies + 1).min(MOST_DOUBLINGS);
        self.pause = CALM << self.copies;
    }

    fn stream(&mut self, number: u32) -> Option<u32> {
        let before = std::mem::replace(&mut self.on_stream, number.wrapping_add(1));
        (before != number).then_some(number)
    }
}

/// Which of the frames that come are taken.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// Counted frames taken whole.
    received: u32,
    /// Number of the next counted frame of the stream.
    on_stream: u32,
    /// What the stream brings now is dropped.
    drops: bool,
}

/// The peer resumes its stream with a frame that has never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap;

impl Arrivals {
    /// The stream goes on with frame `number`.
    pub fn resume(&mut self, number: u32) -> Result<(), Gap> {
        self.on_stream = number;
        if is_behind(self.received, number) { Err(Gap) } else { Ok(()) }
    }

    /// A counted frame begins on the stream. Whether it is taken.
    pub fn begin(&mut self) -> bool {
        self.drops = self.on_stream != self.received;
        self.on_stream = self.on_stream.wrapping_add(1);
        !self.drops
    }

    /// The counted frame of the stream is whole. Whether it was taken.
    pub fn end(&mut self) -> bool {
        if !self.drops {
            self.received = self.received.wrapping_add(1);
        }
        !std::mem::take(&mut self.drops)
    }

    /// Frame `number` has come as a datagram. Whether it is taken: then it is whole.
    pub fn datagram(&mut self, number: u32) -> bool {
        // One that the stream brings at this moment is taken from there.
        let is_next = number == self.received && self.on_stream != number.wrapping_add(1);
        if is_next {
            self.received = self.received.wrapping_add(1);
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[derive(Clone, Copy, Debug)]
    enum OnStream {
        Resume(u32),
        Frame(u64),
        Acknowledgement(u32),
    }

    /// One end, with the streams and datagrams towards it. Frames are their place in the sender's order.
    #[derive(Default)]
    struct End {
        departures: Departures,
        arrivals: Arrivals,
        sent: u64,
        copy: u64,
        stream: VecDeque<OnStream>,
        datagrams: Vec<(u32, u64, u32)>,
        taken: Vec<u64>,
        /// The frame of the stream that has begun.
        begun: Option<(u64, bool)>,
    }

    impl End {
        fn settle(&mut self, peer: &mut End) {
            if let Some(resume) = self.departures.settle() {
                peer.stream.extend(resume.map(OnStream::Resume));
                peer.stream.push_back(OnStream::Frame(self.copy));
            }
        }

        fn send(&mut self, peer: &mut End) {
            if self.departures.is_calm() {
                peer.datagrams.push((self.departures.next(), self.sent, self.arrivals.received));
                self.departures.by_datagram();
                self.copy = self.sent;
            } else {
                self.settle(peer);
                let resume = self.departures.by_stream();
                peer.stream.extend(resume.map(OnStream::Resume));
                peer.stream.push_back(OnStream::Frame(self.sent));
            }
            self.sent += 1;
        }

        fn read_stream(&mut self) {
            if let Some((frame, taken)) = self.begun.take() {
                assert_eq!(self.arrivals.end(), taken);
                self.taken.extend(taken.then_some(frame));
                return;
            }
            match self.stream.pop_front() {
                None => {}
                Some(OnStream::Resume(number)) => self.arrivals.resume(number).unwrap(),
                Some(OnStream::Acknowledgement(acked)) => drop(self.departures.hear(acked)),
                Some(OnStream::Frame(frame)) => self.begun = Some((frame, self.arrivals.begin())),
            }
        }

        fn read_datagram(&mut self, which: usize) {
            if self.datagrams.is_empty() {
                return;
            }
            let (number, frame, acked) = self.datagrams.swap_remove(which % self.datagrams.len());
            self.taken.extend(self.arrivals.datagram(number).then_some(frame));
            self.departures.hear(acked);
        }

        fn check(&self, from: &End) {
            let all: Vec<u64> = (0..from.sent).collect();
            assert!(self.taken == all, "{:?} of {} have been taken", self.taken, from.sent);
        }
    }

    proptest! {
        /// Datagrams are lost, come late, and out of order; streams stop at any point. Every frame is taken once, in order.
        #[test]
        fn every_frame_is_taken_once_and_in_order(
            first in any::<u32>(),
            steps in prop::collection::vec((0u8..12, any::<bool>(), any::<usize>()), 0..2000),
        ) {
            let end = || End {
                departures: Departures { next: first, acked: first, on_stream: first, calm: CALM, ..Departures::default() },
                arrivals: Arrivals { received: first, on_stream: first, drops: false },
                ..End::default()
            };
            let (mut a, mut b) = (end(), end());
            for (step, swapped, which) in steps {
                if swapped {
                    std::mem::swap(&mut a, &mut b);
                }
                match step {
                    0..=1 => a.send(&mut b),
                    2 => b.stream.push_back(OnStream::Acknowledgement(a.arrivals.received)),
                    3 => a.settle(&mut b),
                    4 if !a.datagrams.is_empty() => drop(a.datagrams.swap_remove(which % a.datagrams.len())),
                    // As after many calm frames.
                    5 => (a.departures.calm, a.departures.pause) = (a.departures.calm.saturating_add(CALM), 0),
                    6..=8 => a.read_datagram(which),
                    _ => a.read_stream(),
                }
            }
            for _ in 0..2 {
                a.settle(&mut b);
                b.settle(&mut a);
                for end in [&mut a, &mut b] {
                    while !end.stream.is_empty() || end.begun.is_some() {
                        end.read_stream();
                    }
                }
            }
            a.check(&b);
            b.check(&a);
        }
    }

    #[test]
    fn datagrams_are_for_conversations() {
        let mut departures = Departures::default();
        for acked in 0..CALM {
            departures.hear(acked);
            assert!(!departures.is_calm(), "{acked}");
            assert_eq!(departures.by_stream(), None);
        }
        departures.hear(CALM);
        assert!(departures.is_calm());
        departures.by_datagram();
        assert!(departures.is_out());
        assert_eq!(departures.hear(CALM + 1), CALM + 1);
        assert_eq!(departures.hear(CALM), CALM + 1, "old news");
        assert!(!departures.is_out());
        // Not acknowledged: the next one follows in the stream, behind the copy.
        assert!(departures.is_calm());
        departures.by_datagram();
        assert!(!departures.is_calm());
        assert_eq!((departures.settle(), departures.by_stream()), (Some(Some(CALM + 1)), None));
        // The copy was needed: now it takes twice as many, of which not all follow each other.
        let mut calm = 0;
        while calm < 2 * CALM {
            departures.hear(departures.next());
            calm += 1;
            assert!(!departures.is_calm(), "{calm}");
            departures.by_stream();
            if calm == CALM {
                assert!(!departures.is_calm());
                departures.by_stream();
            }
        }
        departures.hear(departures.next());
        assert!(departures.is_calm());
    }

    #[test]
    fn offers_become_rare() {
        let mut departures = Departures::default();
        let mut offers = Vec::new();
        for calm in 0..10 * SECOND_OFFER {
            departures.hear(departures.next());
            if departures.is_calm() && departures.offers() {
                offers.push(calm - CALM);
            }
            departures.by_stream();
        }
        assert_eq!(offers, [0, SECOND_OFFER, 3 * SECOND_OFFER, 7 * SECOND_OFFER]);
    }

    #[test]
    fn a_stream_cannot_leave_frames_out() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.resume(1), Err(Gap));
        assert!(Arrivals { received: 5, ..Arrivals::default() }.resume(3).is_ok());
    }
}
