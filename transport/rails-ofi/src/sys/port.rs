//! An endpoint of a provider, with its domain and queues.

use std::ptr::null_mut;
use std::sync::Arc;

use ofi_abi::{FI_CQ_FORMAT_MSG, FI_WAIT_NONE, fi_addr_t, fi_cq_attr, fid_cq, fid_ep, fid_fabric};
use slab::Slab;

use super::address::PeerAddress;
use super::connections::Connections;
use super::datagram_endpoint::DatagramEndpoint;
use super::domain::Domain;
use super::object::Object;
use super::offer::EndpointKind;
use super::operation::{Event, Operation, UnderWay};
use super::{Error, Library, Offer};

/// Bounds of the completion queue's size: it is as large as the provider allows within them.
const QUEUE: std::ops::RangeInclusive<usize> = 1 << 10..=1 << 16;

/// An endpoint, or one for each peer, and the queue of completions.
pub struct Port {
    // In this order: endpoints are closed first, and memory that they may use last.
    pub(super) endpoints: Endpoints,
    pub(super) queue: Object<fid_cq>,
    pub(super) under_way: UnderWay,
    pub(super) operations: Slab<Box<Operation>>,
    /// Events of operations that were refused at once or given up, not polled yet.
    pub(super) failed: Vec<Event>,
    pub(super) domain: Arc<Domain>,
}

pub(super) enum Endpoints {
    /// One endpoint for all peers.
    Datagram(DatagramEndpoint),
    /// A connection for each peer.
    Connected(Connections),
}

impl Port {
    /// Opens an enabled endpoint. Where each peer needs a connection, each has `receives` receive buffers.
    pub fn open(offer: Offer, receives: usize) -> Result<Port, Error> {
        let domain = open_domain(offer)?;
        let (queue, room) = open_queue(&domain)?;
        let endpoints = match domain.offer.kind {
            EndpointKind::Datagram => Endpoints::Datagram(DatagramEndpoint::open(&domain, &queue)?),
            EndpointKind::Connected => Endpoints::Connected(Connections::listen(&domain, receives)?),
        };
        let (under_way, domain) = (UnderWay::of_queue(room), Arc::new(domain));
        Ok(Port { endpoints, queue, under_way, operations: Slab::new(), failed: Vec::new(), domain })
    }

    pub(super) fn library(&self) -> &Library {
        &self.domain.offer.library
    }

    /// The endpoint for a peer, and its address there. `None`: its connection has ended.
    pub(super) fn endpoint_to(&self, peer: PeerAddress) -> Option<(*mut fid_ep, fi_addr_t)> {
        match &self.endpoints {
            Endpoints::Datagram(endpoint) => Some((endpoint.endpoint.as_ptr(), peer.0)),
            Endpoints::Connected(connections) => connections.endpoint(peer).map(|endpoint| (endpoint.as_ptr(), 0)),
        }
    }
}

fn open_domain(offer: Offer) -> Result<Domain, Error> {
    let (library, info) = (offer.library, offer.info.as_ptr());
    // SAFETY: the contract; each object is opened of that before it, with attributes that live during the call.
    unsafe {
        let open = |place| (library.fabric)((*info).fabric_attr, place, null_mut());
        let fabric: Object<fid_fabric> = Object::open(&library, "fi_fabric", open)?;
        let open = (*(*fabric.as_ptr()).ops).domain;
        let domain = Object::open(&library, "fi_domain", |place| open(fabric.as_ptr(), info, place, null_mut()))?;
        Ok(Domain { domain, fabric, offer })
    }
}

/// A queue, and for how many completions it has room.
fn open_queue(domain: &Domain) -> Result<(Object<fid_cq>, usize), Error> {
    let mut size = *QUEUE.end();
    loop {
        let mut attributes = fi_cq_attr {
            size,
            flags: 0,
            format: FI_CQ_FORMAT_MSG,
            wait_obj: FI_WAIT_NONE,
            signaling_vector: 0,
            wait_cond: 0,
            wait_set: null_mut(),
        };
        // SAFETY: the contract; a live domain, and attributes that live during the call.
        let queue = unsafe {
            let open = (*(*domain.domain.as_ptr()).ops).cq_open;
            let open = |place| open(domain.domain.as_ptr(), &raw mut attributes, place, null_mut());
            Object::open(&domain.offer.library, "fi_cq_open", open)
        };
        match queue {
            Ok(queue) => return Ok((queue, size)),
            Err(error) if size <= *QUEUE.start() => return Err(error),
            Err(_) => size /= 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Posted, Provider};
    use super::*;

    /// Ports over the providers that every libfabric has, where there is one.
    fn ports() -> impl Iterator<Item = Port> {
        let library = Library::open(c"libfabric.so.1", false).ok();
        let offers = |provider| {
            let offers = Offer::of_kind(library.as_ref()?, provider, EndpointKind::Datagram);
            Port::open(offers.ok()?.pop()?, 0).ok()
        };
        ["tcp", "sockets"].map(offers).into_iter().flatten()
    }

    #[test]
    fn no_more_is_under_way_than_completions_have_room_for() {
        let _guard = crate::sys::one_at_a_time();
        for mut port in ports() {
            let most = port.under_way.most;
            let buffers = port.buffers(most + 10, 64).unwrap();
            let posted = buffers.into_iter().filter_map(|buffer| match port.receive(buffer) {
                Posted::Yes => Some(()),
                Posted::Again(_) => None,
            });
            let posted = posted.count();
            assert!(posted > 0 && posted <= most, "{posted} of {most}");
        }
    }

    #[test]
    fn a_peer_is_known_once_however_often_it_sends_its_address() {
        let _guard = crate::sys::one_at_a_time();
        for mut port in ports() {
            let own = port.address().unwrap();
            assert_eq!(port.insert(&own).unwrap(), port.insert(&own).unwrap());
            assert!(port.insert(&own[1..]).is_err());
            let Endpoints::Datagram(endpoint) = &port.endpoints else { panic!("datagrams were asked for") };
            assert_eq!(endpoint.peers(), 1);
        }
    }
}
