//! The sending half of a link.

use std::collections::VecDeque;

use fishplate_engine::wire::MAX_HEADER_LEN;
use fishplate_engine::{Payload, Source, Transmit};
use fishplate_link_core::{Held, Places, WaitingFrame, overlaps};

use crate::record::{Kind, LinkKey, MAX_PAYLOAD, MAX_PIECES, PIECE, PREAMBLE, Preamble, RemotePiece};
use crate::sys::{LentPiece, PeerAddress, Provider};
use crate::transport::{Transport, memory_hint};

/// Unacknowledged numbered records, at most: the receiver has this number of buffers for them for each link.
pub const CREDITS: u32 = 32;
/// Further buffers of a link: for greetings, and for records that only acknowledge, each of which needs a record of this side.
pub const BARE: usize = 24;
/// Unacknowledged loans, at most. Mostly the engine limits them; this bounds the bytes that are bound to a rail.
const MAX_LOANS: usize = 16;
/// Payloads up to this length, in bytes, are copied into a record.
const MAX_COPIED: u64 = MAX_PAYLOAD as u64;

/// The peer has acknowledged records that were not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverSent;

/// Acknowledgements of the peer's records, which every record carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acks {
    /// Numbered records handled, modulo 2^32.
    pub taken: u32,
    /// Loans read, modulo 2^32.
    pub fetched: u32,
}

/// State of the sending half.
pub struct Sender<P: Provider> {
    pub peer: PeerAddress,
    /// Key of the peer's link.
    key: LinkKey,
    /// Numbered records so far, modulo 2^32.
    next: u32,
    /// Numbered records that the peer has acknowledged.
    taken: u32,
    /// Loans that the peer has acknowledged.
    fetched: u32,
    /// Unacknowledged loans, in order.
    loans: VecDeque<Loan<P>>,
    /// Queued frames, in order; a part of the first may have been sent.
    waiting: VecDeque<WaitingFrame>,
    /// The last acknowledgements sent.
    acks: Acks,
    /// Tag of this link's sends in completions.
    tag: u64,
    /// Memory cannot be registered; the user was warned.
    cannot_lend: bool,
}

struct Loan<P: Provider> {
    payload: Payload,
    /// Their registrations, which end with the loan.
    _pieces: Vec<LentPiece<P::Registration>>,
}

impl<P: Provider> Sender<P> {
    pub fn new(peer: PeerAddress, key: LinkKey, tag: u64) -> Sender<P> {
        Sender {
            peer,
            key,
            next: 0,
            taken: 0,
            fetched: 0,
            loans: VecDeque::new(),
            waiting: VecDeque::new(),
            acks: Acks::default(),
            tag,
            cannot_lend: false,
        }
    }

    /// Whether a further frame would be queued.
    pub fn is_blocked(&self) -> bool {
        !self.waiting.is_empty() || self.loans.len() >= MAX_LOANS
    }

    /// Whether no frame is queued.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the peer may still read `payload`.
    pub fn has_lent(&self, payload: &Payload) -> bool {
        self.loans.iter().any(|loan| overlaps(&loan.payload, payload))
    }

    /// Sends a frame, or queues it.
    pub fn push(&mut self, outgoing: &Transmit, transport: &mut Transport<P>, acks: Acks, places: Places<'_>) {
        let Transmit { header, source, copy, .. } = outgoing;
        let mut frame =
            WaitingFrame { header: *header, payload: Held::Where(source.clone()), may_lend: !copy, done: 0 };
        if self.waiting.is_empty() && self.write(&mut frame, transport, acks, places) {
            return;
        }
        if *copy {
            frame.payload = frame.payload.content().copied(places);
        }
        self.waiting.push_back(frame);
    }

    /// Sends queued frames as far as possible.
    pub fn flush(&mut self, transport: &mut Transport<P>, acks: Acks, places: Places<'_>) {
        while let Some(mut frame) = self.waiting.pop_front() {
            if !self.write(&mut frame, transport, acks, places) {
                self.waiting.push_front(frame);
                return;
            }
        }
    }

    /// The peer has acknowledged records and loans.
    pub fn handle_acks(&mut self, acks: Acks) -> Result<(), NeverSent> {
        // A late record may have older acknowledgements.
        let news = |acks: u32, known: u32| Some(acks.wrapping_sub(known)).filter(|news| *news <= u32::MAX / 2);
        let taken = news(acks.taken, self.taken).unwrap_or(0);
        let loans = news(acks.fetched, self.fetched).unwrap_or(0);
        if taken > self.next.wrapping_sub(self.taken) || loans as usize > self.loans.len() {
            return Err(NeverSent);
        }
        (self.taken, self.fetched) = (self.taken.wrapping_add(taken), self.fetched.wrapping_add(loans));
        self.loans.drain(..loans as usize);
        Ok(())
    }

