//! Untagged messages.

use std::ffi::c_void;

use fishplate_engine::{Envelope, Space};
use ofi_abi::*;

use super::memory::{piece, pieces};
use super::message::{incoming, injected, outgoing, post, post_receive, with_flags};
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
    unsafe { post(ep, || Ok(outgoing(dest, Envelope::Message, piece(buffer, len), context))) }
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
    unsafe { post(ep, || Ok(outgoing(dest, Envelope::Message, pieces(iov, count)?, context))) }
}

unsafe extern "C" fn sendmsg(ep: *mut fid_ep, msg: *const fi_msg, flags: u64) -> isize {
    let message = || {
        // SAFETY: the contract: null or a valid message, with arrays of the lengths in it.
        let (msg, payload) = unsafe {
            let msg = msg.as_ref().ok_or(Errno(FI_EINVAL))?;
            (msg, pieces(msg.msg_iov, msg.iov_count)?)
        };
        Ok(with_flags(outgoing(msg.addr, Envelope::Message, payload, msg.context), flags, msg.data))
    };
    // SAFETY: the contract.
    unsafe { post(ep, message) }
}

unsafe extern "C" fn inject(ep: *mut fid_ep, buffer: *const c_void, len: usize, dest: fi_addr_t) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, || Ok(injected(dest, Envelope::Message, piece(buffer, len), None))) }
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
    unsafe {
        post(ep, || Ok(Outgoing { data: Some(data), ..outgoing(dest, Envelope::Message, piece(buffer, len), context) }))
    }
}

unsafe extern "C" fn injectdata(
    ep: *mut fid_ep,
    buffer: *const c_void,
    len: usize,
    data: u64,
    dest: fi_addr_t,
) -> isize {
    // SAFETY: the contract.
    unsafe { post(ep, || Ok(injected(dest, Envelope::Message, piece(buffer, len), Some(data)))) }
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
    unsafe { post_receive(ep, || Ok(incoming(source, Space::Message, piece(buffer, len), context))) }
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
    unsafe { post_receive(ep, || Ok(incoming(source, Space::Message, pieces(iov, count)?, context))) }
}

unsafe extern "C" fn recvmsg(ep: *mut fid_ep, msg: *const fi_msg, flags: u64) -> isize {
    let receive = || {
        // SAFETY: the contract: null or a valid message.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        let multi = flags & FI_MULTI_RECV != 0;
        // Only tagged messages can be looked at, and a multi-receive buffer is one piece.
        if flags & FI_PEEK != 0 || (multi && msg.iov_count != 1) {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: arrays of the lengths in the message.
        let buffer = unsafe { pieces(msg.msg_iov, msg.iov_count) }?;
        let receive = incoming(msg.addr, Space::Message, buffer, msg.context);
        Ok(Incoming { multi, report: Report::Flags(flags), ..receive })
    };
    // SAFETY: the contract.
    unsafe { post_receive(ep, receive) }
}
