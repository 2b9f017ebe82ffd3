//! Untagged messages.

use std::ffi::c_void;

use fishplate_engine::{Envelope, Space};
use ofi_abi::*;

use super::memory::{piece, pieces};
use super::message::{Desc, Descs, incoming, injected, on_endpoint, outgoing, posting, with_flags};
use crate::endpoint::Report;
use crate::endpoint::transfer::{Incoming, Outgoing};
use crate::errno::{Errno, Outcome};

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

posting! {
    send: send(buffer: *const c_void, len: usize, _: Desc, dest: fi_addr_t, context: *mut c_void)
        => outgoing(dest, Envelope::Message, piece(buffer, len), context);
    send: sendv(iov: *const iovec, _: Descs, count: usize, dest: fi_addr_t, context: *mut c_void)
        => outgoing(dest, Envelope::Message, pieces(iov, count)?, context);
    send: sendmsg(msg: *const fi_msg, flags: u64) => described(msg, flags)?;
    send: inject(buffer: *const c_void, len: usize, dest: fi_addr_t)
        => injected(dest, Envelope::Message, piece(buffer, len), None);
    send: senddata(buffer: *const c_void, len: usize, _: Desc, data: u64, dest: fi_addr_t, context: *mut c_void)
        => Outgoing { data: Some(data), ..outgoing(dest, Envelope::Message, piece(buffer, len), context) };
    send: injectdata(buffer: *const c_void, len: usize, data: u64, dest: fi_addr_t)
        => injected(dest, Envelope::Message, piece(buffer, len), Some(data));
    recv: recv(buffer: *mut c_void, len: usize, _: Desc, source: fi_addr_t, context: *mut c_void)
        => incoming(source, Space::Message, piece(buffer, len), context);
    recv: recvv(iov: *const iovec, _: Descs, count: usize, source: fi_addr_t, context: *mut c_void)
        => incoming(source, Space::Message, pieces(iov, count)?, context);
    recv: recvmsg(msg: *const fi_msg, flags: u64) => described_receive(msg, flags)?;
}

/// A message from its structure.
///
/// # Safety
/// `msg` is null or valid, with arrays of the lengths in it.
#[inline]
unsafe fn described(msg: *const fi_msg, flags: u64) -> Outcome<Outgoing> {
    // SAFETY: the caller promises it.
    let (msg, payload) = unsafe {
        let msg = msg.as_ref().ok_or(Errno(FI_EINVAL))?;
        (msg, pieces(msg.msg_iov, msg.iov_count)?)
    };
    Ok(with_flags(outgoing(msg.addr, Envelope::Message, payload, msg.context), flags, msg.data))
}

/// A receive from its structure.
///
/// # Safety
/// As of [`described`].
#[inline]
unsafe fn described_receive(msg: *const fi_msg, flags: u64) -> Outcome<Incoming> {
    // SAFETY: the caller promises it.
    let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
    let multi = flags & FI_MULTI_RECV != 0;
    // Only tagged messages can be looked at, and a multi-receive buffer is one piece.
    if flags & FI_PEEK != 0 || (multi && msg.iov_count != 1) {
        return Err(Errno(FI_EINVAL));
    }
    // SAFETY: the caller promises it.
    let buffer = unsafe { pieces(msg.msg_iov, msg.iov_count) }?;
    let receive = incoming(msg.addr, Space::Message, buffer, msg.context);
    Ok(Incoming { multi, report: Report::Flags(flags), ..receive })
}
