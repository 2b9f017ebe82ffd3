//! Two rails in one process, over whatever providers this machine has.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{BounceId, Envelope, MessageSeq, Payload, Placement, Source, SubchannelId, Transmit, VcId};
use fishplate_link_core::{BounceBuffers, Places, UserMemory, payload_of};

use crate::sys::{Library, Offer, one_at_a_time};
use crate::wanted::Wanted;
use crate::{Failure, News, Rail};

/// Providers that are tried: those that need no adapter. (Not `shm`: both its ends in one process end that, in libfabric 2.5. Not
/// `udp;ofi_rxd`: it has been seen to stop for good on a machine with much more to do than it can.)
const PROVIDERS: &[&str] = &["tcp/rdm", "tcp/msg", "sockets/rdm", "sockets/msg"];

struct End {
    rail: Rail,
    link: usize,
    bounces: BounceBuffers,
    up: bool,
    failure: Option<Failure>,
    /// Frames with payloads that are not in place, and where they go.
    coming: Vec<(u32, Option<BounceId>)>,
    got: Vec<(u32, Vec<u8>)>,
    into: Vec<Box<[u8]>>,
}

impl End {
    fn open(provider: &str) -> Option<End> {
        let library = Library::open(c"libfabric.so.1", false)
            .inspect_err(|error| println!("skipped: there is no libfabric: {error}"))
            .ok()?;
        let wanted = Wanted::of(&format!("{provider}:lo"))?;
        let offers = match wanted.kind {
            Some(kind) => Offer::of_kind(&library, &wanted.provider, kind),
            None => Offer::all(&library, &wanted.provider),
        };
        let offers =
            offers.inspect_err(|error| println!("skipped: libfabric {} has no {provider}: {error}", library.version()));
        let mut offers = offers.ok()?;
        let at = offers.iter().position(|offer| offer.domain == "lo").unwrap_or(0);
        let rail = Rail::open(offers.swap_remove(at), wanted.to_string())
            .inspect_err(|error| println!("skipped: {provider} cannot be opened: {error}"))
            .ok()?;
        Some(End {
            rail,
            link: 0,
            bounces: BounceBuffers::default(),
            up: false,
            failure: None,
            coming: Vec::new(),
            got: Vec::new(),
            into: Vec::new(),
        })
    }

    /// Polls; odd frames go to user memory, even ones to copies.
    fn turn(&mut self) {
        let memory = UserMemory::of_test();
        self.rail.poll(Places { memory: &memory, bounces: &self.bounces });
        while let Some((at, news)) = self.rail.next(&memory, &mut self.bounces) {
            assert_eq!(at, self.link);
            match news {
                News::Up => self.up = true,
                News::Writable => {}
                News::Failed(failure) => {
                    self.failure = Some(failure);
                    self.rail.remove(at, &mut self.bounces);
                }
                News::Header(header) => self.place(&header, &memory),
                News::Placed(len) => {
                    let (number, bounce) = self.coming.remove(0);
                    let bytes = match bounce {
                        Some(id) => self.bounces.get(id).to_vec(),
                        None => self.into.remove(0).into_vec(),
                    };
                    assert_eq!(bytes.len() as u64, len);
                    self.got.push((number, bytes));
                }
            }
        }
    }

    fn place(&mut self, header: &Header, memory: &UserMemory) {
        let Body::Eager { seq: MessageSeq(number), len, .. } = header.body else { panic!("{header:?}") };
        if len == 0 {
            self.got.push((number, Vec::new()));
            return;
        }
        let placement = if number % 2 == 0 {
            self.coming.push((number, Some(BounceId(number))));
            Placement::Bounce(BounceId(number))
        } else {
            let mut into = vec![0u8; len as usize].into_boxed_slice();
            let place = payload(&mut into);
            self.into.push(into);
            self.coming.push((number, None));
            Placement::User(place)
        };
        self.rail.place(self.link, placement, memory, &mut self.bounces);
    }

    fn push(&mut self, number: u32, bytes: &mut [u8], is_borrowed: bool) {
        let envelope = Envelope::Tagged(7);
        let body =
            Body::Eager { seq: MessageSeq(number), envelope, data: None, len: bytes.len() as u32, prompt: false };
        let source = Source::User(payload(bytes));
        let memory = UserMemory::of_test();
        let places = Places { memory: &memory, bounces: &BounceBuffers::default() };
        let subchannel = SubchannelId { vc: VcId(0), index: 0 };
        let header = Header::without_acknowledgement(body);
        self.rail.push(self.link, &Transmit { subchannel, header, source, copy: is_borrowed }, places);
    }
}

fn payload(bytes: &mut [u8]) -> Payload {
    // Two pieces, where there is anything to be cut.
    let (whole, len) = (payload_of(bytes), bytes.len() as u64);
    if len < 3 {
        return whole;
    }
    let parts = [whole.slice(0, len / 3), whole.slice(len / 3, len)];
    Payload::Many(parts.iter().map(|part| part.extents()[0]).collect())
}

fn contents(len: usize, seed: u32) -> Box<[u8]> {
    (0..len as u32).map(|at| (at.wrapping_mul(31) ^ at >> 8 ^ seed.wrapping_mul(7)) as u8).collect()
}

