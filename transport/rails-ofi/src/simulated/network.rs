//! All simulated endpoints, messages in flight between them, and the virtual time.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use fastrand::Rng;
use fishplate_engine::{Extent, Payload, Region};
use fishplate_link_core::UserMemory;

use super::happens;
use crate::sys::{Buffer, Error, Event, Remote};

/// How far the time goes on when a caller waits for it, in nanoseconds, and after how many looks in vain.
const WAIT: (u64, u32) = (20_000, 64);
/// When there is room again, in nanoseconds.
const SOON_NS: u64 = 10_000;
/// Bytes at the start of a record that say to which link it belongs.
const NAME: usize = 12;
/// The error of what fails.
const EIO: i32 = 5;

/// How a network behaves. Chances are of a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mood {
    /// How long a message takes, in nanoseconds: at least, and at most.
    pub delay_ns: (u64, u64),
    /// By how much a completion may come late, in nanoseconds: the order is then another one.
    pub late_ns: u64,
    /// An endpoint has no room now.
    pub busy: u64,
    /// A message or a read fails. A message may have arrived nevertheless.
    pub failure: u64,
    /// A read never ends.
    pub stuck: u64,
    /// Memory cannot be registered.
    pub unregistered: u64,
    /// The key of a read is one that the peer has invented.
    pub invented: u64,
    /// A bit of a message is changed on its way, not of the name of its link: without that it belongs to no link.
    pub changed: u64,
    /// An endpoint answers reads only while it is polled.
    pub is_manual: bool,
    /// Bytes that are sent without a completion, at most.
    pub inject_len: usize,
}

/// The kind of an access to memory: an endpoint writes bytes that it has read, or reads lent memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Of the peer's memory it has read.
    Write,
    /// For the peer.
    Read,
}

/// A network that its endpoints share.
pub type SharedNetwork = Rc<RefCell<Network>>;

/// Told of each access before it: where, and how many bytes.
type Watch = Box<dyn Fn(Access, u64, u64)>;

pub struct Network {
    /// The time.
    pub now_ns: u64,
    /// Looks in vain since the time went on.
    pub looks: u32,
    pub(super) mood: Mood,
    pub(super) rng: Rng,
    pub(super) ends: Vec<End>,
    pub(super) registrations: BTreeMap<u64, Registered>,
    /// Places between which nothing gets through.
    blocked: BTreeSet<(usize, usize)>,
    queue: BTreeMap<(u64, u64), Step>,
    serial: u64,
    watch: Watch,
}

/// An endpoint.
#[derive(Default)]
pub(super) struct End {
    /// Where it is.
    place: usize,
    pub is_open: bool,
    /// Its domain is gone.
    pub has_vanished: bool,
    pub posted: VecDeque<Buffer>,
    /// Messages that came when no buffer was posted.
    waiting: VecDeque<Vec<u8>>,
    /// Completions that were not polled yet.
    pub ready: VecDeque<Event>,
    /// Reads of its memory that wait until it is polled.
    pub requests: VecDeque<Read>,
    /// Buffers that were made for it.
    pub buffers: usize,
    /// When the last message to each other end arrives: they stay in order.
    last_arrival_ns: BTreeMap<usize, u64>,
}

pub(super) struct Registered {
    pub end: usize,
    pub address: u64,
    pub len: u64,
}

/// A read under way.
pub(super) struct Read {
    pub reader: usize,
    pub source: usize,
    pub from: Remote,
    pub into: Into,
    pub len: u64,
    pub tag: u64,
}

/// Where what was read goes.
pub(super) enum Into {
    User(Extent),
    Own(Vec<u8>),
}

/// An event in virtual time.
enum Step {
    Arrive {
        from: usize,
        to: usize,
        bytes: Vec<u8>,
        sent: Option<(Buffer, u64)>,
    },
    Fetch(Read),
    /// Bytes of what was read are written, from there on; the read ends with the last of them.
    Write {
        read: Read,
        bytes: Vec<u8>,
        at: usize,
        fails: bool,
    },
    End(usize, Event),
    /// Endpoints without room try again.
    Wake,
}

impl Network {
    /// One without endpoints. `watch` is called for each access to memory.
    pub fn new(seed: u64, mood: Mood, watch: impl Fn(Access, u64, u64) + 'static) -> Network {
        Network {
            now_ns: 0,
            looks: 0,
            mood,
            rng: Rng::with_seed(seed),
            ends: Vec::new(),
            registrations: BTreeMap::new(),
            blocked: BTreeSet::new(),
            queue: BTreeMap::new(),
            serial: 0,
            watch: Box::new(watch),
        }
    }

    /// Nothing fails any more.
    pub fn calm(&mut self) {
        (self.mood.failure, self.mood.stuck, self.mood.invented) = (0, 0, 0);
    }

