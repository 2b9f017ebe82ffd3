//! Tagged messages.

use std::ffi::c_void;

use fishplate_engine::{Envelope, Payload, PeekAction, Space};
use ofi_abi::*;

use super::call_long;
use super::endpoint::EndpointHandle;
use super::memory::{piece, pieces};
use super::msg::{context_number, post};
use crate::endpoint::{Endpoint, Report};
use crate::errno::{Errno, Outcome};
use crate::transfer::{Incoming, Outgoing};

pub(super) static OPS: fi_ops_tagged = fi_ops_tagged {
    size: size_of::<fi_ops_tagged>(),
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

/// A message as `send` and its relatives mean it.
#[inline]
fn outgoing(dest: fi_addr_t, tag: u64, payload: Payload, context: *mut c_void) -> Outgoing {
    Outgoing {
        dest,
        envelope: Envelope::Tagged(tag),
        data: None,
        payload,
        inject: false,
        report: Report::Default,
        context: context_number(context),
    }
}

/// A message as `inject` and its relatives mean it.
#[inline]
fn injected(dest: fi_addr_t, tag: u64, payload: Payload, data: Option<u64>) -> Outgoing {
    let envelope = Envelope::Tagged(tag);
    Outgoing { dest, envelope, data, payload, inject: true, report: Report::Never, context: 0 }
}

#[inline]
fn incoming(source: fi_addr_t, tag: u64, ignore: u64, buffer: Payload, context: *mut c_void) -> Incoming {
    let space = Space::Tagged { tag, ignore };
    Incoming { source, space, buffer, multi: false, report: Report::Default, context: context_number(context) }
}

unsafe extern "C" fn send(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    dest: fi_addr_t,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, outgoing(dest, tag, piece(buffer, len), context)) }
}

unsafe extern "C" fn sendv(
    ep: *mut fid_ep,
    iov: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    dest: fi_addr_t,
    tag: u64,
    context: *mut c_void,
) -> isize {
    call_long(|| {
        // SAFETY: the contract: `count` entries, an open endpoint of ours.
        let (payload, endpoint) = unsafe { (pieces(iov, count)?, EndpointHandle::object(ep)) };
        endpoint.send(outgoing(dest, tag, payload, context))
    })
}

unsafe extern "C" fn sendmsg(ep: *mut fid_ep, msg: *const fi_msg_tagged, flags: u64) -> isize {
    call_long(|| {
        // SAFETY: the contract: null or a valid message.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        // SAFETY: the contract: as many entries as the message tells, an open endpoint of ours.
        let (payload, endpoint) = unsafe { (pieces(msg.msg_iov, msg.iov_count)?, EndpointHandle::object(ep)) };
        endpoint.send(Outgoing {
            data: (flags & FI_REMOTE_CQ_DATA != 0).then_some(msg.data),
            inject: flags & FI_INJECT != 0,
            report: Report::Flags(flags),
            ..outgoing(msg.addr, msg.tag, payload, msg.context)
        })
    })
}

unsafe extern "C" fn inject(ep: *mut fid_ep, buffer: *const c_void, len: usize, dest: fi_addr_t, tag: u64) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, injected(dest, tag, piece(buffer, len), None)) }
}

unsafe extern "C" fn senddata(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    data: u64,
    dest: fi_addr_t,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, Outgoing { data: Some(data), ..outgoing(dest, tag, piece(buffer, len), context) }) }
}

unsafe extern "C" fn injectdata(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    data: u64,
    dest: fi_addr_t,
    tag: u64,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, injected(dest, tag, piece(buffer, len), Some(data))) }
}

unsafe extern "C" fn recv(
    ep: *mut fid_ep,
    buffer: *mut c_void,
    len: usize,
    _: *mut c_void,
    source: fi_addr_t,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    call_long(|| {
        // SAFETY: the contract: an open endpoint of ours.
        let endpoint = unsafe { EndpointHandle::object(ep) };
        endpoint.recv(incoming(source, tag, ignore, piece(buffer, len), context))
    })
}

unsafe extern "C" fn recvv(
    ep: *mut fid_ep,
    iov: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    source: fi_addr_t,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    call_long(|| {
        // SAFETY: the contract: `count` entries, an open endpoint of ours.
        let (buffer, endpoint) = unsafe { (pieces(iov, count)?, EndpointHandle::object(ep)) };
        endpoint.recv(incoming(source, tag, ignore, buffer, context))
    })
}

unsafe extern "C" fn recvmsg(ep: *mut fid_ep, msg: *const fi_msg_tagged, flags: u64) -> isize {
    call_long(|| {
        // SAFETY: the contract: null or a valid message.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        // SAFETY: the contract: an open endpoint of ours.
        let endpoint = unsafe { EndpointHandle::object(ep) };
        if flags & FI_PEEK != 0 {
            return peek(endpoint, msg, flags);
        }
        if flags & FI_CLAIM != 0 && flags & FI_DISCARD != 0 {
            return endpoint.discard_claimed(context_number(msg.context));
        }
        // Multi-receive is for untagged messages; without a peek or a claim there is nothing to discard.
        if flags & (FI_MULTI_RECV | FI_DISCARD) != 0 {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: as many entries as the message tells.
        let buffer = unsafe { pieces(msg.msg_iov, msg.iov_count) }?;
        let receive = incoming(msg.addr, msg.tag, msg.ignore, buffer, msg.context);
        let receive = Incoming { report: Report::Flags(flags), ..receive };
        if flags & FI_CLAIM != 0 { endpoint.recv_claimed(receive) } else { endpoint.recv(receive) }
    })
}

fn peek(endpoint: &Endpoint, msg: &fi_msg_tagged, flags: u64) -> Outcome<()> {
    let then = match flags & (FI_CLAIM | FI_DISCARD) {
        0 => PeekAction::Leave,
        FI_CLAIM => PeekAction::Claim,
        FI_DISCARD => PeekAction::Discard,
        _ => return Err(Errno(FI_EINVAL)),
    };
    endpoint.peek(msg.addr, Space::Tagged { tag: msg.tag, ignore: msg.ignore }, then, context_number(msg.context))
}
