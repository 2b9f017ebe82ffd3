//! A link whose peer is not honest: it knows the link's secret, and sends what it likes.

use std::cell::RefCell;
use std::rc::Rc;

use fishplate_engine::wire::Header;
use fishplate_engine::{BounceId, Payload, Placement, Region};
use fishplate_link_core::{BounceBuffers, Places, UserMemory, payload_of};

use crate::description::Description;
use crate::link::Failure;
use crate::rail::{Names, News, Rail};
use crate::record::Preamble;
use crate::simulated::{Access, Mood, Network, SharedNetwork, SimulatedPort};
use crate::sys::{LentPiece, Provider};
use crate::transport::{RECORD, SENDS};

pub use crate::receiver::BadRecord;
pub use crate::record::{Kind, MAX_PAYLOAD, PIECE, PREAMBLE, RemotePiece};

/// Longest payload for which there is room.
pub const MAX_ROOM: u32 = 64 << 10;
/// Bytes around each place, which must not be written.
const GUARD: usize = 32;
const UNTOUCHED: u8 = 0xee;
/// The attacker's name of its end.
const ATTACKER: (u32, u64) = (7, 7);

/// Where the user of the victim wants a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Address in its memory, and number of bytes.
    Memory(u32),
    /// In a copy.
    Copy,
    /// Nowhere.
    Nowhere,
}

/// How the link has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The peer has broken the protocol, as this says.
    Protocol(String),
    /// An operation has failed.
    Broken,
}

/// A rail with one link, and its peer.
pub struct Victim {
    network: SharedNetwork,
    rail: Rail<SimulatedPort>,
    link: usize,
    name: (u32, u64),
    bounces: BounceBuffers,
    attacker: SimulatedPort,
    lent: Vec<(Vec<Lent>, Box<[u8]>)>,
    /// Memory of the user: what may be written, and until when.
    places: Rc<RefCell<Vec<Place>>>,
    /// Payloads that are not in place: how long, and in which place, if in one.
    coming: Vec<(u32, Option<usize>)>,
}

type Lent = LentPiece<<SimulatedPort as Provider>::Registration>;

struct Place {
    memory: Box<[u8]>,
    is_open: bool,
}

impl Place {
    fn new(len: usize) -> Place {
        Place { memory: vec![UNTOUCHED; len + 2 * GUARD].into_boxed_slice(), is_open: true }
    }

    fn range(&self) -> std::ops::Range<u64> {
        let start = self.memory.as_ptr().expose_provenance() as u64;
        start + GUARD as u64..start + (self.memory.len() - GUARD) as u64
    }
}

impl Victim {
    /// With a link that is up.
    pub fn new() -> Victim {
        let places: Rc<RefCell<Vec<Place>>> = Rc::default();
        let watched = places.clone();
        let watch = move |access, address, len| {
            let may = |place: &Place| {
                let range = place.range();
                place.is_open && range.start <= address && address + len <= range.end
            };
            assert!(access == Access::Read || watched.borrow().iter().any(may), "written where nobody wants it");
        };
        let calm = Mood { delay_ns: (100, 100), inject_len: 1 << 20, ..Mood::default() };
        let network = Rc::new(RefCell::new(Network::new(1, calm, watch)));
        let names = Names { provider: "simulated".into(), fabric: "net".into(), name: "simulated:0".into() };
        let mut rail = Rail::over(SimulatedPort::open(&network, 0), names, None).expect("there is memory");
        let mut attacker = SimulatedPort::open(&network, 1);
        let link = rail.offer().expect("there is memory");
        let description = rail.description(link).expect("it was just offered");
        let address = attacker.address().expect("it has one");
        attacker.insert(&description.address).expect("the victim's address");
        let name = (description.link, description.secret);
        let theirs = Description { address, link: ATTACKER.0, secret: ATTACKER.1, ..description };
        rail.answer(link, &theirs).expect("the attacker's address");
        let bounces = BounceBuffers::default();
        let (lent, coming) = (Vec::new(), Vec::new());
        let mut victim = Victim { network, rail, link, name, bounces, attacker, lent, places, coming };
        for kind in [Kind::Hello, Kind::Welcome] {
            let record = victim.record(kind, (0, 0, ATTACKER.0), &[]);
            victim.send(&record);
            assert_eq!(victim.turn(|_| Wanted::Nowhere), None);
        }
        victim
    }

