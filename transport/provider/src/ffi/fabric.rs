//! The fabric object.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use ofi_abi::*;

use super::handle::{Close, FabricHandle, new_fid, table};
use super::{call, domain, event_queue, fid_ops, refuse};
use crate::domain::Fabric;
use crate::environment;
use crate::errno::Errno;

impl Close for Fabric {
    fn is_in_use(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }
}

static FID_OPS: fi_ops = fid_ops(FabricHandle::close);

static OPS: fi_ops_fabric = fi_ops_fabric {
    size: size_of::<fi_ops_fabric>(),
    domain: domain::open,
    passive_ep,
    eq_open: event_queue::open,
    wait_open,
    trywait,
    domain2: domain::open_with_flags,
};

refuse! {
    passive_ep(*mut fid_fabric, *mut fi_info, *mut *mut fid_pep, *mut c_void) -> c_int;
    wait_open(*mut fid_fabric, *mut fi_wait_attr, *mut *mut fid_wait) -> c_int;
}

pub unsafe extern "C" fn open(_: *mut fi_fabric_attr, out: *mut *mut fid_fabric, context: *mut c_void) -> c_int {
    call(|| {
        let fabric = Arc::new(Fabric { settings: environment::settings()? });
        // libfabric's core writes the version that the application asked for after this call.
        let api_version = fi_version(2, 5);
        let fid = new_fid(FI_CLASS_FABRIC, context, &FID_OPS);
        // SAFETY: the contract: `out` is valid.
        unsafe { FabricHandle::open(out, fid_fabric { fid, ops: table(&OPS), api_version }, fabric) }
    })
}

/// Whether the application may sleep on the descriptors of these objects. Only on those of empty event queues: otherwise data moves
/// only in calls, and "do not wait now" keeps the application calling.
unsafe extern "C" fn trywait(_: *mut fid_fabric, fids: *mut *mut fid, count: c_int) -> c_int {
    call(|| {
        let count = usize::try_from(count).map_err(|_| Errno(FI_EINVAL))?;
        if fids.is_null() && count > 0 {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: `count` open objects of ours.
        let idle = (0..count).all(|position| unsafe { event_queue::is_empty(fids.add(position).read()) });
        if idle { Ok(()) } else { Err(Errno(FI_EAGAIN)) }
    })
}
