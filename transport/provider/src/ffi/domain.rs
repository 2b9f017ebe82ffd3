//! The domain object.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use ofi_abi::*;

use super::handle::{Close, DomainHandle, FabricHandle, new_fid, table};
use super::{address_vector, atomic, call, completion_queue, counter, endpoint, fid_ops, memory_region, refuse};
use crate::domain::Domain;
use crate::regions::Addressing;

impl Close for Domain {
    fn is_in_use(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }
}

static FID_OPS: fi_ops = fi_ops { bind, ..fid_ops(DomainHandle::close) };

static OPS: fi_ops_domain = fi_ops_domain {
    size: size_of::<fi_ops_domain>(),
    av_open: address_vector::open,
    cq_open: completion_queue::open,
    endpoint: endpoint::open,
    scalable_ep,
    cntr_open: counter::open,
    poll_open,
    stx_ctx,
    srx_ctx,
    query_atomic: atomic::query,
    query_collective,
    endpoint2: endpoint::open_with_flags,
};

refuse! {
    scalable_ep(*mut fid_domain, *mut fi_info, *mut *mut fid_ep, *mut c_void) -> c_int;
    poll_open(*mut fid_domain, *mut fi_poll_attr, *mut *mut fid_poll) -> c_int;
    stx_ctx(*mut fid_domain, *mut fi_tx_attr, *mut *mut fid_stx, *mut c_void) -> c_int;
    srx_ctx(*mut fid_domain, *mut fi_rx_attr, *mut *mut fid_ep, *mut c_void) -> c_int;
    query_collective(*mut fid_domain, c_uint, *mut c_void, u64) -> c_int;
}

pub unsafe extern "C" fn open(
    fabric: *mut fid_fabric,
    info: *mut fi_info,
    out: *mut *mut fid_domain,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract: an open fabric of ours, into whose member libfabric wrote before it gave it away.
        let (parent, api_version) = unsafe { (FabricHandle::object(fabric).clone(), (*fabric).api_version) };
        // SAFETY: the contract: null or a valid structure with valid parts.
        let attributes = unsafe { info.as_ref().and_then(|info| info.domain_attr.as_ref()) };
        let (mode, progress) = attributes.map_or((0, 0), |domain| (domain.mr_mode, domain.data_progress));
        let addressing = if mode == FI_MR_BASIC { Addressing::Virtual } else { Addressing::Offsets };
        let domain = Arc::new(Domain::new(parent, api_version, addressing, progress == FI_PROGRESS_AUTO));
        let base = fid_domain {
            fid: new_fid(FI_CLASS_DOMAIN, context, &FID_OPS),
            ops: table(&OPS),
            mr: table(&memory_region::OPS),
        };
        // SAFETY: the contract: `out` is valid.
        unsafe { DomainHandle::open(out, base, domain) }
    })
}

/// The only flags are for domains that forward to their peers.
pub unsafe extern "C" fn open_with_flags(
    fabric: *mut fid_fabric,
    info: *mut fi_info,
    out: *mut *mut fid_domain,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    if flags != 0 {
        return -FI_EBADFLAGS;
    }
    // SAFETY: the caller keeps the contract of the function called here.
    unsafe { open(fabric, info, out, context) }
}

/// An event queue may be bound; no event of a domain ever happens.
unsafe extern "C" fn bind(_: *mut fid, _: *mut fid, _: u64) -> c_int {
    0
}
