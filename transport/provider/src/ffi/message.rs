//! Functions that tagged and untagged messages share.

use std::ffi::c_void;

use fishplate_engine::{Envelope, Payload, Space};
use ofi_abi::*;

use super::call_long;
use super::handle::EndpointHandle;
use super::memory::pieces;
use crate::endpoint::Report;
use crate::endpoint::transfer::{Incoming, Outgoing};

/// The application's context as the engine's number.
#[inline]
pub fn context_number(context: *mut c_void) -> u64 {
    context.expose_provenance() as u64
}

/// A message for `send` and its variants.
#[inline]
pub fn outgoing(dest: fi_addr_t, envelope: Envelope, payload: Payload, context: *mut c_void) -> Outgoing {
    let context = context_number(context);
    Outgoing { dest, envelope, data: None, payload, inject: false, report: Report::Default, context }
}

/// A message for `inject` and its variants.
#[inline]
pub fn injected(dest: fi_addr_t, envelope: Envelope, payload: Payload, data: Option<u64>) -> Outgoing {
    Outgoing { dest, envelope, data, payload, inject: true, report: Report::Never, context: 0 }
}

/// `message` with the flags of `sendmsg`; `data`: from the message structure.
#[inline]
pub fn with_flags(message: Outgoing, flags: u64, data: u64) -> Outgoing {
    Outgoing {
        data: (flags & FI_REMOTE_CQ_DATA != 0).then_some(data),
        inject: flags & FI_INJECT != 0,
        report: Report::Flags(flags),
        ..message
    }
}

/// A receive for `recv` and its variants.
#[inline]
pub fn incoming(source: fi_addr_t, space: Space, buffer: Payload, context: *mut c_void) -> Incoming {
    Incoming { source, space, buffer, multi: false, report: Report::Default, context: context_number(context) }
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

/// Posts the message that `message` makes of several pieces of memory.
///
/// # Safety
/// `ep` is an open endpoint of ours; `iov` is valid for reads of `count` entries, which keep the contract.
#[inline]
pub unsafe fn post_pieces(
    ep: *mut fid_ep,
    iov: *const iovec,
    count: usize,
    message: impl FnOnce(Payload) -> Outgoing,
) -> isize {
    call_long(|| {
        // SAFETY: the caller promises it.
        let (payload, endpoint) = unsafe { (pieces(iov, count)?, EndpointHandle::object(ep)) };
        endpoint.send(message(payload))
    })
}

/// Posts a receive.
///
/// # Safety
/// `ep` is an open endpoint of ours; the buffer keeps the contract.
#[inline]
pub unsafe fn post_receive(ep: *mut fid_ep, receive: Incoming) -> isize {
    // SAFETY: the caller promises it.
    call_long(|| unsafe { EndpointHandle::object(ep) }.recv(receive))
}

/// Posts the receive that `receive` makes of several pieces of memory.
///
/// # Safety
/// `ep` is an open endpoint of ours; `iov` is valid for reads of `count` entries, which keep the contract.
#[inline]
pub unsafe fn post_receive_pieces(
    ep: *mut fid_ep,
    iov: *const iovec,
    count: usize,
    receive: impl FnOnce(Payload) -> Incoming,
) -> isize {
    call_long(|| {
        // SAFETY: the caller promises it.
        let (buffer, endpoint) = unsafe { (pieces(iov, count)?, EndpointHandle::object(ep)) };
        endpoint.recv(receive(buffer))
    })
}