    /// A record with the link's secret: its kind; its number, what was taken and what was read; and what follows.
    pub fn record(&self, kind: Kind, (number, taken, fetched): (u32, u32, u32), rest: &[u8]) -> Vec<u8> {
        let (link, secret) = self.name;
        let mut record = Preamble { link, secret, number, taken, fetched, kind }.encode().to_vec();
        record.extend_from_slice(rest);
        record
    }

    /// The peer sends a record, as far as it fits into a buffer.
    pub fn send(&mut self, record: &[u8]) {
        let fits = record.len().min(RECORD);
        let to = self.attacker.insert(&0u64.to_le_bytes()).expect("the victim's address");
        self.attacker.inject(&record[..fits], to).expect("it always can");
    }

    /// The peer lends memory: where, and by which key.
    pub fn lend(&mut self, memory: Box<[u8]>) -> RemotePiece {
        let pieces = self.attacker.lend(&UserMemory::of_test(), &payload_of(&memory)).expect("it always can");
        let piece = RemotePiece { address: pieces[0].address, key: pieces[0].key, len: pieces[0].len };
        self.lent.push((pieces, memory));
        piece
    }

    /// The victim does what it can; `wants` says where payloads are to go. How the link has ended, if it has.
    pub fn turn(&mut self, mut wants: impl FnMut(&Header) -> Wanted) -> Option<Ended> {
        let memory = UserMemory::of_test();
        loop {
            self.rail.poll(Places { memory: &memory, bounces: &self.bounces });
            while let Some((_, news)) = self.rail.next(&memory, &mut self.bounces) {
                match news {
                    News::Up | News::Writable => {}
                    News::Header(header) if header.body.payload_len() > 0 => {
                        let wanted = wants(&header);
                        self.place(header.body.payload_len(), wanted, &memory);
                    }
                    News::Header(_) => {}
                    News::Placed(len) => self.placed(len),
                    News::Failed(failure) => return Some(self.end(failure)),
                }
            }
            let next = self.network.borrow().next_at()?;
            self.network.borrow_mut().advance(next);
        }
    }

    fn place(&mut self, len: u32, wanted: Wanted, memory: &UserMemory) {
        let (placement, at) = match wanted {
            Wanted::Memory(room) => {
                let room = room.min(len).min(MAX_ROOM);
                let place = Place::new(room as usize);
                let (start, mut places) = (place.range().start, self.places.borrow_mut());
                places.push(place);
                let payload = Payload::whole(Region(start), u64::from(room));
                (Placement::User(payload), Some(places.len() - 1))
            }
            Wanted::Copy if len <= MAX_ROOM => (Placement::Bounce(BounceId(0)), None),
            Wanted::Copy | Wanted::Nowhere => (Placement::Discard, None),
        };
        self.coming.push((len, at));
        self.rail.place(self.link, placement, memory, &mut self.bounces);
    }

    fn placed(&mut self, len: u64) {
        assert!(!self.coming.is_empty(), "more payloads are in place than have come");
        let (expected, at) = self.coming.remove(0);
        assert_eq!(len, u64::from(expected), "a payload of another length than its header says");
        at.into_iter().for_each(|at| self.places.borrow_mut()[at].is_open = false);
    }

    /// The link is taken out: its memory is given back, nothing of it is kept, and the rail is there for others.
    fn end(&mut self, failure: Failure) -> Ended {
        self.rail.remove(self.link, &mut self.bounces);
        self.places.borrow_mut().iter_mut().for_each(|place| place.is_open = false);
        assert!(self.rail.is_open(), "a peer has closed the rail");
        match failure {
            Failure::Protocol(how) => Ended::Protocol(how),
            Failure::Broken(_) | Failure::Changed => Ended::Broken,
        }
    }

    /// All buffers are there, and no byte around a place was written.
    pub fn check(mut self) {
        if self.turn(|_| Wanted::Nowhere).is_none() {
            self.end(Failure::Broken(String::new()));
        }
        let (made, posted) = self.network.borrow().buffers(0);
        assert_eq!(made, posted + SENDS, "buffers are missing");
        for place in self.places.borrow().iter() {
            let (before, behind) = (&place.memory[..GUARD], &place.memory[place.memory.len() - GUARD..]);
            assert!(before.iter().chain(behind).all(|byte| *byte == UNTOUCHED), "written around a place");
        }
    }
}

impl Default for Victim {
    fn default() -> Self {
        Victim::new()
    }
}
