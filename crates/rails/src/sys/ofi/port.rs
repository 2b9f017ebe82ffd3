//! An endpoint of a provider, with what it is made of.

use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::Arc;

use fishplate_engine::Payload;
use ofi_abi::{
    FI_ADDR_NOTAVAIL, FI_AV_UNSPEC, FI_CQ_FORMAT_MSG, FI_ENABLE, FI_ETOOSMALL, FI_RECV, FI_TRANSMIT, FI_WAIT_NONE,
    fi_addr_t, fi_av_attr, fi_cq_attr, fid_av, fid_cq, fid_domain, fid_ep, fid_fabric,
};
use slab::Slab;

use super::buffer::Buffer;
use super::domain::Domain;
use super::object::Object;
use super::operation::{Event, Operation};
use super::registration::{LentPiece, lend};
use super::{Error, Library, Offer};
use crate::sys::memory::UserMemory;

/// Longest address, in bytes.
const MOST_ADDRESS: usize = 512;
/// Addresses of peers that are known, at most: as many as there can be links, whose numbers have 16 bits. A peer that sets up
/// links again and again, each time from elsewhere, gets no further.
const MOST_PEERS: usize = 1 << 16;
/// Completions that the queue has room for: more than there are operations under way, where there are few peers.
const QUEUE: usize = 4096;

/// An endpoint, its address vector and its queue of completions.
pub struct Port {
    // In this order: an endpoint is closed first, and memory that it may use last.
    pub(super) endpoint: Object<fid_ep>,
    pub(super) queue: Object<fid_cq>,
    vector: Object<fid_av>,
    /// What is in the vector.
    peers: HashMap<Box<[u8]>, PeerAddress>,
    pub(super) operations: Slab<Box<Operation>>,
    /// What was refused at once, and not told yet.
    pub(super) failed: Vec<Event>,
    pub(super) domain: Arc<Domain>,
}

/// A peer's endpoint in the address vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub(super) fi_addr_t);

impl Port {
    /// Opens an endpoint by `offer`, ready for messages.
    pub fn open(offer: Offer) -> Result<Port, Error> {
        let library = offer.library;
        let info = offer.info;
        let check = |call, returned: i32| library.check(call, returned as isize);
        // SAFETY: the contract; each object is opened of those before it, with attributes that live during the call.
        unsafe {
            let mut fabric = null_mut();
            check("fi_fabric", (library.fabric)((*info).fabric_attr, &raw mut fabric, null_mut()))?;
            let fabric: Object<fid_fabric> = Object::new(fabric);
            let mut domain = null_mut();
            let open = (*(*fabric.as_ptr()).ops).domain;
            check("fi_domain", open(fabric.as_ptr(), info, &raw mut domain, null_mut()))?;
            let domain: Object<fid_domain> = Object::new(domain);
            let ops = &*(*domain.as_ptr()).ops;
            let mut attributes = fi_av_attr {
                type_: FI_AV_UNSPEC,
                rx_ctx_bits: 0,
                count: 0,
                ep_per_node: 0,
                name: std::ptr::null(),
                map_addr: null_mut(),
                flags: 0,
            };
            let mut vector = null_mut();
            check("fi_av_open", (ops.av_open)(domain.as_ptr(), &raw mut attributes, &raw mut vector, null_mut()))?;
            let vector: Object<fid_av> = Object::new(vector);
            let mut attributes = fi_cq_attr {
                size: QUEUE,
                flags: 0,
                format: FI_CQ_FORMAT_MSG,
                wait_obj: FI_WAIT_NONE,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: null_mut(),
            };
            let mut queue = null_mut();
            check("fi_cq_open", (ops.cq_open)(domain.as_ptr(), &raw mut attributes, &raw mut queue, null_mut()))?;
            let queue: Object<fid_cq> = Object::new(queue);
            let mut endpoint = null_mut();
            check("fi_endpoint", (ops.endpoint)(domain.as_ptr(), info, &raw mut endpoint, null_mut()))?;
            let endpoint: Object<fid_ep> = Object::new(endpoint);
            let ops = endpoint.ops();
            check("fi_ep_bind", (ops.bind)(endpoint.fid(), vector.fid(), 0))?;
            check("fi_ep_bind", (ops.bind)(endpoint.fid(), queue.fid(), FI_TRANSMIT | FI_RECV))?;
            check("fi_enable", (ops.control)(endpoint.fid(), FI_ENABLE, null_mut()))?;
            let domain = Arc::new(Domain { domain, _fabric: fabric, offer });
            let (peers, operations, failed) = (HashMap::new(), Slab::new(), Vec::new());
            Ok(Port { endpoint, queue, vector, peers, operations, failed, domain })
        }
    }

