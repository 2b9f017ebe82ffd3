//! A link in shared memory, into which a bad peer writes between any two steps of either end.

use fishplate_rails_shm::direction::{Direction, Ended, MAX_RECEIVED_LEN, RECEIVER, SENDER};
use fishplate_rails_shm::layout::{BYTES, IN_SLOT, LEN, MAX_PAYLOAD, SLOTS, Word, describe, tag};
use fishplate_rails_shm::{BadRecord, kind};

use crate::headers;
use crate::support::rng::Rng;

/// How inputs end.
pub const ENDS: &[&str] = &[
    "all in order",
    "spoilt and not noticed",
    "no such record",
    "wrong length",
    "wrong header",
    "never sent",
    "unreadable",
    "too long",
];

/// Steps of one input.
const TURNS: u64 = 40;

/// What one input has done.
struct Run {
    link: Direction,
    /// Frames that were sent: the length of each, and the seed of its contents.
    sent: Vec<(usize, u8)>,
    taken: usize,
    acknowledged: usize,
    /// A bad peer has written something.
    is_spoilt: bool,
}

/// One link's life, as `bytes` choose.
pub fn run(bytes: &[u8]) -> &'static str {
    let mut rng = Rng::over(bytes);
    let is_bad = rng.percent(85);
    let link = Direction::new(rng.percent(50));
    let mut run = Run { link, sent: Vec::new(), taken: 0, acknowledged: 0, is_spoilt: false };
    for _ in 0..rng.range(4, TURNS) {
        let ended = match rng.below(10) {
            0..4 => {
                run.push(&mut rng);
                None
            }
            4 | 5 if is_bad => {
                run.spoil(&mut rng);
                None
            }
            4..8 => run.take(),
            _ => run.look(&mut rng),
        };
        if let Some(end) = ended {
            run.recover();
            return end;
        }
    }
    run.finish()
}

impl Run {
    fn push(&mut self, rng: &mut Rng) {
        let len = match rng.below(16) {
            0..10 => rng.below(100),
            10..15 => rng.below(MAX_PAYLOAD as u64 + 100),
            _ => rng.below(u64::from(MAX_RECEIVED_LEN)),
        } as usize;
        let (seed, seq) = (rng.below(256) as u8, self.sent.len() as u32);
        let payload = self.link.push(seq, &contents(len, seed), rng.percent(30));
        self.sent.push((len, seed));
        // What is lent is known until it was taken.
        if rng.percent(5) && !self.link.detach(&payload) {
            assert!(self.link.sender.has_untaken(), "what was taken is lent");
        }
    }

    /// The peer writes: what looks like a record, a word, anything anywhere.
    fn spoil(&mut self, rng: &mut Rng) {
        self.is_spoilt = true;
        let words = [Word::Taken, Word::Sleep, Word::Closed, Word::Reads, Word::Address];
        match rng.below(8) {
            0 => {
                let taken = self.link.word(RECEIVER.word(Word::Taken)).wrapping_add(rng.below(4) as u32);
                self.link.spoil(RECEIVER.word(Word::Taken), &taken.to_le_bytes());
            }
            1 => {
                let side = *rng.pick(&[SENDER, RECEIVER]);
                self.link.spoil(side.word(*rng.pick(&words)), &number(rng).to_le_bytes()[..4]);
            }
            2 => {
                let (at, number) = (rng.below(LEN as u64) as usize, number(rng));
                self.link.spoil(at, &number.to_le_bytes());
            }
            3 => self.forge(rng),
            4 => self.link.spoil(SENDER.bytes() + rng.below(BYTES as u64) as usize, &[0xff; 100]),
            // What a record says of itself.
            5 => {
                let len = rng.below((MAX_PAYLOAD + 200) as u64) as usize;
                self.link.spoil(self.slot(rng) + 4, &describe(rng.below(5) as u32, len).to_le_bytes());
            }
            // Its header, or addresses of what is lent.
            _ => {
                let at = self.slot(rng) + 8 + rng.below(IN_SLOT as u64) as usize;
                let len = rng.range(1, 9) as usize;
                let number = number(rng);
                self.link.spoil(at, &number.to_le_bytes()[..len]);
            }
        }
    }

