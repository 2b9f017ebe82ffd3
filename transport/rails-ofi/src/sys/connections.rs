//! Endpoints that are connected to one peer each, the passive one that listens for peers, and their event queue.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use ofi_abi::{
    FI_CONNECTED, FI_CONNREQ, FI_EAGAIN, FI_EAVAIL, FI_ENABLE, FI_RECV, FI_SHUTDOWN, FI_TRANSMIT, FI_WAIT_NONE,
    fi_eq_attr, fi_eq_cm_entry, fi_eq_err_entry, fid, fid_cq, fid_ep, fid_eq, fid_pep,
};
use slab::Slab;

use super::address::{PeerAddress, address_of};
use super::domain::Domain;
use super::object::Object;
use super::offer::Info;
use super::{Error, Library};

/// The event queue, which can take a system call, is polled in one of this number of polls while no connection is being set up.
const POLLS_WITHOUT_EVENTS: u32 = 64;
/// Events that one poll handles, at most: a flood of requests must not keep the process from its other peers.
const MAX_EVENTS: usize = 64;
/// Bytes of a request's data that are kept, at most.
const MAX_DATA: usize = 256;

/// A peer's request for a connection.
pub struct Request {
    /// For opening an endpoint for it.
    pub(super) info: Info,
    pub data: Vec<u8>,
}

pub enum ConnectionEvent {
    /// A peer requests a connection.
    Requested(Request),
    /// It is up.
    Connected(PeerAddress),
    /// It has ended, for this reason.
    Ended(PeerAddress, String),
}

/// All connections of one domain.
pub(super) struct Connections {
    // In this order: endpoints are closed before the queue of their events.
    open: Slab<Connection>,
    passive: Object<fid_pep>,
    events: Object<fid_eq>,
    address: Vec<u8>,
    /// Receive buffers of each connection.
    receives: usize,
    /// Connections that lack receive buffers, one entry for each buffer.
    lacking: Vec<PeerAddress>,
    /// Connections whose operations fail.
    lost: Vec<(PeerAddress, String)>,
    /// Number of connections so far: distinguishes connections that used one key.
    serial: u32,
    /// Number of connections that are not up yet.
    connecting: usize,
    polls: u32,
}

struct Connection {
    endpoint: Object<fid_ep>,
    serial: u32,
    is_up: bool,
}

impl Connections {
    pub fn listen(domain: &Domain, receives: usize) -> Result<Connections, Error> {
        let library = &domain.offer.library;
        let check = |call, returned: i32| library.check(call, returned as isize);
        // SAFETY: the contract; each object is opened of those before it, with attributes that live during the call.
        let (passive, events, address) = unsafe {
            let fabric = domain.fabric.as_ptr();
            let ops = &*(*fabric).ops;
            let mut attributes =
                fi_eq_attr { size: 0, flags: 0, wait_obj: FI_WAIT_NONE, signaling_vector: 0, wait_set: null_mut() };
            let open = |place| (ops.eq_open)(fabric, &raw mut attributes, place, null_mut());
            let events: Object<fid_eq> = Object::open(library, "fi_eq_open", open)?;
            let open = |place| (ops.passive_ep)(fabric, domain.offer.info.as_ptr(), place, null_mut());
            let passive: Object<fid_pep> = Object::open(library, "fi_passive_ep", open)?;
            check("fi_pep_bind", (passive.ops().bind)(passive.fid(), events.fid(), 0))?;
            let cm = (*passive.as_ptr()).cm;
            check("fi_listen", ((*cm).listen)(passive.as_ptr()))?;
            let address = address_of(library, passive.fid(), cm)?;
            (passive, events, address)
        };
        let (open, lacking, lost) = (Slab::new(), Vec::new(), Vec::new());
        Ok(Connections { open, passive, events, address, receives, lacking, lost, serial: 0, connecting: 0, polls: 0 })
    }

    /// Address of the passive endpoint.
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// The endpoint of a connection that is not closed.
    pub fn endpoint(&self, peer: PeerAddress) -> Option<&Object<fid_ep>> {
        let connection = self.open.get(peer.place())?;
        (connection.serial == peer.serial()).then_some(&connection.endpoint)
    }