    /// When the next thing happens.
    pub fn next_at(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    /// Lets happen what happens until `until_ns`.
    pub fn advance(&mut self, until_ns: u64) {
        while let Some(first) = self.queue.first_entry()
            && first.key().0 <= until_ns
        {
            let ((at, _), step) = first.remove_entry();
            self.now_ns = self.now_ns.max(at);
            self.happen(step);
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    /// Whether anything gets through between two places.
    pub fn set_blocked(&mut self, a: usize, b: usize, is_blocked: bool) {
        let pair = (a.min(b), a.max(b));
        if is_blocked {
            self.blocked.insert(pair)
        } else {
            self.blocked.remove(&pair)
        };
    }

    /// The domains of the endpoints at a place are gone.
    pub fn vanish(&mut self, place: usize) {
        self.ends.iter_mut().filter(|end| end.place == place).for_each(|end| end.has_vanished = true);
    }

    /// How much memory is registered, in pieces.
    pub fn registered(&self) -> usize {
        self.registrations.len()
    }

    /// Whether memory of these bytes is registered.
    pub fn is_registered(&self, address: u64, len: u64) -> bool {
        self.registrations.values().any(|own| own.address < address + len && address < own.address + own.len)
    }

    /// Buffers of the open endpoint at a place: those that were made, and those that are posted.
    pub fn buffers(&self, place: usize) -> (usize, usize) {
        let open = self.ends.iter().filter(|end| end.place == place && end.is_open);
        open.fold((0, 0), |(made, posted), end| (made + end.buffers, posted + end.posted.len()))
    }

    pub(super) fn add_end(&mut self, place: usize) -> usize {
        self.ends.push(End { place, is_open: true, ..End::default() });
        self.ends.len() - 1
    }

    /// The endpoint is closed: nothing that it has begun goes on.
    pub(super) fn close(&mut self, at: usize) {
        let end = &mut self.ends[at];
        end.is_open = false;
        (end.posted, end.ready, end.waiting) = Default::default();
        self.registrations.retain(|_, registered| registered.end != at);
    }

    /// Whether there is no room for an operation now; there is soon.
    pub(super) fn is_busy(&mut self) -> bool {
        let is_busy = happens(&mut self.rng, self.mood.busy);
        if is_busy {
            self.schedule(self.now_ns + SOON_NS, Step::Wake);
        }
        is_busy
    }

    /// A message leaves.
    pub(super) fn send(&mut self, (from, to): (usize, usize), mut bytes: Vec<u8>, sent: Option<(Buffer, u64)>) {
        if self.changes_bits() && happens(&mut self.rng, self.mood.changed) {
            let bit = self.rng.usize(NAME * 8..bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let delay = self.rng.u64(self.mood.delay_ns.0..self.mood.delay_ns.1 + 1);
        let last = self.ends[from].last_arrival_ns.entry(to).or_default();
        *last = (*last + 1).max(self.now_ns + delay);
        let at = *last;
        self.schedule(at, Step::Arrive { from, to, bytes, sent });
    }

    /// Whether bits of messages are changed on their way.
    pub fn changes_bits(&self) -> bool {
        self.mood.changed > 0
    }

    /// A message can come into `buffer`.
    pub(super) fn post(&mut self, at: usize, buffer: Buffer) {
        self.ends[at].posted.push_back(buffer);
        self.fill(at);
    }

    /// A read begins.
    pub(super) fn read(&mut self, mut read: Read) {
        if happens(&mut self.rng, self.mood.invented) {
            read.from.key ^= 1;
        }
        let delay = self.rng.u64(self.mood.delay_ns.0..self.mood.delay_ns.1 + 1);
        self.schedule(self.now_ns + delay, Step::Fetch(read));
    }

    /// Takes what has ended at an endpoint, most of it at once.
    pub(super) fn poll(&mut self, at: usize, most: usize, events: &mut Vec<Event>) -> Result<bool, Error> {
        if self.ends[at].has_vanished {
            return Err(failed("fi_cq_read"));
        }
        while let Some(read) = self.ends[at].requests.pop_front() {
            self.answer(read);
        }
        if self.ends[at].ready.is_empty() {
            self.looks += 1;
            if self.looks > WAIT.1 {
                self.advance(self.now_ns + WAIT.0);
            }
        }
        let ready = &mut self.ends[at].ready;
        let count = ready.len().min(most);
        events.extend(ready.drain(..count));
        Ok(count > 0)
    }

    fn schedule(&mut self, at: u64, step: Step) {
        self.serial += 1;
        self.queue.insert((at, self.serial), step);
    }

    /// Soon, or late.
    fn end_later(&mut self, at: usize, event: Event) {
        let late = self.rng.u64(..self.mood.late_ns + 1);
        self.schedule(self.now_ns + late, Step::End(at, event));
    }

    fn happen(&mut self, step: Step) {
        match step {
            Step::Wake => {}
            Step::End(at, event) => {
                if self.ends[at].is_open {
                    self.ends[at].ready.push_back(event);
                }
            }
            Step::Arrive { from, to, bytes, sent } => {
                let fails = sent.is_some() && happens(&mut self.rng, self.mood.failure);
                let arrives = self.reaches(from, to) && !(fails && happens(&mut self.rng, 500));
                let result = if arrives && !fails { Ok(()) } else { Err(failed("fi_send")) };
                if arrives {
                    self.ends[to].waiting.push_back(bytes);
                    self.fill(to);
                }
                if let Some((buffer, tag)) = sent {
                    self.end_later(from, Event::Sent(buffer, tag, result));
                }
            }
            Step::Fetch(read) => {
                let source = &mut self.ends[read.source];
                if self.mood.is_manual && source.is_open {
                    source.requests.push_back(read);
                } else {
                    self.answer(read);
                }
            }
            Step::Write { read, bytes, at, fails } => self.write(read, bytes, at, fails),
        }
    }

    fn reaches(&self, a: usize, b: usize) -> bool {
        let (place_a, place_b) = (self.ends[a].place, self.ends[b].place);
        let pair = (place_a.min(place_b), place_a.max(place_b));
        self.ends[b].is_open && !self.ends[b].has_vanished && !self.blocked.contains(&pair)
    }

    /// Messages go into buffers that are posted.
    fn fill(&mut self, at: usize) {
        let end = &mut self.ends[at];
        let mut filled = Vec::new();
        while !end.waiting.is_empty()
            && let Some(mut buffer) = end.posted.pop_front()
        {
            let bytes = end.waiting.pop_front().unwrap_or_default();
            buffer.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
            filled.push(Event::Received(buffer, bytes.len()));
        }
        filled.into_iter().for_each(|event| self.end_later(at, event));
    }

    /// The memory that a peer wants to read is read, if it may be.
    fn answer(&mut self, read: Read) {
        let Remote { address, key } = read.from;
        let may = self.registrations.get(&key).is_some_and(|own| {
            let offset = address.checked_sub(own.address);
            own.end == read.source && offset.is_some_and(|offset| offset + read.len <= own.len)
        });
        if !may || !self.reaches(read.reader, read.source) {
            let (reader, event) = (read.reader, read.ended(true));
            return self.end_later(reader, event);
        }
        (self.watch)(Access::Read, address, read.len);
        let mut bytes = Vec::with_capacity(read.len as usize);
        UserMemory::of_test().read(&Payload::whole(Region(address), read.len), &mut bytes);
        if happens(&mut self.rng, self.mood.stuck) {
            // Half of it comes, and no end.
            bytes.truncate(bytes.len() / 2);
        }
        let (at, fails) = (0, happens(&mut self.rng, self.mood.failure));
        self.write_later(read, bytes, at, fails);
    }

    fn write_later(&mut self, read: Read, bytes: Vec<u8>, at: usize, fails: bool) {
        let late = self.rng.u64(..self.mood.late_ns + 1);
        self.schedule(self.now_ns + late, Step::Write { read, bytes, at, fails });
    }

    /// Half of the remaining bytes are written, or all.
    fn write(&mut self, mut read: Read, bytes: Vec<u8>, at: usize, fails: bool) {
        if !self.ends[read.reader].is_open {
            return;
        }
        let left = bytes.len() - at;
        let now = if left > 4096 { left / 2 } else { left };
        match &mut read.into {
            Into::User(extent) => {
                let part = extent.slice(at as u64, now as u64);
                (self.watch)(Access::Write, part.region.0.wrapping_add(part.offset), part.len);
                UserMemory::of_test().write(&Payload::One(part), 0, &bytes[at..at + now]);
            }
            Into::Own(own) => own[at..at + now].copy_from_slice(&bytes[at..at + now]),
        }
        if now < left && !fails {
            return self.write_later(read, bytes, at + now, fails);
        }
        let is_stuck = (bytes.len() as u64) < read.len && !fails;
        if !is_stuck {
            let (reader, event) = (read.reader, read.ended(fails));
            self.end_later(reader, event);
        }
    }
}

impl Read {
    fn ended(self, fails: bool) -> Event {
        let own = match self.into {
            Into::User(_) => None,
            Into::Own(own) => Some(own),
        };
        Event::Read(self.tag, own, if fails { Err(failed("fi_read")) } else { Ok(()) })
    }
}

/// The error of a failing call.
fn failed(call: &'static str) -> Error {
    Error { call, number: EIO, text: "the simulation says so".into() }
}
