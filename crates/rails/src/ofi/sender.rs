//! The sending half of a link.

use std::collections::VecDeque;

use fishplate_engine::wire::MAX_HEADER_LEN;
use fishplate_engine::{Payload, Source, Transmit};

use super::record::{Kind, LinkKey, MAX_PIECES, MOST_PAYLOAD, PIECE, PREAMBLE, Preamble, RemotePiece};
use super::transport::{Transport, memory_hint};
use crate::link_kind::Places;
use crate::sys::memory::overlaps;
use crate::sys::ofi::{LentPiece, PeerAddress, Provider};
use crate::waiting_frame::{Held, WaitingFrame};

/// Numbered records that are not known to be taken, at most: the receiver has so many buffers for a link.
pub const CREDITS: u32 = 32;
/// Buffers of a link beside those for numbered records: for greetings, and for what tells of records that were taken, of which
/// each needs one that was sent.
pub const BARE: usize = 24;
/// Loans that are not known to be read, at most. How many are under way is mostly the engine's to say; but they bind bytes to a rail
/// before it can take them.
const MOST_LOANS: usize = 16;
/// Payloads up to this many bytes are copied into a record.
const MOST_COPIED: u64 = MOST_PAYLOAD as u64;

/// The peer says that it has taken what was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverSent;

/// What this side has taken of the peer's records, which goes with every record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Numbered records.
    pub taken: u32,
    /// Loans that were read.
    pub fetched: u32,
}

/// State of the sending half.
pub struct Sender<P: Provider> {
    /// Where it sends to.
    pub peer: PeerAddress,
    /// What records begin with.
    key: LinkKey,
    /// Numbered records so far, modulo 2^32.
    next: u32,
    /// How many of them the peer has taken.
    taken: u32,
    /// How many loans the peer has read.
    fetched: u32,
    /// The others, in order.
    loans: VecDeque<Loan<P>>,
    /// Frames that could not go yet, in order; the first perhaps in part.
    waiting: VecDeque<WaitingFrame>,
    /// What the peer was told last.
    told: Told,
    /// How sends of this link come back.
    tag: u64,
    /// Memory cannot be registered, and the user knows why.
    cannot_lend: bool,
}

struct Loan<P: Provider> {
    payload: Payload,
    /// Until it ends.
    _pieces: Vec<LentPiece<P::Registration>>,
}

impl<P: Provider> Sender<P> {
    /// Nothing was sent yet.
    pub fn new(peer: PeerAddress, key: LinkKey, tag: u64) -> Sender<P> {
        Sender {
            peer,
            key,
            next: 0,
            taken: 0,
            fetched: 0,
            loans: VecDeque::new(),
            waiting: VecDeque::new(),
            told: Told::default(),
            tag,
            cannot_lend: false,
        }
    }