    /// Sends a record with acknowledgements only, if the peer needs them soon. False if it could not be sent.
    pub fn send_acks(&mut self, transport: &mut Transport<P>, acks: Acks) -> bool {
        let is_due = acks.fetched != self.acks.fetched || acks.taken.wrapping_sub(self.acks.taken) >= CREDITS / 2;
        !is_due || self.send(&self.preamble(Kind::Credit, acks).encode(), transport, acks)
    }

    /// Sends a greeting, with a completion, so that the link fails if it cannot arrive. False if it could not be sent now.
    pub fn greet(&mut self, kind: Kind, own: u32, transport: &mut Transport<P>) -> bool {
        let record = Preamble { fetched: own, ..self.preamble(kind, Acks::default()) }.encode();
        transport.send_bytes_surely(&record, self.peer, self.tag)
    }

    /// Copies queued bytes in the memory `ended`, which becomes invalid. False if the peer may still read there.
    pub fn detach(&mut self, ended: &Payload, places: Places<'_>) -> bool {
        self.waiting.iter_mut().for_each(|frame| frame.detach(ended, places));
        !self.has_lent(ended)
    }

    fn preamble(&self, kind: Kind, acks: Acks) -> Preamble {
        let LinkKey { link, secret } = self.key;
        Preamble { link, secret, number: self.next, taken: acks.taken, fetched: acks.fetched, kind }
    }

    /// Sends a frame, or a further part of it. True once all of it is sent.
    fn write(
        &mut self,
        frame: &mut WaitingFrame,
        transport: &mut Transport<P>,
        acks: Acks,
        places: Places<'_>,
    ) -> bool {
        let len = frame.payload.content().payload_len();
        // A payload that is read remotely has no checksum.
        let may_lend = frame.may_lend && !self.cannot_lend && !transport.is_checked;
        if len > MAX_COPIED && frame.done == 0 && may_lend {
            if self.loans.len() >= MAX_LOANS || !self.has_credit() {
                return false;
            }
            match self.write_lent(frame, transport, acks, places) {
                Some(has_gone) => return has_gone,
                None => frame.may_lend = false,
            }
        }
        loop {
            if !self.has_credit() {
                return false;
            }
            let part = (len - frame.done).min(MAX_COPIED) as usize;
            let kind = if frame.done > 0 { Kind::Rest } else { Kind::Frame };
            let Some(mut buffer) = transport.take_buffer() else { return false };
            let bytes = buffer.bytes_mut();
            bytes[..PREAMBLE].copy_from_slice(&self.preamble(kind, acks).encode());
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
            (self.next, self.acks) = (self.next.wrapping_add(1), acks);
            frame.done += part as u64;
            if frame.done >= len {
                return true;
            }
        }
    }

    /// Sends a frame whose payload is lent. `None`: it cannot be lent. False: it could not be sent now.
    fn write_lent(
        &mut self,
        frame: &WaitingFrame,
        transport: &mut Transport<P>,
        acks: Acks,
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
        record[..PREAMBLE].copy_from_slice(&self.preamble(Kind::Lent, acks).encode());
        let mut header = [0; MAX_HEADER_LEN];
        let header_len = frame.header.encode(&mut header);
        record[PREAMBLE..PREAMBLE + header_len].copy_from_slice(&header[..header_len]);
        let mut at = PREAMBLE + header_len;
        for LentPiece { address, key, len, .. } in &pieces {
            let piece = RemotePiece { address: *address, key: *key, len: *len };
            record[at..at + PIECE].copy_from_slice(&piece.encode());
            at += PIECE;
        }
        if !self.send(&record[..at], transport, acks) {
            return Some(false);
        }
        self.next = self.next.wrapping_add(1);
        self.loans.push_back(Loan { payload: payload.clone(), _pieces: pieces });
        Some(true)
    }

    /// Sends a short record. False if it could not be sent now.
    fn send(&mut self, record: &[u8], transport: &mut Transport<P>, acks: Acks) -> bool {
        let has_gone = transport.send_bytes(record, self.peer, self.tag);
        if has_gone {
            self.acks = acks;
        }
        has_gone
    }

    fn has_credit(&self) -> bool {
        self.next.wrapping_sub(self.taken) < CREDITS
    }
}