    /// Where peers reach it.
    pub fn address(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0u8; MOST_ADDRESS];
        let mut len = bytes.len();
        // SAFETY: a live endpoint; the buffer has the length that is told.
        let returned = unsafe {
            let getname = (*(*self.endpoint.as_ptr()).cm).getname;
            getname(self.endpoint.fid(), bytes.as_mut_ptr().cast(), &raw mut len)
        };
        self.library().check("fi_getname", returned as isize)?;
        if len > MOST_ADDRESS {
            return Err(self.library().error("fi_getname", FI_ETOOSMALL));
        }
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Makes a peer's endpoint known, for good: something may be on its way to it whenever it would be forgotten. One whose
    /// links fail is known once. (An address is what the peer has told: of the provider's length, or it is refused.)
    pub fn insert(&mut self, address: &[u8]) -> Result<PeerAddress, Error> {
        if let Some(known) = self.peers.get(address) {
            return Ok(*known);
        }
        let refused = |number| Err(self.library().error("fi_av_insert", number));
        if self.address()?.len() != address.len() {
            return refused(ofi_abi::FI_EINVAL);
        }
        if self.peers.len() >= MOST_PEERS {
            return refused(ofi_abi::FI_ENOMEM);
        }
        let mut inserted = FI_ADDR_NOTAVAIL;
        // SAFETY: a live vector; an address as long as the provider's own.
        let returned = unsafe {
            let insert = (*(*self.vector.as_ptr()).ops).insert;
            insert(self.vector.as_ptr(), address.as_ptr().cast(), 1, &raw mut inserted, 0, null_mut())
        };
        let count = self.library().check("fi_av_insert", returned as isize)?;
        if count != 1 || inserted == FI_ADDR_NOTAVAIL {
            return refused(ofi_abi::FI_EADDRNOTAVAIL);
        }
        self.peers.insert(address.into(), PeerAddress(inserted));
        Ok(PeerAddress(inserted))
    }

    /// Memory for `count` messages of `len` bytes.
    pub fn buffers(&self, count: usize, len: usize) -> Result<Vec<Buffer>, Error> {
        Buffer::several(&self.domain, count, len)
    }

    /// Registers a payload, so that peers who are told may read it.
    pub fn lend(&self, memory: &UserMemory, payload: &Payload) -> Result<Vec<LentPiece>, Error> {
        lend(&self.domain, memory, payload)
    }

    /// Bytes that are sent at once without a completion, at most.
    pub fn inject_len(&self) -> usize {
        self.domain.offer.inject_len()
    }

    pub(super) fn library(&self) -> &Library {
        &self.domain.offer.library
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_known_once_however_often_it_tells_its_address() {
        let Ok(library) = Library::open(c"libfabric.so.1", false) else { return };
        for provider in ["tcp", "sockets"] {
            let Some(offer) = Offer::all(&library, provider).ok().and_then(|mut offers| offers.pop()) else { continue };
            let Ok(mut port) = Port::open(offer) else { continue };
            let own = port.address().unwrap();
            assert_eq!(port.insert(&own).unwrap(), port.insert(&own).unwrap());
            assert!(port.insert(&own[1..]).is_err());
            assert_eq!(port.peers.len(), 1);
        }
    }
}
