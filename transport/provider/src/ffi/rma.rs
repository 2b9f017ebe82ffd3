//! Remote memory access.

use std::ffi::c_void;

use fishplate_engine::{Payload, Remote};
use ofi_abi::*;

use super::memory::{piece, pieces};
use super::message::{Desc, Descs, context_number, on_endpoint, posting};
use crate::endpoint::Report;
use crate::endpoint::rma::Access;
use crate::errno::{Errno, Outcome};

pub(super) static OPS: fi_ops_rma = fi_ops_rma {
    size: size_of::<fi_ops_rma>(),
    read,
    readv,
    readmsg,
    write,
    writev,
    writemsg,
    inject,
    writedata,
    injectdata,
};

/// An access for `read`, `write` and their variants.
fn access(peer: fi_addr_t, (address, key): (u64, u64), local: Payload, context: *mut c_void) -> Access {
    let remote = Remote { key, address };
    Access { peer, remote, data: None, local, inject: false, report: Report::Default, context: context_number(context) }
}

/// An access for `inject` and its variants.
fn injected(peer: fi_addr_t, place: (u64, u64), local: Payload, data: Option<u64>) -> Access {
    let silent = access(peer, place, local, std::ptr::null_mut());
    Access { data, inject: true, report: Report::Never, ..silent }
}

/// An access from a message structure.
///
/// # Safety
/// `msg` is null or valid, with arrays of the lengths in it.
unsafe fn described(msg: *const fi_msg_rma, flags: u64) -> Outcome<Access> {
    // SAFETY: the caller promises it.
    let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
    if flags & (FI_FENCE | FI_COMMIT_COMPLETE) != 0 {
        return Err(Errno(FI_EBADFLAGS));
    }
    if msg.rma_iov_count != 1 || msg.rma_iov.is_null() {
        return Err(Errno(FI_EINVAL));
    }
    // SAFETY: the caller promises it; one entry, which is not null.
    let (local, remote) = unsafe { (pieces(msg.msg_iov, msg.iov_count)?, &*msg.rma_iov) };
    if remote.len as u64 != local.len() {
        return Err(Errno(FI_EINVAL));
    }
    Ok(Access {
        data: (flags & FI_REMOTE_CQ_DATA != 0).then_some(msg.data),
        inject: flags & FI_INJECT != 0,
        report: Report::Flags(flags),
        ..access(msg.addr, (remote.addr, remote.key), local, msg.context)
    })
}

posting! {
    read: read(
        buffer: *mut c_void, len: usize, _: Desc, source: fi_addr_t, address: u64, key: u64, context: *mut c_void
    ) => access(source, (address, key), piece(buffer, len), context);
    read: readv(
        iov: *const iovec, _: Descs, count: usize, source: fi_addr_t, address: u64, key: u64, context: *mut c_void
    ) => access(source, (address, key), pieces(iov, count)?, context);
    read: readmsg(msg: *const fi_msg_rma, flags: u64) => described(msg, flags)?;
    write: write(
        buffer: *const c_void, len: usize, _: Desc, dest: fi_addr_t, address: u64, key: u64, context: *mut c_void
    ) => access(dest, (address, key), piece(buffer, len), context);
    write: writev(
        iov: *const iovec, _: Descs, count: usize, dest: fi_addr_t, address: u64, key: u64, context: *mut c_void
    ) => access(dest, (address, key), pieces(iov, count)?, context);
    write: writemsg(msg: *const fi_msg_rma, flags: u64) => described(msg, flags)?;
    write: inject(buffer: *const c_void, len: usize, dest: fi_addr_t, address: u64, key: u64)
        => injected(dest, (address, key), piece(buffer, len), None);
    write: writedata(
        buffer: *const c_void, len: usize, _: Desc, data: u64, dest: fi_addr_t, address: u64, key: u64,
        context: *mut c_void
    ) => Access { data: Some(data), ..access(dest, (address, key), piece(buffer, len), context) };
    write: injectdata(buffer: *const c_void, len: usize, data: u64, dest: fi_addr_t, address: u64, key: u64)
        => injected(dest, (address, key), piece(buffer, len), Some(data));
}