    /// An endpoint for a connection, as `info` says. It is not connected, and nothing comes over it yet.
    ///
    /// # Safety
    /// `info` is of the provider of the domain.
    pub unsafe fn open(&mut self, domain: &Domain, queue: &Object<fid_cq>, info: &Info) -> Result<PeerAddress, Error> {
        let library = &domain.offer.library;
        let check = |call, returned: i32| library.check(call, returned as isize);
        // SAFETY: the contract; live objects, and what the caller promises.
        let endpoint = unsafe {
            let open = (*(*domain.domain.as_ptr()).ops).endpoint;
            let open = |place| open(domain.domain.as_ptr(), info.as_ptr(), place, null_mut());
            let endpoint: Object<fid_ep> = Object::open(library, "fi_endpoint", open)?;
            let ops = endpoint.ops();
            check("fi_ep_bind", (ops.bind)(endpoint.fid(), self.events.fid(), 0))?;
            check("fi_ep_bind", (ops.bind)(endpoint.fid(), queue.fid(), FI_TRANSMIT | FI_RECV))?;
            check("fi_enable", (ops.control)(endpoint.fid(), FI_ENABLE, null_mut()))?;
            endpoint
        };
        self.serial = self.serial.wrapping_add(1);
        let place = self.open.insert(Connection { endpoint, serial: self.serial, is_up: false });
        self.connecting += 1;
        let peer = PeerAddress::of_connection(place, self.serial);
        self.lacking.extend(std::iter::repeat_n(peer, self.receives));
        Ok(peer)
    }

    /// Asks the peer that listens at `address` for the connection.
    pub fn connect(&self, library: &Library, peer: PeerAddress, address: &[u8], data: &[u8]) -> Result<(), Error> {
        let Some(endpoint) = self.endpoint(peer) else { return Ok(()) };
        // SAFETY: a live endpoint; an address as long as the provider's own, and data that need to stay only during the call.
        let returned = unsafe {
            let connect = (*(*endpoint.as_ptr()).cm).connect;
            connect(endpoint.as_ptr(), address.as_ptr().cast(), data.as_ptr().cast(), data.len())
        };
        library.check("fi_connect", returned as isize).map(|_| ())
    }

    /// Accepts the request with which the endpoint was opened.
    pub fn accept(&self, library: &Library, peer: PeerAddress) -> Result<(), Error> {
        let Some(endpoint) = self.endpoint(peer) else { return Ok(()) };
        // SAFETY: a live endpoint, opened by a request; there are no data.
        let returned = unsafe { ((*(*endpoint.as_ptr()).cm).accept)(endpoint.as_ptr(), null(), 0) };
        library.check("fi_accept", returned as isize).map(|_| ())
    }

    /// Refuses a request with which no endpoint was opened.
    pub fn refuse(&self, request: &Request) {
        // SAFETY: a live endpoint that listens, and the handle of a request that came to it.
        let returned = unsafe {
            let reject = (*(*self.passive.as_ptr()).cm).reject;
            reject(self.passive.as_ptr(), (*request.info.as_ptr()).handle, null(), 0)
        };
        if returned != 0 {
            log::debug!("fi_reject: error {}", -returned);
        }
    }

    /// Closes a connection, with a notification of the peer. False: it is closed.
    pub fn close(&mut self, peer: PeerAddress) -> bool {
        let Some(endpoint) = self.endpoint(peer) else { return false };
        // SAFETY: a live endpoint.
        unsafe { ((*(*endpoint.as_ptr()).cm).shutdown)(endpoint.as_ptr(), 0) };
        let closed = self.open.remove(peer.place());
        self.connecting -= usize::from(!closed.is_up);
        self.lacking.retain(|other| *other != peer);
        self.lost.retain(|(other, _)| *other != peer);
        true
    }

    /// A connection that lacks a receive buffer; the caller has to post one.
    pub fn take_lacking(&mut self) -> Option<PeerAddress> {
        self.lacking.pop()
    }

    /// A receive buffer of a connection was used, or could not be posted.
    pub fn lacks(&mut self, peer: PeerAddress) {
        if self.endpoint(peer).is_some() {
            self.lacking.push(peer);
        }
    }

