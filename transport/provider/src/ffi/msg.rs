//! Untagged messages.

use std::ffi::c_void;

use fishplate_engine::{Envelope, Space};
use ofi_abi::*;

use super::call_long;
use super::handle::EndpointHandle;
use super::memory::{piece, pieces};
use super::message::{incoming, injected, outgoing, post, post_pieces, post_receive, post_receive_pieces, with_flags};
use crate::endpoint::Report;
use crate::endpoint::transfer::{Incoming, Outgoing};
use crate::errno::Errno;

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

unsafe extern "C" fn send(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    dest: fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, outgoing(dest, Envelope::Message, piece(buffer, len), context)) }
}

unsafe extern "C" fn sendv(
    ep: *mut fid_ep,
    iov: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    dest: fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract.
    unsafe { post_pieces(ep, iov, count, |payload| outgoing(dest, Envelope::Message, payload, context)) }
}

unsafe extern "C" fn sendmsg(ep: *mut fid_ep, msg: *const fi_msg, flags: u64) -> isize {
    call_long(|| {
        // SAFETY: the contract: null or a valid message.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        // SAFETY: the contract: arrays of the lengths in the message, an open endpoint of ours.
        let (payload, endpoint) = unsafe { (pieces(msg.msg_iov, msg.iov_count)?, EndpointHandle::object(ep)) };
        endpoint.send(with_flags(outgoing(msg.addr, Envelope::Message, payload, msg.context), flags, msg.data))
    })
}

unsafe extern "C" fn inject(ep: *mut fid_ep, buffer: *const c_void, len: usize, dest: fi_addr_t) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, injected(dest, Envelope::Message, piece(buffer, len), None)) }
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
    unsafe { post(ep, Outgoing { data: Some(data), ..outgoing(dest, Envelope::Message, piece(buffer, len), context) }) }
}

unsafe extern "C" fn injectdata(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    data: u64,
    dest: fi_addr_t,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, injected(dest, Envelope::Message, piece(buffer, len), Some(data))) }
}

unsafe extern "C" fn recv(
    ep: *mut fid_ep,
    buffer: *mut c_void,
    len: usize,
    _: *mut c_void,
    source: fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract.
    unsafe { post_receive(ep, incoming(source, Space::Message, piece(buffer, len), context)) }
}

unsafe extern "C" fn recvv(
    ep: *mut fid_ep,
    iov: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    source: fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: the contract.
    unsafe { post_receive_pieces(ep, iov, count, |buffer| incoming(source, Space::Message, buffer, context)) }
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
        // SAFETY: the contract: arrays of the lengths in the message, an open endpoint of ours.
        let (buffer, endpoint) = unsafe { (pieces(msg.msg_iov, msg.iov_count)?, EndpointHandle::object(ep)) };
        endpoint.recv(Incoming {
            multi,
            report: Report::Flags(flags),
            ..incoming(msg.addr, Space::Message, buffer, msg.context)
        })
    })
}
