//! An endpoint of a provider, with what it is made of.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use ofi_abi::{
    FI_ADDR_NOTAVAIL, FI_AV_UNSPEC, FI_CQ_FORMAT_MSG, FI_ENABLE, FI_ETOOSMALL, FI_RECV, FI_TRANSMIT, FI_WAIT_NONE,
    fi_addr_t, fi_av_attr, fi_cq_attr, fid_av, fid_cq, fid_domain, fid_ep, fid_fabric,
};
use slab::Slab;

use super::object::Object;
use super::operations::{Event, Operation};
use super::registration::{Registration, Use};
use super::{Error, Library, Offer};

/// Longest address, in bytes.
const MOST_ADDRESS: usize = 512;
/// Completions that the queue has room for: more than there are operations under way, where there are few peers.
const QUEUE: usize = 4096;

/// A fabric, and one of its domains.
pub(super) struct Domain {
    pub(super) domain: Object<fid_domain>,
    _fabric: Object<fid_fabric>,
    pub(super) offer: Offer,
}

// SAFETY: registrations of several threads are opened and closed by whoever has the endpoint, one at a time.
unsafe impl Sync for Domain {}

/// An endpoint, its address vector and its queue of completions.
pub struct Port {
    // In this order: an endpoint is closed first, and memory that it may use last.
    pub(super) endpoint: Object<fid_ep>,
    pub(super) queue: Object<fid_cq>,
    vector: Object<fid_av>,
    pub(super) operations: Slab<Box<Operation>>,
    /// What was refused at once, and not told yet.
    pub(super) failed: Vec<Event>,
    pub(super) domain: Arc<Domain>,
}

/// A peer's endpoint in the address vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub(super) fi_addr_t);

/// Memory for one message, while it is not under way.
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
    chunk: Arc<Chunk>,
}

// SAFETY: the only handle to its bytes.
unsafe impl Send for Buffer {}

/// Memory for many.
struct Chunk {
    /// Is closed first.
    registration: Option<Registration>,
    _memory: Memory,
}

// SAFETY: only its descriptor is read, which does not change.
unsafe impl Sync for Chunk {}

/// Bytes to which only [`Buffer`]s lead.
struct Memory(*mut [u8]);

// SAFETY: owned memory.
unsafe impl Send for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made of a box in `Port::buffers`; the last buffer is gone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

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
            Ok(Port { endpoint, queue, vector, operations: Slab::new(), failed: Vec::new(), domain })
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

    /// Makes a peer's endpoint known, for good: something may be on its way to it whenever it would be forgotten. (An address is what the peer has told: of the provider's length, or it is refused.)
    pub fn insert(&mut self, address: &[u8]) -> Result<PeerAddress, Error> {
        if self.address()?.len() != address.len() {
            return Err(self.library().error("fi_av_insert", ofi_abi::FI_EINVAL));
        }
        let mut inserted = FI_ADDR_NOTAVAIL;
        // SAFETY: a live vector; an address as long as the provider's own.
        let returned = unsafe {
            let insert = (*(*self.vector.as_ptr()).ops).insert;
            insert(self.vector.as_ptr(), address.as_ptr().cast(), 1, &raw mut inserted, 0, null_mut())
        };
        let count = self.library().check("fi_av_insert", returned as isize)?;
        if count != 1 || inserted == FI_ADDR_NOTAVAIL {
            return Err(self.library().error("fi_av_insert", ofi_abi::FI_EADDRNOTAVAIL));
        }
        Ok(PeerAddress(inserted))
    }

    /// Memory for `count` messages of `len` bytes.
    pub fn buffers(&self, count: usize, len: usize) -> Result<Vec<Buffer>, Error> {
        let memory = Memory(Box::into_raw(vec![0u8; count * len].into_boxed_slice()));
        let start = memory.0.cast::<u8>();
        // SAFETY: owned memory, which the chunk keeps longer than its registration.
        let registration = unsafe { self.register_own((start, count * len), Use::Messages) }?;
        let chunk = Arc::new(Chunk { registration, _memory: memory });
        let buffer = |at: usize| {
            // SAFETY: inside of the memory.
            let start = unsafe { NonNull::new_unchecked(start.add(at * len)) };
            Buffer { start, len, chunk: chunk.clone() }
        };
        Ok((0..count).map(buffer).collect())
    }

    /// Bytes that are sent at once without a completion, at most.
    pub fn inject_len(&self) -> usize {
        self.domain.offer.inject_len()
    }

    pub(super) fn library(&self) -> &Library {
        &self.domain.offer.library
    }
}

impl Buffer {
    /// What is in it.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: its bytes are initialized, and not under way while somebody has the handle.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The same, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as before, and this is the only handle.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(super) fn descriptor(&self) -> *mut c_void {
        self.chunk.registration.as_ref().map_or(null_mut(), Registration::descriptor)
    }
}
