//! Sequence numbers of a link's frames, some of which leave as datagrams.
//!
//! The engine relies on one flow without loss and without reordering. So a frame goes as a datagram only while at most one other
//! frame is unacknowledged, as is the case where both sides send at once and then wait. If no acknowledgement comes, or before a
//! counted frame goes on the stream, datagrams are retransmitted there. The peer takes the copy that arrives first and drops the
//! other, which has the same sequence number. A datagram that overtakes a frame of the stream waits for it.

use fishplate_engine::Instant;

/// Number of *idle* frames in a row after which datagrams are used: a datagram that has to be retransmitted costs more than others
/// gain. A frame is idle if all frames before it but one have been acknowledged within [`RETRANSMIT_AFTER_NS`].
const IDLE_FRAMES: u32 = 8;
/// Exponential backoff: after each retransmission, datagrams pause for twice as many idle frames as before, in a row or not, until
/// a datagram is acknowledged. This is the maximum number of doublings: where datagrams never arrive, one frame in
/// `IDLE_FRAMES << MAX_BACKOFF` is late.
const MAX_BACKOFF: u32 = 13;
/// Idle frames from the first offer of datagrams to the second; the number doubles with each further one.
const SECOND_OFFER: u32 = 1024;

/// An unacknowledged datagram is retransmitted on the stream after this time, in nanoseconds: longer than a polling peer needs to
/// answer, and most that poll now and then. A slower peer, as where many ranks share a processor, would get each frame twice, so
/// that its frames do not count as idle.
const RETRANSMIT_AFTER_NS: u64 = 5_000_000;

/// Unacknowledged datagrams, at most.
pub const MAX_OUTSTANDING: usize = 2;

/// Whether number `a` is behind `b`; numbers are modulo 2^32.
fn is_behind(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Sequence numbers of sent frames, and whether the next goes as a datagram.
#[derive(Clone, Debug, Default)]
pub struct SendSequence {
    /// Number of the next counted frame.
    next: u32,
    /// Number of frames that the peer has acknowledged.
    acked: u32,
    /// Number that the peer gives the next counted frame of the stream.
    on_stream: u32,
    /// Number of unacknowledged frames, the last ones, that went as datagrams only.
    outstanding: u32,
    /// When the last frames were sent, by number.
    left_at: [Instant; MAX_OUTSTANDING],
    /// Number of idle frames in a row.
    idle_run: u32,
    /// Number of retransmissions since a datagram was acknowledged.
    retransmits: u32,
    /// Idle frames until the next datagram.
    pause: u32,
    /// Offers so far, and idle frames until the next one.
    offers: u32,
    offer_in: u32,
}

impl SendSequence {
    /// The peer has acknowledged `acked` frames. Returns the newest acknowledgement so far.
    pub fn acknowledged(&mut self, acked: u32, now: Instant) -> u32 {
        if is_behind(self.acked, acked) {
            self.acked = acked;
            let unacknowledged = self.unacknowledged();
            if unacknowledged < MAX_OUTSTANDING as u32
                && now.since_ns(self.left_at(acked.wrapping_sub(1))) >= RETRANSMIT_AFTER_NS
            {
                self.idle_run = 0;
            }
            if self.outstanding > unacknowledged {
                (self.outstanding, self.retransmits) = (unacknowledged, 0);
            }
        }
        self.acked
    }

    fn unacknowledged(&self) -> u32 {
        self.next.wrapping_sub(self.acked)
    }

    fn left_at(&self, number: u32) -> Instant {
        self.left_at[place_of(number)]
    }

    /// A counted frame is about to be sent. Returns whether it may go as a datagram.
    pub fn may_use_datagram(&mut self) -> bool {
        if self.unacknowledged() >= MAX_OUTSTANDING as u32 {
            self.idle_run = 0;
            return false;
        }
        let is_paused = self.pause > 0;
        (self.pause, self.offer_in) = (self.pause.saturating_sub(1), self.offer_in.saturating_sub(1));
        self.idle_run = self.idle_run.saturating_add(1);
        self.idle_run > IDLE_FRAMES && !is_paused
    }

    /// Whether to offer the peer datagrams now. To be called for an idle frame while there are none yet.
    pub fn should_offer(&mut self) -> bool {
        let is_time = self.offer_in == 0;
        if is_time {
            self.offer_in = SECOND_OFFER << self.offers.min(MAX_BACKOFF);
            self.offers += 1;
        }
        is_time
    }

    /// Number of the next frame.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The next frame has gone as a datagram.
    pub fn sent_as_datagram(&mut self, now: Instant) {
        self.outstanding += 1;
        self.leaves(now);
    }

    /// The next frame goes into the stream, behind RESUME with the returned number if there is one. Call
    /// [`SendSequence::retransmit`] before.
    pub fn sent_on_stream(&mut self, now: Instant) -> Option<u32> {
        let number = self.next;
        self.leaves(now);
        self.stream(number, 1)
    }

    fn leaves(&mut self, now: Instant) {
        self.left_at[place_of(self.next)] = now;
        self.next = self.next.wrapping_add(1);
    }

    /// Whether there are datagrams that the peer may still acknowledge in time.
    pub fn awaits_datagram_ack(&self, now: Instant) -> bool {
        let oldest = self.next.wrapping_sub(self.outstanding);
        self.outstanding > 0 && now.since_ns(self.left_at(oldest)) < RETRANSMIT_AFTER_NS
    }

    /// The numbers of the datagrams whose copies must go into the stream now, if there are any; behind RESUME, as for
    /// [`SendSequence::sent_on_stream`].
    pub fn retransmit(&mut self) -> Option<(Option<u32>, impl Iterator<Item = u32> + use<>)> {
        let count = std::mem::take(&mut self.outstanding);
        if count == 0 {
            return None;
        }
        self.back_off();
        let first = self.next.wrapping_sub(count);
        Some((self.stream(first, count), (0..count).map(move |at| first.wrapping_add(at))))
    }

    /// A datagram had to be retransmitted: the pause grows.
    pub fn back_off(&mut self) {
        self.idle_run = 0;
        self.retransmits = (self.retransmits + 1).min(MAX_BACKOFF);
        self.pause = IDLE_FRAMES << self.retransmits;
    }

    /// Frames from `number` on go into the stream.
    fn stream(&mut self, number: u32, count: u32) -> Option<u32> {
        let before = std::mem::replace(&mut self.on_stream, number.wrapping_add(count));
        (before != number).then_some(number)
    }
}

/// Index of a frame in arrays of [`MAX_OUTSTANDING`].
pub fn place_of(number: u32) -> usize {
    number as usize % MAX_OUTSTANDING
}

/// Treatment of a frame that has come as a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// Take it.
    Taken,
    /// Keep it until an earlier frame of the stream has come.
    Early,
    /// Drop it: it has come over the stream, or is coming.
    Late,
}

