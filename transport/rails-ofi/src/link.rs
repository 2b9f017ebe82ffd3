//! One link: two endpoints that have authenticated each other.

use std::collections::VecDeque;

use crate::receiver::{BadRecord, Frame, Receiver};
use crate::record::{Kind, LinkKey, PREAMBLE, Preamble};
use crate::sender::{Acks, BARE, CREDITS, Sender};
use crate::sys::{Buffer, PeerAddress, Provider};

/// A link, or one that is being set up.
pub struct Link<P: Provider> {
    /// This side's number of it.
    pub id: u32,
    /// Secret that every record to this side has to carry.
    pub secret: u64,
    /// The peer's address, or the connection to it.
    pub peer: Option<PeerAddress>,
    /// Records can be sent to the peer.
    pub is_connected: bool,
    /// The peer's number of the link, and its secret.
    pub theirs: Option<LinkKey>,
    /// `Some` once `peer` and `theirs` are known.
    pub sender: Option<Sender<P>>,
    pub receiver: Receiver,
    /// The greeting that is still to be sent.
    pub greeting: Greeting,
    /// The peer's number of the end whose greeting came last; it knows the secret.
    pub heard_from: Option<u32>,
    /// The end that the peer has described has greeted: it may send frames.
    pub is_paired: bool,
    /// The peer's number of the end that has received this side's greeting.
    pub welcomed_by: Option<u32>,
    /// It is up, and the endpoint knows.
    pub is_up: bool,
    /// Received records, which may be out of order.
    pub records: VecDeque<(Preamble, Buffer, usize)>,
    /// Number of numbered records received, modulo 2^32.
    pub taken: u32,
    /// A frame whose placement is awaited, and the record with its payload, if the payload is in one.
    pub current: Option<(Frame, Option<(Buffer, usize)>)>,
    /// It was blocked, and may be free again.
    pub was_blocked: bool,
    /// Its connection has ended: it fails once received records are handled.
    pub end: Option<Failure>,
    /// Why it has failed.
    pub failure: Option<Failure>,
    /// It is in the rail's list of links with news.
    pub is_listed: bool,
}

/// The greeting that is still to be sent to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// None yet, or none any more.
    Nothing,
    /// This side knows the peer's address.
    Hello,
    /// The peer's hello has come.
    Welcome,
}

/// Why a link has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// For this reason.
    Broken(String),
    /// A record had a wrong checksum.
    Changed,
    /// The peer has violated the protocol.
    Protocol(String),
}

impl<P: Provider> Link<P> {
    /// A link that is offered to a peer.
    pub fn new(id: u32, secret: u64) -> Link<P> {
        Link {
            id,
            secret,
            peer: None,
            is_connected: false,
            theirs: None,
            sender: None,
            receiver: Receiver::default(),
            greeting: Greeting::Nothing,
            heard_from: None,
            is_paired: false,
            welcomed_by: None,
            is_up: false,
            records: VecDeque::new(),
            taken: 0,
            current: None,
            was_blocked: false,
            end: None,
            failure: None,
            is_listed: false,
        }
    }

    /// The acknowledgements for the peer.
    pub fn acks(&self) -> Acks {
        Acks { taken: self.taken, fetched: self.receiver.fetched }
    }

    /// Whether the end that the peer has described has greeted.
    pub fn is_heard(&self) -> bool {
        self.heard_from.is_some() && self.heard_from == self.theirs.map(|key| key.link)
    }

    /// Whether that end has received this side's greeting.
    pub fn is_welcomed(&self) -> bool {
        self.is_heard() && self.welcomed_by == self.heard_from
    }

    /// Whether both sides have received each other's greeting.
    pub fn is_proven(&self) -> bool {
        self.is_welcomed() && self.greeting == Greeting::Nothing && self.sender.is_some()
    }

    /// Records the first failure.
    pub fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// A record has come. The number that is kept is bounded: of numbered records by the credits, each once, of others by the number
    /// that an honest peer can send.
    pub fn record_received(&mut self, preamble: Preamble, buffer: Buffer, len: usize) {
        let is_numbered = preamble.kind.is_numbered();
        let alike = self.records.iter().filter(|(other, ..)| other.kind.is_numbered() == is_numbered);
        let is_bad = match is_numbered {
            true => {
                let is_there = alike.clone().any(|(other, ..)| other.number == preamble.number);
                is_there || preamble.number.wrapping_sub(self.taken) >= CREDITS
            }
            false => alike.count() >= BARE,
        };
        if is_bad {
            self.fail(Failure::Protocol(BadRecord::Order.to_string()));
        }
        self.records.push_back((preamble, buffer, len));
    }

    /// The next record: numbered ones in order, others as they come; only greetings before the link is up.
    pub fn next_record(&mut self) -> Option<(Preamble, Buffer, usize)> {
        let is_next = |(preamble, ..): &(Preamble, Buffer, usize)| match preamble.kind {
            Kind::Hello | Kind::Welcome => true,
            Kind::Credit => self.is_up,
            Kind::Frame | Kind::Rest | Kind::Lent => {
                self.is_up && preamble.number == self.taken && self.receiver.has_room()
            }
        };
        let at = self.records.iter().position(is_next)?;
        self.records.remove(at)
    }

    /// Handles the acknowledgements of a record, and returns its frame, if one is complete now.
    pub fn take(&mut self, preamble: &Preamble, record: &[u8]) -> Result<Option<Frame>, String> {
        match preamble.kind {
            Kind::Hello | Kind::Welcome => {
                let from = Some(preamble.fetched);
                let is_news = std::mem::replace(&mut self.heard_from, from) != from;
                if is_news && self.is_heard() {
                    (self.is_paired, self.greeting) = (true, Greeting::Welcome);
                }
                if preamble.kind == Kind::Welcome {
                    self.welcomed_by = from;
                }
                return Ok(None);
            }
            Kind::Credit | Kind::Frame | Kind::Rest | Kind::Lent => {}
        }
        let sender = self.sender.as_mut().ok_or("a record before the link is up")?;
        let acks = Acks { taken: preamble.taken, fetched: preamble.fetched };
        sender.handle_acks(acks).map_err(|_| "it acknowledges frames that were not sent")?;
        if !preamble.kind.is_numbered() {
            return Ok(None);
        }
        self.taken = self.taken.wrapping_add(1);
        self.receiver.take(preamble.kind, &record[PREAMBLE..]).map_err(|bad| bad.to_string())
    }
}
