//! An endpoint for reliable datagrams, which reaches all peers.

use std::collections::HashMap;
use std::ptr::null_mut;

use ofi_abi::{
    FI_ADDR_NOTAVAIL, FI_AV_UNSPEC, FI_ENABLE, FI_RECV, FI_TRANSMIT, fi_addr_t, fi_av_attr, fid_av, fid_cq, fid_ep,
};

use super::Error;
use super::address::address_of;
use super::domain::Domain;
use super::object::Object;

/// Addresses of peers, at most: as many as there can be links, whose numbers have 16 bits. Bounds a peer that sets up links again and
/// again from different addresses.
const MAX_PEERS: usize = 1 << 16;

/// An endpoint and its address vector.
pub(super) struct DatagramEndpoint {
    // It is closed first.
    pub endpoint: Object<fid_ep>,
    vector: Object<fid_av>,
    /// Addresses in the vector.
    peers: HashMap<Box<[u8]>, fi_addr_t>,
}

impl DatagramEndpoint {
    /// Opens an enabled endpoint, with completions in `queue`.
    pub fn open(domain: &Domain, queue: &Object<fid_cq>) -> Result<DatagramEndpoint, Error> {
        let library = &domain.offer.library;
        let check = |call, returned: i32| library.check(call, returned as isize);
        // SAFETY: the contract; each object is opened of those before it, with attributes that live during the call.
        unsafe {
            let ops = &*(*domain.domain.as_ptr()).ops;
            let mut attributes = fi_av_attr {
                type_: FI_AV_UNSPEC,
                rx_ctx_bits: 0,
                count: 0,
                ep_per_node: 0,
                name: std::ptr::null(),
                map_addr: null_mut(),
                flags: 0,
            };
            let open = |place| (ops.av_open)(domain.domain.as_ptr(), &raw mut attributes, place, null_mut());
            let vector: Object<fid_av> = Object::open(library, "fi_av_open", open)?;
            let info = domain.offer.info.as_ptr();
            let open = |place| (ops.endpoint)(domain.domain.as_ptr(), info, place, null_mut());
            let endpoint: Object<fid_ep> = Object::open(library, "fi_endpoint", open)?;
            let ops = endpoint.ops();
            check("fi_ep_bind", (ops.bind)(endpoint.fid(), vector.fid(), 0))?;
            check("fi_ep_bind", (ops.bind)(endpoint.fid(), queue.fid(), FI_TRANSMIT | FI_RECV))?;
            check("fi_enable", (ops.control)(endpoint.fid(), FI_ENABLE, null_mut()))?;
            Ok(DatagramEndpoint { endpoint, vector, peers: HashMap::new() })
        }
    }

    /// Where peers reach it.
    pub fn address(&self, domain: &Domain) -> Result<Vec<u8>, Error> {
        // SAFETY: a live endpoint.
        unsafe { address_of(&domain.offer.library, self.endpoint.fid(), (*self.endpoint.as_ptr()).cm) }
    }

    /// Inserts a peer's address, for good, as operations to it may be under way at any time. It is inserted once, even if its links fail.
    /// (The address comes from the peer: it must have the provider's length.)
    pub fn insert(&mut self, domain: &Domain, address: &[u8]) -> Result<fi_addr_t, Error> {
        if let Some(known) = self.peers.get(address) {
            return Ok(*known);
        }
        let library = &domain.offer.library;
        let refused = |number| Err(library.error("fi_av_insert", number));
        if self.address(domain)?.len() != address.len() {
            return refused(ofi_abi::FI_EINVAL);
        }
        if self.peers.len() >= MAX_PEERS {
            return refused(ofi_abi::FI_ENOMEM);
        }
        let mut inserted = FI_ADDR_NOTAVAIL;
        // SAFETY: a live vector; an address as long as the provider's own.
        let returned = unsafe {
            let insert = (*(*self.vector.as_ptr()).ops).insert;
            insert(self.vector.as_ptr(), address.as_ptr().cast(), 1, &raw mut inserted, 0, null_mut())
        };
        let count = library.check("fi_av_insert", returned as isize)?;
        if count != 1 || inserted == FI_ADDR_NOTAVAIL {
            return refused(ofi_abi::FI_EADDRNOTAVAIL);
        }
        self.peers.insert(address.into(), inserted);
        Ok(inserted)
    }

    /// Number of addresses.
    #[cfg(test)]
    pub fn peers(&self) -> usize {
        self.peers.len()
    }
}
