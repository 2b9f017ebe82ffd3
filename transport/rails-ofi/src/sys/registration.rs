//! Registration of memory for an adapter.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use fishplate_engine::Payload;
use fishplate_link_core::{UserMemory, random};
use ofi_abi::{FI_ENOKEY, FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_READ, FI_RECV, FI_REMOTE_READ, FI_SEND};

use super::Error;
use super::domain::Domain;
use super::object::Object;

/// Keys that are tried where this side chooses them, as one may be in use.
const MAX_TRIES: usize = 8;

/// Registered memory, until it is dropped.
pub struct Registration {
    mr: Object<ofi_abi::fid_mr>,
    /// Is closed after it.
    _domain: Arc<Domain>,
}

/// A piece of this process's memory that a peer may read.
pub struct LentPiece<R = Registration> {
    /// Ends when it is dropped.
    pub(crate) _registration: R,
    /// Its address for the peer.
    pub address: u64,
    /// Its key for the peer.
    pub key: u64,
    /// Length in bytes.
    pub len: u64,
}

/// Purpose of registered memory.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// This side's sends and receives.
    Messages,
    /// This side reads remote memory into it.
    Destination,
    /// The peer reads it.
    Source,
}

impl Registration {
    /// # Safety
    /// `part` is memory of this process, which stays until the registration is dropped.
    pub(super) unsafe fn new(domain: &Arc<Domain>, part: *mut [u8], purpose: Use) -> Result<Registration, Error> {
        let access = match purpose {
            Use::Messages => FI_SEND | FI_RECV,
            Use::Destination => FI_READ,
            Use::Source => FI_REMOTE_READ,
        };
        let offer = &domain.offer;
        let mut tries = MAX_TRIES;
        loop {
            let key = if offer.has_mr_mode(FI_MR_PROV_KEY) { 0 } else { random_key(offer.key_len()) };
            // SAFETY: a live domain; the caller promises the memory.
            let mr = unsafe {
                let reg = (*(*domain.domain.as_ptr()).mr).reg;
                let start = part.cast::<c_void>().cast_const();
                let open = |place| reg(domain.domain.fid(), start, part.len(), access, 0, key, 0, place, null_mut());
                Object::open(&offer.library, "fi_mr_reg", open)
            };
            tries -= 1;
            match mr {
                Err(error) if error.number == FI_ENOKEY && tries > 0 => continue,
                mr => return Ok(Registration { mr: mr?, _domain: domain.clone() }),
            }
        }
    }

    /// Its descriptor for this side's operations.
    pub(super) fn descriptor(&self) -> *mut c_void {
        // SAFETY: a live object.
        unsafe { (*self.mr.as_ptr()).mem_desc }
    }

    fn key(&self) -> u64 {
        // SAFETY: as before.
        unsafe { (*self.mr.as_ptr()).key }
    }
}

/// Registers a payload, so that peers with the key can read it.
pub(super) fn lend(domain: &Arc<Domain>, memory: &UserMemory, payload: &Payload) -> Result<Vec<LentPiece>, Error> {
    let is_virtual = domain.offer.has_mr_mode(FI_MR_VIRT_ADDR);
    let lend = |piece: *mut [u8]| {
        // SAFETY: the creator of `memory` guarantees that it stays valid until the send has completed, which ends the loan.
        let registration = unsafe { Registration::new(domain, piece, Use::Source) }?;
        let address = if is_virtual { piece.cast::<u8>().expose_provenance() as u64 } else { 0 };
        Ok(LentPiece { key: registration.key(), _registration: registration, address, len: piece.len() as u64 })
    };
    memory.parts(payload, 0, payload.len()).map(lend).collect()
}

/// Registers memory for this side's operations, where the provider requires that.
///
/// # Safety
/// As of [`Registration::new`].
pub(super) unsafe fn register_own(
    domain: &Arc<Domain>,
    part: *mut [u8],
    purpose: Use,
) -> Result<Option<Registration>, Error> {
    let is_wanted = domain.offer.has_mr_mode(FI_MR_LOCAL);
    // SAFETY: the caller's promise.
    is_wanted.then(|| unsafe { Registration::new(domain, part, purpose) }).transpose()
}

/// A random key, which cannot be guessed if it is long enough.
fn random_key(len: usize) -> u64 {
    let key = random().map_or(0, u64::from_le_bytes);
    if len >= 8 { key } else { key & ((1 << (8 * len)) - 1) }
}