/// Sequence numbers of received frames: which are taken, and which are duplicates.
#[derive(Clone, Debug, Default)]
pub struct ReceiveSequence {
    /// Number of counted frames received.
    received: u32,
    /// Number of the next counted frame of the stream.
    on_stream: u32,
    /// The frame that is coming on the stream has come as a datagram before, and is dropped.
    is_duplicate: bool,
}

/// The peer resumes its stream with a frame that has never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap;

impl ReceiveSequence {
    /// The stream goes on with frame `number`.
    pub fn resume(&mut self, number: u32) -> Result<(), Gap> {
        self.on_stream = number;
        if is_behind(self.received, number) { Err(Gap) } else { Ok(()) }
    }

    /// A counted frame begins on the stream. Returns whether it is taken.
    pub fn begin_stream_frame(&mut self) -> bool {
        self.is_duplicate = self.on_stream != self.received;
        self.on_stream = self.on_stream.wrapping_add(1);
        !self.is_duplicate
    }

    /// The counted frame of the stream is whole. Returns whether it was taken.
    pub fn end_stream_frame(&mut self) -> bool {
        if !self.is_duplicate {
            self.received = self.received.wrapping_add(1);
        }
        !std::mem::take(&mut self.is_duplicate)
    }

    /// Whether a frame before `number` is missing.
    pub fn is_early(&self, number: u32) -> bool {
        is_behind(self.received, number)
    }

