//! Untagged messages.

use std::ffi::c_void;

use fishplate_engine::{Envelope, Payload, Space};
use ofi_abi::*;

use super::call_long;
use super::endpoint::EndpointHandle;
use super::memory::{piece, pieces};
use crate::endpoint::Report;
use crate::errno::Errno;
use crate::transfer::{Incoming, Outgoing};

pub(super) static OPS: fi_ops_msg = fi_ops_msg {
    size: size_of::<fi_ops_msg>(),
    recv,
    recvv,
    recvmsg,
    send,
    sendv,
    sendmsg,
    inject,
    senddata,
    injectdata,
};

/// The application's context as the engine's number.
#[inline]
pub fn context_number(context: *mut c_void) -> u64 {
    context.expose_provenance() as u64
}

/// A message as `send` and its relatives mean it.
#[inline]
fn outgoing(dest: fi_addr_t, payload: Payload, context: *mut c_void) -> Outgoing {
    Outgoing {
        dest,
        envelope: Envelope::Message,
        data: None,
        payload,
        inject: false,
        report: Report::Default,
        context: context_number(context),
    }
}

/// A message as `inject` and its relatives mean it.
#[inline]
fn injected(dest: fi_addr_t, payload: Payload, data: Option<u64>) -> Outgoing {
    Outgoing { dest, envelope: Envelope::Message, data, payload, inject: true, report: Report::Never, context: 0 }
}

#[inline]
fn incoming(source: fi_addr_t, buffer: Payload, context: *mut c_void) -> Incoming {
    Incoming {
        source,
        space: Space::Message,
        buffer,
        multi: false,
        report: Report::Default,
        context: context_number(context),
    }
}

/// Posts a message. Inlined: this is the path of small messages.
///
/// # Safety
/// `ep` is an open endpoint of ours; the payload keeps the contract.
#[inline]
pub unsafe fn post(ep: *mut fid_ep, message: Outgoing) -> isize {
    // SAFETY: the caller promises it.
    call_long(|| unsafe { EndpointHandle::object(ep) }.send(message))
}

unsafe extern "C" fn send(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    dest: fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, outgoing(dest, piece(buffer, len), context)) }
}

unsafe extern "C" fn sendv(
    ep: *mut fid_ep,
    iov: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    dest: fi_addr_t,
    context: *mut c_void,
) -> isize {
    call_long(|| {
        // SAFETY: the contract: `count` entries, an open endpoint of ours.
        let (payload, endpoint) = unsafe { (pieces(iov, count)?, EndpointHandle::object(ep)) };
        endpoint.send(outgoing(dest, payload, context))
    })
}

unsafe extern "C" fn sendmsg(ep: *mut fid_ep, msg: *const fi_msg, flags: u64) -> isize {
    call_long(|| {
        // SAFETY: the contract: null or a valid message.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        // SAFETY: the contract: as many entries as the message tells, an open endpoint of ours.
        let (payload, endpoint) = unsafe { (pieces(msg.msg_iov, msg.iov_count)?, EndpointHandle::object(ep)) };
        endpoint.send(Outgoing {
            data: (flags & FI_REMOTE_CQ_DATA != 0).then_some(msg.data),
            inject: flags & FI_INJECT != 0,
            report: Report::Flags(flags),
            ..outgoing(msg.addr, payload, msg.context)
        })
    })
}

unsafe extern "C" fn inject(ep: *mut fid_ep, buffer: *const c_void, len: usize, dest: fi_addr_t) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, injected(dest, piece(buffer, len), None)) }
}

unsafe extern "C" fn senddata(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    data: u64,
    dest: fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, Outgoing { data: Some(data), ..outgoing(dest, piece(buffer, len), context) }) }
}

unsafe extern "C" fn injectdata(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    data: u64,
    dest: fi_addr_t,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, injected(dest, piece(buffer, len), Some(data))) }
}

unsafe extern "C" fn recv(
    ep: *mut fid_ep,
    buffer: *mut c_void,
    len: usize,
    _: *mut c_void,
    source: fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract: an open endpoint of ours.
    call_long(|| unsafe { EndpointHandle::object(ep) }.recv(incoming(source, piece(buffer, len), context)))
}

unsafe extern "C" fn recvv(
    ep: *mut fid_ep,
    iov: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    source: fi_addr_t,
    context: *mut c_void,
) -> isize {
    call_long(|| {
        // SAFETY: the contract: `count` entries, an open endpoint of ours.
        let (buffer, endpoint) = unsafe { (pieces(iov, count)?, EndpointHandle::object(ep)) };
        endpoint.recv(incoming(source, buffer, context))
    })
}

unsafe extern "C" fn recvmsg(ep: *mut fid_ep, msg: *const fi_msg, flags: u64) -> isize {
    call_long(|| {
        // SAFETY: the contract: null or a valid message.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        let multi = flags & FI_MULTI_RECV != 0;
        // Only tagged messages can be looked at, and a multi-receive buffer is one piece.
        if flags & FI_PEEK != 0 || (multi && msg.iov_count != 1) {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: as many entries as the message tells, an open endpoint of ours.
        let (buffer, endpoint) = unsafe { (pieces(msg.msg_iov, msg.iov_count)?, EndpointHandle::object(ep)) };
        endpoint.recv(Incoming { multi, report: Report::Flags(flags), ..incoming(msg.addr, buffer, msg.context) })
    })
}