    /// An operation of a connection has failed.
    pub fn has_failed(&mut self, peer: PeerAddress, error: &Error) {
        if self.endpoint(peer).is_some() && self.lost.iter().all(|(other, _)| *other != peer) {
            self.lost.push((peer, error.to_string()));
        }
    }

    /// Kind of the event.
    pub fn poll(&mut self, library: &Library, events: &mut Vec<ConnectionEvent>) -> Result<(), Error> {
        self.polls = (self.polls + 1) % POLLS_WITHOUT_EVENTS;
        if self.connecting > 0 || !self.lost.is_empty() || self.polls == 0 {
            for _ in 0..MAX_EVENTS {
                if !self.poll_event(library, events)? {
                    break;
                }
            }
            // The event queue has better explanations than failed operations.
            events.extend(self.lost.drain(..).map(|(peer, why)| ConnectionEvent::Ended(peer, why)));
        }
        Ok(())
    }

    fn poll_event(&mut self, library: &Library, events: &mut Vec<ConnectionEvent>) -> Result<bool, Error> {
        const HEAD: usize = size_of::<fi_eq_cm_entry>();
        let mut space = [0u64; (HEAD + MAX_DATA) / 8];
        let mut event = 0;
        // SAFETY: a live queue; space of the given length, aligned as its entries.
        let returned = unsafe {
            let queue = self.events.as_ptr();
            ((*(*queue).ops).read)(queue, &raw mut event, space.as_mut_ptr().cast(), HEAD + MAX_DATA, 0)
        };
        if returned == -(FI_EAGAIN as isize) {
            return Ok(false);
        }
        if returned == -(FI_EAVAIL as isize) {
            return self.poll_error(library, events);
        }
        let len = library.check("fi_eq_read", returned)?.min(HEAD + MAX_DATA);
        if len < HEAD {
            return Ok(true);
        }
        // SAFETY: events of connections begin with such an entry; there are no others on this queue.
        let entry = unsafe { space.as_ptr().cast::<fi_eq_cm_entry>().read() };
        match event {
            FI_CONNREQ if !entry.info.is_null() => {
                let data = space[HEAD / 8..].iter().flat_map(|word| word.to_ne_bytes()).take(len - HEAD).collect();
                // SAFETY: it came with the event, and is freed with the request alone.
                let info = unsafe { Info::new(library, entry.info) };
                events.push(ConnectionEvent::Requested(Request { info, data }));
            }
            FI_CONNECTED => {
                if let Some(peer) = self.find(entry.fid) {
                    let connection = &mut self.open[peer.place()];
                    self.connecting -= usize::from(!std::mem::replace(&mut connection.is_up, true));
                    events.push(ConnectionEvent::Connected(peer));
                }
            }
            FI_SHUTDOWN => events.extend(self.ended(entry.fid, "the peer has closed the connection".into())),
            _ => {}
        }
        Ok(true)
    }

    fn poll_error(&mut self, library: &Library, events: &mut Vec<ConnectionEvent>) -> Result<bool, Error> {
        // SAFETY: integers and pointers may be zero.
        let mut entry: fi_eq_err_entry = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: a live queue and an entry.
        let returned = unsafe {
            let queue = self.events.as_ptr();
            ((*(*queue).ops).readerr)(queue, &raw mut entry, 0)
        };
        if returned == -(FI_EAGAIN as isize) {
            return Ok(false);
        }
        library.check("fi_eq_readerr", returned)?;
        events.extend(self.ended(entry.fid, library.error("the connection", entry.err).to_string()));
        Ok(true)
    }

    fn ended(&self, fid: *mut fid, why: String) -> Option<ConnectionEvent> {
        self.find(fid).map(|peer| ConnectionEvent::Ended(peer, why))
    }

    fn find(&self, fid: *mut fid) -> Option<PeerAddress> {
        let (place, found) = self.open.iter().find(|(_, connection)| connection.endpoint.fid() == fid)?;
        Some(PeerAddress::of_connection(place, found.serial))
    }
}

impl PeerAddress {
    fn of_connection(place: usize, serial: u32) -> PeerAddress {
        PeerAddress(u64::from(serial) << 32 | place as u64 & 0xffff_ffff)
    }

    fn place(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    fn serial(self) -> u32 {
        (self.0 >> 32) as u32
    }
}