    /// Frame `number` has come as a datagram.
    pub fn accept_datagram(&mut self, number: u32) -> Datagram {
        if self.is_early(number) {
            return Datagram::Early;
        }
        // The frame that is coming on the stream is taken from there.
        if is_behind(number, self.received) || self.on_stream == number.wrapping_add(1) {
            return Datagram::Late;
        }
        self.received = self.received.wrapping_add(1);
        Datagram::Taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const NOW: Instant = Instant(1);

    #[derive(Clone, Copy, Debug)]
    enum OnStream {
        Resume(u32),
        Frame(u64),
        Acknowledgement(u32),
    }

    /// One end, with the streams and datagrams towards it. Frames are their place in the sender's order.
    #[derive(Default)]
    struct End {
        send_sequence: SendSequence,
        receive_sequence: ReceiveSequence,
        sent: u64,
        copies: [u64; MAX_OUTSTANDING],
        stream: VecDeque<OnStream>,
        datagrams: Vec<(u32, u64, u32)>,
        taken: Vec<u64>,
        /// The frame of the stream that has begun.
        begun: Option<(u64, bool)>,
    }

    impl End {
        fn settle(&mut self, peer: &mut End) {
            if let Some((resume, numbers)) = self.send_sequence.retransmit() {
                peer.stream.extend(resume.map(OnStream::Resume));
                peer.stream.extend(numbers.map(|number| OnStream::Frame(self.copies[place_of(number)])));
            }
        }

        fn send(&mut self, peer: &mut End) {
            if self.send_sequence.may_use_datagram() {
                let number = self.send_sequence.next();
                peer.datagrams.push((number, self.sent, self.receive_sequence.received));
                self.send_sequence.sent_as_datagram(NOW);
                self.copies[place_of(number)] = self.sent;
            } else {
                self.settle(peer);
                let resume = self.send_sequence.sent_on_stream(NOW);
                peer.stream.extend(resume.map(OnStream::Resume));
                peer.stream.push_back(OnStream::Frame(self.sent));
            }
            self.sent += 1;
        }

        fn read_stream(&mut self) {
            if let Some((frame, taken)) = self.begun.take() {
                assert_eq!(self.receive_sequence.end_stream_frame(), taken);
                self.taken.extend(taken.then_some(frame));
                return;
            }
            match self.stream.pop_front() {
                None => {}
                Some(OnStream::Resume(number)) => self.receive_sequence.resume(number).unwrap(),
                Some(OnStream::Acknowledgement(acked)) => drop(self.send_sequence.acknowledged(acked, NOW)),
                Some(OnStream::Frame(frame)) => self.begun = Some((frame, self.receive_sequence.begin_stream_frame())),
            }
        }

        fn read_datagram(&mut self, which: usize) {
            if self.datagrams.is_empty() {
                return;
            }
            let (number, frame, acked) = self.datagrams.swap_remove(which % self.datagrams.len());
            match self.receive_sequence.accept_datagram(number) {
                Datagram::Taken => self.taken.push(frame),
                Datagram::Early => return self.datagrams.push((number, frame, acked)),
                Datagram::Late => {}
            }
            self.send_sequence.acknowledged(acked, NOW);
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
                send_sequence: SendSequence { next: first, acked: first, on_stream: first, idle_run: IDLE_FRAMES, ..SendSequence::default() },
                receive_sequence: ReceiveSequence { received: first, on_stream: first, is_duplicate: false },
                ..End::default()
            };
            let (mut a, mut b) = (end(), end());
            for (step, swapped, which) in steps {
                if swapped {
                    std::mem::swap(&mut a, &mut b);
                }
                match step {
                    0..=1 => a.send(&mut b),
                    2 => b.stream.push_back(OnStream::Acknowledgement(a.receive_sequence.received)),
                    3 => a.settle(&mut b),
                    4 if !a.datagrams.is_empty() => drop(a.datagrams.swap_remove(which % a.datagrams.len())),
                    // As after many idle frames.
                    5 => (a.send_sequence.idle_run, a.send_sequence.pause) = (a.send_sequence.idle_run.saturating_add(IDLE_FRAMES), 0),
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
        let mut send_sequence = SendSequence::default();
        for acked in 0..IDLE_FRAMES {
            send_sequence.acknowledged(acked, NOW);
            assert!(!send_sequence.may_use_datagram(), "{acked}");
            assert_eq!(send_sequence.sent_on_stream(NOW), None);
        }
        send_sequence.acknowledged(IDLE_FRAMES, NOW);
        assert!(send_sequence.may_use_datagram());
        send_sequence.sent_as_datagram(NOW);
        assert!(send_sequence.awaits_datagram_ack(NOW));
        assert_eq!(send_sequence.acknowledged(IDLE_FRAMES + 1, NOW), IDLE_FRAMES + 1);
        assert_eq!(send_sequence.acknowledged(IDLE_FRAMES, NOW), IDLE_FRAMES + 1, "old news");
        assert!(!send_sequence.awaits_datagram_ack(NOW));
        // Not acknowledged: the next one follows in the stream, behind the copy.
        assert!(send_sequence.may_use_datagram());
        send_sequence.sent_as_datagram(NOW);
        assert!(send_sequence.may_use_datagram(), "another one may follow");
        send_sequence.sent_as_datagram(NOW);
        assert!(!send_sequence.may_use_datagram());
        let (resume, numbers) = send_sequence.retransmit().unwrap();
        assert_eq!((resume, numbers.collect()), (Some(IDLE_FRAMES + 1), vec![IDLE_FRAMES + 1, IDLE_FRAMES + 2]));
        assert_eq!(send_sequence.sent_on_stream(NOW), None);
        // The copy was needed: now it takes twice as many, of which not all follow each other.
        let mut calm = 0;
        while calm < 2 * IDLE_FRAMES {
            send_sequence.acknowledged(send_sequence.next(), NOW);
            calm += 1;
            assert!(!send_sequence.may_use_datagram(), "{calm}");
            send_sequence.sent_on_stream(NOW);
            if calm == IDLE_FRAMES {
                send_sequence.sent_on_stream(NOW);
                assert!(!send_sequence.may_use_datagram());
                send_sequence.sent_on_stream(NOW);
            }
        }
        send_sequence.acknowledged(send_sequence.next(), NOW);
        assert!(send_sequence.may_use_datagram());
    }

    #[test]
    fn so_they_are_where_both_sides_send_at_once() {
        let mut send_sequence = SendSequence::default();
        for sent in 0..=IDLE_FRAMES {
            // What comes was sent before the peer had our last frame.
            send_sequence.acknowledged(sent.saturating_sub(1), NOW);
            assert_eq!(send_sequence.may_use_datagram(), sent == IDLE_FRAMES, "{sent}");
            send_sequence.sent_on_stream(NOW);
        }
        let mut receive_sequence = ReceiveSequence::default();
        assert_eq!(receive_sequence.accept_datagram(1), Datagram::Early, "it has overtaken the stream");
        assert!(receive_sequence.begin_stream_frame() && receive_sequence.end_stream_frame());
        assert_eq!([1, 1].map(|number| receive_sequence.accept_datagram(number)), [Datagram::Taken, Datagram::Late]);
    }

    #[test]
    fn offers_become_rare() {
        let mut send_sequence = SendSequence::default();
        let mut offers = Vec::new();
        for calm in 0..10 * SECOND_OFFER {
            send_sequence.acknowledged(send_sequence.next(), NOW);
            if send_sequence.may_use_datagram() && send_sequence.should_offer() {
                offers.push(calm - IDLE_FRAMES);
            }
            send_sequence.sent_on_stream(NOW);
        }
        assert_eq!(offers, [0, SECOND_OFFER, 3 * SECOND_OFFER, 7 * SECOND_OFFER]);
    }

    #[test]
    fn a_stream_cannot_leave_frames_out() {
        let mut receive_sequence = ReceiveSequence::default();
        assert_eq!(receive_sequence.resume(1), Err(Gap));
        assert!(ReceiveSequence { received: 5, ..ReceiveSequence::default() }.resume(3).is_ok());
    }

    #[test]
    fn a_peer_that_answers_later_than_a_datagram_is_retransmitted_gets_none() {
        let mut sequence = SendSequence::default();
        let mut at = Instant(1);
        let mut turn = |sequence: &mut SendSequence, answer_ns: u64| {
            let may_use_datagram = sequence.may_use_datagram();
            sequence.sent_on_stream(at);
            at = at.plus_ns(answer_ns);
            sequence.acknowledged(sequence.next(), at);
            may_use_datagram
        };
        assert!((0..100).all(|_| !turn(&mut sequence, RETRANSMIT_AFTER_NS)));
        assert!((0..IDLE_FRAMES).all(|_| !turn(&mut sequence, RETRANSMIT_AFTER_NS - 1)));
        assert!(turn(&mut sequence, RETRANSMIT_AFTER_NS - 1));
    }
}