    /// A whole record, of a kind, a length and with a header that may fit each other.
    fn forge(&mut self, rng: &mut Rng) {
        let number = rng.below(self.sent.len() as u64 + 2) as u32;
        let slot = SENDER.slot(number);
        let kind = *rng.pick(&[kind::FRAME, kind::FRAME, kind::LENT, kind::REST]);
        let len = *rng.pick(&[0, 1, 12, 56, 212, 4096, MAX_PAYLOAD as u32, MAX_RECEIVED_LEN, u32::MAX]);
        let header = headers::eager(number, len);
        self.link.spoil(slot + 8, &header);
        let record_len = header.len() + *rng.pick(&[0, 1, 8, 12, 16, 56, 256, MAX_PAYLOAD]);
        self.link.spoil(slot + 4, &describe(kind, record_len).to_le_bytes());
        self.link.spoil(slot, &tag(number).to_le_bytes());
    }

    /// One of the slots that are in use.
    fn slot(&self, rng: &mut Rng) -> usize {
        SENDER.slot(rng.below(self.sent.len() as u64 + 2) as u32)
    }

    fn take(&mut self) -> Option<&'static str> {
        for _ in 0..=SLOTS {
            match self.link.take() {
                Ok(None) => {
                    self.link.receiver.publish();
                    return None;
                }
                Ok(Some((seq, bytes))) => {
                    assert!(bytes.len() <= MAX_RECEIVED_LEN as usize, "a payload that nobody has room for");
                    if !self.is_spoilt {
                        let (len, seed) = self.sent[self.taken];
                        assert!(seq as usize == self.taken && bytes == contents(len, seed), "a frame arrives changed");
                    }
                    self.taken += 1;
                }
                Err(ended) => {
                    assert!(self.is_spoilt, "an honest peer is refused: {ended:?}");
                    return Some(match ended {
                        Ended::Bad(BadRecord::Kind(_)) => "no such record",
                        Ended::Bad(BadRecord::Length(_)) => "wrong length",
                        Ended::Bad(BadRecord::Header(_) | BadRecord::Protocol(_)) => "wrong header",
                        Ended::Unreadable => "unreadable",
                        Ended::TooLong => "too long",
                    });
                }
            }
        }
        panic!("more frames than there can be");
    }

    fn look(&mut self, rng: &mut Rng) -> Option<&'static str> {
        self.link.sender.must_ring(rng.percent(50));
        match self.link.flush() {
            Ok(None) => None,
            Ok(Some(frames)) => {
                let frames = frames as usize;
                assert!(frames >= self.acknowledged && frames <= self.sent.len(), "of what was not sent");
                assert!(self.is_spoilt || frames <= self.taken, "what was not taken is acknowledged");
                self.acknowledged = frames;
                None
            }
            Err(_) => {
                assert!(self.is_spoilt, "an honest peer is refused");
                Some("never sent")
            }
        }
    }

    /// The link has failed: what was not taken is copied out.
    fn recover(&self) {
        for frame in self.acknowledged..self.sent.len() {
            let (len, mut into) = (self.sent[frame].0.min(MAX_PAYLOAD), Vec::new());
            self.link.sender.recover(frame as u32 + 1, len as u64, &mut into);
            assert_eq!(into.len(), len, "another length is recovered than was sent");
        }
    }

    /// Everything arrives, unless it was spoilt.
    fn finish(mut self) -> &'static str {
        for _ in 0..=self.sent.len() * (MAX_RECEIVED_LEN as usize / MAX_PAYLOAD) {
            if let Some(end) = self.take().or_else(|| self.look(&mut Rng::over(&[]))) {
                self.recover();
                return end;
            }
        }
        if self.is_spoilt {
            return "spoilt and not noticed";
        }
        assert_eq!((self.taken, self.acknowledged), (self.sent.len(), self.sent.len()), "something does not arrive");
        assert!(!self.link.sender.is_blocked() && !self.link.sender.has_untaken());
        "all in order"
    }
}

/// Numbers at the ends of their ranges, small ones, and any.
fn number(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => u64::MAX,
        1 => rng.below(600),
        2 => 1 << rng.below(64),
        _ => rng.next(),
    }
}

fn contents(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ seed).collect()
}
