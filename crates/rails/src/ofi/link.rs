//! One link: two endpoints that have proven to each other who they are.

use std::collections::VecDeque;

use super::receiver::{BadRecord, Frame, Receiver};
use super::record::{Kind, LinkKey, PREAMBLE, Preamble};
use super::sender::{BARE, CREDITS, Sender, Told};
use crate::sys::ofi::{Buffer, PeerAddress, Provider};

/// A link, or what is to become one.
pub struct Link<P: Provider> {
    /// How this side calls it.
    pub id: u32,
    /// What all that comes over it has to begin with.
    pub secret: u64,
    /// How the peer is reached: its address, or the connection to it.
    pub peer: Option<PeerAddress>,
    /// What is sent there arrives.
    pub is_connected: bool,
    /// How the peer calls the link, and its secret.
    pub theirs: Option<LinkKey>,
    /// Once all of that is known.
    pub sender: Option<Sender<P>>,
    /// What is received.
    pub receiver: Receiver,
    /// What is sent as to setting it up.
    pub greeting: Greeting,
    /// What the peer calls the end that has greeted last: it knows the secret.
    pub heard_from: Option<u32>,
    /// The end that the peer has described has greeted once: it may send all that it likes.
    pub is_paired: bool,
    /// What the peer calls the end that has had this side's greeting.
    pub welcomed_by: Option<u32>,
    /// It is up, and that was told.
    pub is_up: bool,
    /// Records that have come, of which the longer ones may be late.
    pub records: VecDeque<(Preamble, Buffer, usize)>,
    /// How many numbered records have come, modulo 2^32.
    pub taken: u32,
    /// A frame whose place was asked for, and the record that its payload is in, if so.
    pub current: Option<(Frame, Option<(Buffer, usize)>)>,
    /// What blocked it may be gone.
    pub was_blocked: bool,
    /// Its connection has ended, so it fails once what has come is taken.
    pub end: Option<Failure>,
    /// Why it has failed.
    pub failure: Option<Failure>,
    /// It is in the list of those with news.
    pub is_listed: bool,
}

/// Which greeting the peer has not been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Nothing can be sent yet, or all was.
    Nothing,
    /// That this side knows where it is.
    Hello,
    /// That its hello has come.
    Welcome,
}

/// Why a link has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// For this reason.
    Broken(String),
    /// A record was changed on its way.
    Changed,
    /// The peer has broken the protocol.
    Protocol(String),
}

impl<P: Provider> Link<P> {
    /// One that is offered to a peer.
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

    /// What the peer has to know of what it has sent.
    pub fn told(&self) -> Told {
        Told { taken: self.taken, fetched: self.receiver.fetched }
    }

    /// Whether the end that the peer has described has greeted.
    pub fn is_heard(&self) -> bool {
        self.heard_from.is_some() && self.heard_from == self.theirs.map(|key| key.link)
    }

    /// Whether that end has had this side's greeting.
    pub fn is_welcomed(&self) -> bool {
        self.is_heard() && self.welcomed_by == self.heard_from
    }

    /// Whether both sides know of each other, and the peer knows that they do.
    pub fn is_proven(&self) -> bool {
        self.is_welcomed() && self.greeting == Greeting::Nothing && self.sender.is_some()
    }

    /// Notes a failure, the first one.
    pub fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// A record has come. What is kept of them is bounded: numbered ones by the credits, each once, others by what an honest
    /// peer can send.
    pub fn record_came(&mut self, preamble: Preamble, buffer: Buffer, len: usize) {
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

    /// The next record: numbered ones in their order, others as they come; nothing but greetings before the link is up.
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

    /// Takes what a record says beside its frame, and the frame if there is a whole one now.
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
        let told = Told { taken: preamble.taken, fetched: preamble.fetched };
        sender.heard(told).map_err(|_| "it has taken what was not sent")?;
        if !preamble.kind.is_numbered() {
            return Ok(None);
        }
        self.taken = self.taken.wrapping_add(1);
        self.receiver.take(preamble.kind, &record[PREAMBLE..]).map_err(|bad| bad.to_string())
    }
}