/// Both ends of a link that is up.
fn connected(provider: &str) -> Option<[End; 2]> {
    let mut ends = [End::open(provider)?, End::open(provider)?];
    connect(&mut ends);
    Some(ends)
}

/// Sets up a link between them.
fn connect(ends: &mut [End; 2]) {
    let described = ends.each_mut().map(|end| {
        let link = end.rail.offer().unwrap();
        (link, end.rail.description(link).unwrap())
    });
    for (end, (link, _)) in ends.iter_mut().zip(&described) {
        end.link = *link;
    }
    ends[0].rail.answer(described[0].0, &described[1].1).unwrap();
    turn(ends, 10);
    ends[1].rail.answer(described[1].0, &described[0].1).unwrap();
    turn_until(ends, |ends| ends.iter().all(|end| end.up));
}

fn turn(ends: &mut [End; 2], times: usize) {
    (0..times).for_each(|_| ends.iter_mut().for_each(End::turn));
}

/// In time. It does not wait for a failure, unless a failure is expected.
fn turn_until(ends: &mut [End; 2], is_done: impl Fn(&[End; 2]) -> bool) {
    let start = std::time::Instant::now();
    while !is_done(ends) {
        let state = || ends.each_ref().map(|end| (end.got.len(), end.coming.len(), end.failure.clone()));
        assert!(start.elapsed().as_secs() < 60, "nothing comes any more: {:?}", state());
        turn(ends, 1);
    }
}

#[test]
fn frames_of_all_lengths_arrive_whole_and_in_order_both_ways() {
    let _guard = one_at_a_time();
    for provider in PROVIDERS {
        let Some(mut ends) = connected(provider) else { continue };
        println!("over {provider}");
        let lens = [0, 1, 100, 16 << 10, (16 << 10) + 1, 70_000, 300_000, 12, 0, 64 << 10];
        let mut sent: Vec<Box<[u8]>> = (0..60).map(|at| contents(lens[at % lens.len()], at as u32)).collect();
        let expected = sent.clone();
        for (at, bytes) in sent.iter_mut().enumerate() {
            let is_borrowed = at % 7 == 3;
            for end in &mut ends {
                end.push(at as u32, bytes, is_borrowed);
            }
        }
        turn_until(&mut ends, |ends| ends.iter().all(|end| end.got.len() == 60));
        for end in &mut ends {
            let in_order = end.got.iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(number, _)| *number);
            assert!(in_order.is_sorted());
            for (number, bytes) in &end.got {
                assert!(**bytes == *expected[*number as usize], "frame {number}");
            }
        }
        turn_until(&mut ends, |ends| ends.iter().all(|end| !end.rail.has_waiting(end.link) && !end.rail.has_sends()));
        for at in [5, 6] {
            let lent = payload(&mut sent[at]);
            turn_until(&mut ends, |ends| ends.iter().all(|end| !end.rail.has_lent(end.link, &lent)));
        }
    }
}

#[test]
fn keys_that_a_peer_invents_end_its_link_and_nothing_else() {
    let _guard = one_at_a_time();
    for provider in PROVIDERS {
        let Some(mut ends) = connected(provider) else { continue };
        let mut bytes = contents(100_000, 1);
        ends[0].push(1, &mut bytes, false);
        // What was lent is not there any more when the peer reads it.
        let mut own = BounceBuffers::default();
        let link = ends[0].link;
        ends[0].rail.remove(link, &mut own);
        turn_until(&mut ends, |ends| ends[1].failure.is_some());
        assert!(matches!(ends[1].failure, Some(Failure::Broken(_))), "{:?}", ends[1].failure);
        assert!(ends[1].got.is_empty() && ends[1].rail.is_open());
    }
}

#[test]
fn a_connection_that_ends_ends_its_link_and_can_be_set_up_anew() {
    let _guard = one_at_a_time();
    for provider in ["tcp/msg", "sockets/msg"] {
        let Some(mut ends) = connected(provider) else { continue };
        let mut bytes = contents(200_000, 1);
        for round in 0..20 {
            ends[0].push(2 * round + 1, &mut bytes, false);
            turn(&mut ends, 3 * round as usize);
            // One side closes it, whatever is on its way.
            let (link, mut bounces) = (ends[0].link, BounceBuffers::default());
            ends[0].rail.remove(link, &mut bounces);
            turn_until(&mut ends, |ends| ends[1].failure.is_some());
            assert!(matches!(ends[1].failure, Some(Failure::Broken(_))), "{:?}", ends[1].failure);
            assert!(ends.iter().all(|end| end.rail.is_open()));
            for end in &mut ends {
                (end.up, end.failure) = (false, None);
                (end.coming, end.got, end.into) = Default::default();
            }
            connect(&mut ends);
        }
        ends[0].push(1, &mut bytes, false);
        turn_until(&mut ends, |ends| !ends[1].got.is_empty());
        assert!(ends[1].got[0].1[..] == bytes[..]);
    }
}

#[test]
fn absent_files_are_reported() {
    let _guard = one_at_a_time();
    let Ok(library) = Library::open(c"libfabric.so.1", false) else { return };
    let Err(error) = Offer::all(&library, "nosuch") else { panic!("there is such a provider") };
    assert!(error.to_string().starts_with("fi_getinfo: "), "{error}");
    assert!(Library::open(c"/no/such/libfabric.so", false).is_err());
}
