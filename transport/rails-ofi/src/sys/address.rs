//! Addresses of endpoints.

use ofi_abi::{FI_ETOOSMALL, fi_ops_cm, fid};

use super::{Error, Library};

/// Longest address, in bytes.
const MAX_ADDRESS: usize = 512;

/// Names a peer of an endpoint: by its address in the vector, or by its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub(crate) u64);

/// Where an endpoint is reached.
///
/// # Safety
/// `endpoint` is a live endpoint, `cm` its functions.
pub(super) unsafe fn address_of(library: &Library, endpoint: *mut fid, cm: *const fi_ops_cm) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0u8; MAX_ADDRESS];
    let mut len = bytes.len();
    // SAFETY: the caller's promise; the buffer has the given length.
    let returned = unsafe { ((*cm).getname)(endpoint, bytes.as_mut_ptr().cast(), &raw mut len) };
    library.check("fi_getname", returned as isize)?;
    if len > MAX_ADDRESS {
        return Err(library.error("fi_getname", FI_ETOOSMALL));
    }
    bytes.truncate(len);
    Ok(bytes)
}
