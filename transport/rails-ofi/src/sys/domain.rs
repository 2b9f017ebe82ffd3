//! A fabric, and one of its domains.

use ofi_abi::{fid_domain, fid_fabric};

use super::Offer;
use super::object::Object;

/// A fabric, and one of its domains.
pub(super) struct Domain {
    pub(super) domain: Object<fid_domain>,
    pub(super) fabric: Object<fid_fabric>,
    pub(super) offer: Offer,
}

// SAFETY: registrations are opened and closed by the thread that holds the endpoint, one at a time.
unsafe impl Sync for Domain {}