    /// Whether frames wait, or would.
    pub fn is_blocked(&self) -> bool {
        !self.waiting.is_empty() || self.loans.len() >= MOST_LOANS
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the peer may read of `payload`.
    pub fn has_lent(&self, payload: &Payload) -> bool {
        self.loans.iter().any(|loan| overlaps(&loan.payload, payload))
    }

    /// Sends a frame, or keeps it until it can go.
    pub fn push(&mut self, outgoing: &Transmit, transport: &mut Transport<P>, told: Told, places: Places<'_>) {
        let Transmit { header, source, copy, .. } = outgoing;
        let mut frame =
            WaitingFrame { header: *header, payload: Held::Where(source.clone()), may_lend: !copy, done: 0 };
        if self.waiting.is_empty() && self.write(&mut frame, transport, told, places) {
            return;
        }
        if *copy {
            frame.payload = frame.payload.content().copied(places);
        }
        self.waiting.push_back(frame);
    }

    /// Sends what waits and can go.
    pub fn flush(&mut self, transport: &mut Transport<P>, told: Told, places: Places<'_>) {
        while let Some(mut frame) = self.waiting.pop_front() {
            if !self.write(&mut frame, transport, told, places) {
                self.waiting.push_front(frame);
                return;
            }
        }
    }

    /// The peer has told what it has taken.
    pub fn heard(&mut self, told: Told) -> Result<(), NeverSent> {
        // A record that comes late may say less than what was heard.
        let news = |told: u32, known: u32| Some(told.wrapping_sub(known)).filter(|news| *news <= u32::MAX / 2);
        let taken = news(told.taken, self.taken).unwrap_or(0);
        let loans = news(told.fetched, self.fetched).unwrap_or(0);
        if taken > self.next.wrapping_sub(self.taken) || loans as usize > self.loans.len() {
            return Err(NeverSent);
        }
        (self.taken, self.fetched) = (self.taken.wrapping_add(taken), self.fetched.wrapping_add(loans));
        self.loans.drain(..loans as usize);
        Ok(())
    }

    /// Tells the peer what was taken, if it would otherwise not hear of it in time. False: that could not be sent.
    pub fn tell(&mut self, transport: &mut Transport<P>, told: Told) -> bool {
        let is_due = told.fetched != self.told.fetched || told.taken.wrapping_sub(self.told.taken) >= CREDITS / 2;
        !is_due || self.send(&self.preamble(Kind::Credit, told).encode(), transport, told)
    }

    /// Sends a greeting, of which it is known if it cannot arrive: the link fails then, and is set up anew. False: not now.
    pub fn greet(&mut self, kind: Kind, own: u32, transport: &mut Transport<P>) -> bool {
        let record = Preamble { fetched: own, ..self.preamble(kind, Told::default()) }.encode();
        transport.send_bytes_surely(&record, self.peer, self.tag)
    }

    /// `ended` is not there any more once this returns. False if the peer may still read of it.
    pub fn detach(&mut self, ended: &Payload, places: Places<'_>) -> bool {
        self.waiting.iter_mut().for_each(|frame| frame.detach(ended, places));
        !self.has_lent(ended)
    }

    fn preamble(&self, kind: Kind, told: Told) -> Preamble {
        let LinkKey { link, secret } = self.key;
        Preamble { link, secret, number: self.next, taken: told.taken, fetched: told.fetched, kind }
    }

    /// Sends a frame, or more of it. True once all of it has gone.
    fn write(
        &mut self,
        frame: &mut WaitingFrame,
        transport: &mut Transport<P>,
        told: Told,
        places: Places<'_>,
    ) -> bool {
        let len = frame.payload.content().len();
        // What is read out of memory has no checksum.
        let may_lend = frame.may_lend && !self.cannot_lend && !transport.is_checked;
        if len > MOST_COPIED && frame.done == 0 && may_lend {
            if self.loans.len() >= MOST_LOANS || !self.has_credit() {
                return false;
            }
            match self.write_lent(frame, transport, told, places) {
                Some(has_gone) => return has_gone,
                None => frame.may_lend = false,
            }
        }
        loop {
            if !self.has_credit() {
                return false;
            }
            let part = (len - frame.done).min(MOST_COPIED) as usize;
            let kind = if frame.done > 0 { Kind::Rest } else { Kind::Frame };
            let Some(mut buffer) = transport.take_buffer() else { return false };
            let bytes = buffer.bytes_mut();
            bytes[..PREAMBLE].copy_from_slice(&self.preamble(kind, told).encode());
            let mut at = PREAMBLE;
            if frame.done == 0 {
                let mut header = [0; MAX_HEADER_LEN];
                let header_len = frame.header.encode(&mut header);
                bytes[at..at + header_len].copy_from_slice(&header[..header_len]);
                at += header_len;
            }
            frame.payload.content().for_each(frame.done, part, places, |piece| {
                bytes[at..at + piece.len()].copy_from_slice(piece);
                at += piece.len();
            });
            if !transport.send(buffer, at, self.peer, self.tag) {
                return false;
            }
            (self.next, self.told) = (self.next.wrapping_add(1), told);
            frame.done += part as u64;
            if frame.done >= len {
                return true;
            }
        }
    }

    /// Sends a frame whose payload stays where it is. `None`: it cannot be lent. False: not now.
    fn write_lent(
        &mut self,
        frame: &WaitingFrame,
        transport: &mut Transport<P>,
        told: Told,
        places: Places<'_>,
    ) -> Option<bool> {
        let Held::Where(Source::User(payload)) = &frame.payload else { return None };
        if payload.extents().len() > MAX_PIECES {
            return None;
        }
        let pieces = match transport.port.lend(places.memory, payload) {
            Ok(pieces) => pieces,
            Err(error) => {
                log::warn!(
                    "rail {}: memory cannot be registered, so long messages are copied: {error}{}",
                    transport.name,
                    memory_hint(&error)
                );
                self.cannot_lend = true;
                return None;
            }
        };
        let mut record = [0; PREAMBLE + MAX_HEADER_LEN + MAX_PIECES * PIECE];
        record[..PREAMBLE].copy_from_slice(&self.preamble(Kind::Lent, told).encode());
        let mut header = [0; MAX_HEADER_LEN];
        let header_len = frame.header.encode(&mut header);
        record[PREAMBLE..PREAMBLE + header_len].copy_from_slice(&header[..header_len]);
        let mut at = PREAMBLE + header_len;
        for LentPiece { address, key, len, .. } in &pieces {
            let piece = RemotePiece { address: *address, key: *key, len: *len };
            record[at..at + PIECE].copy_from_slice(&piece.encode());
            at += PIECE;
        }
        if !self.send(&record[..at], transport, told) {
            return Some(false);
        }
        self.next = self.next.wrapping_add(1);
        self.loans.push_back(Loan { payload: payload.clone(), _pieces: pieces });
        Some(true)
    }

    /// Sends a short record. False: not now.
    fn send(&mut self, record: &[u8], transport: &mut Transport<P>, told: Told) -> bool {
        let has_gone = transport.send_bytes(record, self.peer, self.tag);
        if has_gone {
            self.told = told;
        }
        has_gone
    }

    fn has_credit(&self) -> bool {
        self.next.wrapping_sub(self.taken) < CREDITS
    }
}
