//! A link over a provider whose peer sends any records: what looks like one, and what does not.

use fishplate_engine::wire::Header;
use fishplate_rails_ofi::hostile::{Ended, Kind, MAX_PAYLOAD, PREAMBLE, RemotePiece, Victim, Wanted};

use crate::headers;
use crate::support::rng::Rng;

/// How inputs end.
pub const ENDS: &[&str] =
    &["all in order", "out of order", "no such record", "wrong length", "wrong header", "never sent", "unreadable"];

/// Steps of one input.
const TURNS: u64 = 40;
const KINDS: [Kind; 6] = [Kind::Hello, Kind::Welcome, Kind::Credit, Kind::Frame, Kind::Rest, Kind::Lent];

/// One link's life, as `bytes` choose.
pub fn run(bytes: &[u8]) -> &'static str {
    let mut rng = Rng::over(bytes);
    let mut peer = Peer { victim: Victim::new(), number: 0, missing: 0 };
    for _ in 0..rng.range(1, TURNS) {
        for _ in 0..rng.range(1, 4) {
            let record = peer.record(&mut rng);
            peer.victim.send(&record);
        }
        let wants = |_: &Header| match rng.below(4) {
            0 | 1 => Wanted::Memory(rng.below(70_000) as u32),
            2 => Wanted::Copy,
            _ => Wanted::Nowhere,
        };
        if let Some(ended) = peer.victim.turn(wants) {
            peer.victim.check();
            return match ended {
                Ended::Broken => "unreadable",
                Ended::Protocol(how) => match how.as_str() {
                    "records are out of order" => "out of order",
                    "a record where none may be" => "no such record",
                    "it acknowledges frames that were not sent" => "never sent",
                    how if how.starts_with("a record of ") => "wrong length",
                    _ => "wrong header",
                },
            };
        }
    }
    peer.victim.check();
    "all in order"
}

struct Peer {
    victim: Victim,
    /// Of the next record that is numbered.
    number: u32,
    /// Bytes of a payload that have to follow.
    missing: usize,
}

impl Peer {
    /// The next record: mostly one that fits what was sent before.
    fn record(&mut self, rng: &mut Rng) -> Vec<u8> {
        let kind = match rng.below(10) {
            0 => *rng.pick(&KINDS),
            _ if self.missing > 0 => Kind::Rest,
            _ => *rng.pick(&[Kind::Frame, Kind::Frame, Kind::Lent, Kind::Credit]),
        };
        let taken = if rng.percent(98) { 0 } else { rng.next() as u32 };
        let number = if rng.percent(97) { self.number } else { self.number.wrapping_add(rng.below(80) as u32) };
        let rest = match kind {
            Kind::Hello | Kind::Welcome | Kind::Credit => Vec::new(),
            Kind::Rest => self.rest(rng),
            Kind::Frame => self.frame(rng),
            Kind::Lent => self.lent(rng),
        };
        self.number = self.number.wrapping_add(u32::from(matches!(kind, Kind::Frame | Kind::Rest | Kind::Lent)));
        let fetched = if rng.percent(98) { 0 } else { rng.below(3) as u32 };
        let mut record = self.victim.record(kind, (number, taken, fetched), &rest);
        if rng.percent(5) {
            let at = rng.below(record.len() as u64) as usize;
            record[at] ^= 1 << rng.below(8);
        }
        if rng.percent(3) {
            record.truncate(rng.below(PREAMBLE as u64 + 40) as usize);
        }
        record
    }

    fn frame(&mut self, rng: &mut Rng) -> Vec<u8> {
        let len = *rng.pick(&[0, 1, 12, 1000, MAX_PAYLOAD as u32, 20_000, 70_000]);
        let len = if rng.percent(98) { len } else { u32::MAX };
        let fits = (len as usize).min(MAX_PAYLOAD);
        let there = if rng.percent(96) { fits } else { rng.below(MAX_PAYLOAD as u64) as usize };
        self.missing = (len as usize).saturating_sub(there);
        let mut header = headers::eager(0, len);
        if rng.percent(3) {
            let at = rng.below(header.len() as u64) as usize;
            header[at] = rng.below(256) as u8;
        }
        [header, vec![5; there]].concat()
    }

    /// More of a payload: what has to follow, or something else.
    fn rest(&mut self, rng: &mut Rng) -> Vec<u8> {
        let len = if rng.percent(95) { self.missing.min(MAX_PAYLOAD) } else { rng.below(MAX_PAYLOAD as u64) as usize };
        self.missing = self.missing.saturating_sub(len);
        vec![3; len]
    }

    /// A frame that is lent: memory that there is, or is not.
    fn lent(&mut self, rng: &mut Rng) -> Vec<u8> {
        let mut pieces = Vec::new();
        for _ in 0..rng.range(1, 4) {
            let len = *rng.pick(&[1, 100, 20_000]);
            let mut piece = self.victim.lend(vec![9; len].into_boxed_slice());
            if rng.percent(3) {
                piece = RemotePiece { key: rng.next(), ..piece };
            }
            if rng.percent(3) {
                piece = RemotePiece { address: rng.next(), ..piece };
            }
            if rng.percent(3) {
                piece = RemotePiece { len: rng.next() >> rng.below(64), ..piece };
            }
            pieces.push(piece);
        }
        let len: u64 = pieces.iter().fold(0, |sum, piece| sum.wrapping_add(piece.len));
        let len = if rng.percent(95) { len as u32 } else { rng.next() as u32 };
        let list: Vec<u8> = pieces.iter().flat_map(RemotePiece::encode).collect();
        [headers::eager(0, len), list].concat()
    }
}
