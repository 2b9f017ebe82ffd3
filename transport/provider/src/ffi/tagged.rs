//! Tagged messages.

use std::ffi::c_void;

use fishplate_engine::{Envelope, PeekAction, Space};
use ofi_abi::*;

use super::memory::{piece, pieces};
use super::message::{Desc, Descs, context_number, incoming, injected, on_endpoint, outgoing, posting, with_flags};
use crate::endpoint::transfer::{Incoming, Outgoing};
use crate::endpoint::{Endpoint, Report};
use crate::errno::{Errno, Outcome};

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

posting! {
    send: send(buffer: *const c_void, len: usize, _: Desc, dest: fi_addr_t, tag: u64, context: *mut c_void)
        => outgoing(dest, Envelope::Tagged(tag), piece(buffer, len), context);
    send: sendv(iov: *const iovec, _: Descs, count: usize, dest: fi_addr_t, tag: u64, context: *mut c_void)
        => outgoing(dest, Envelope::Tagged(tag), pieces(iov, count)?, context);
    send: sendmsg(msg: *const fi_msg_tagged, flags: u64) => described(msg, flags)?;
    send: inject(buffer: *const c_void, len: usize, dest: fi_addr_t, tag: u64)
        => injected(dest, Envelope::Tagged(tag), piece(buffer, len), None);
    send: senddata(
        buffer: *const c_void, len: usize, _: Desc, data: u64, dest: fi_addr_t, tag: u64, context: *mut c_void
    ) => Outgoing { data: Some(data), ..outgoing(dest, Envelope::Tagged(tag), piece(buffer, len), context) };
    send: injectdata(buffer: *const c_void, len: usize, data: u64, dest: fi_addr_t, tag: u64)
        => injected(dest, Envelope::Tagged(tag), piece(buffer, len), Some(data));
    recv: recv(
        buffer: *mut c_void, len: usize, _: Desc, source: fi_addr_t, tag: u64, ignore: u64, context: *mut c_void
    ) => incoming(source, Space::Tagged { tag, ignore }, piece(buffer, len), context);
    recv: recvv(
        iov: *const iovec, _: Descs, count: usize, source: fi_addr_t, tag: u64, ignore: u64, context: *mut c_void
    ) => incoming(source, Space::Tagged { tag, ignore }, pieces(iov, count)?, context);
}

/// A message from its structure.
///
/// # Safety
/// `msg` is null or valid, with arrays of the lengths in it.
#[inline]
unsafe fn described(msg: *const fi_msg_tagged, flags: u64) -> Outcome<Outgoing> {
    // SAFETY: the caller promises it.
    let (msg, payload) = unsafe {
        let msg = msg.as_ref().ok_or(Errno(FI_EINVAL))?;
        (msg, pieces(msg.msg_iov, msg.iov_count)?)
    };
    Ok(with_flags(outgoing(msg.addr, Envelope::Tagged(msg.tag), payload, msg.context), flags, msg.data))
}

unsafe extern "C" fn recvmsg(ep: *mut fid_ep, msg: *const fi_msg_tagged, flags: u64) -> isize {
    let receive = |endpoint: &Endpoint| {
        // SAFETY: the contract: null or a valid message.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
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
        // SAFETY: the contract: arrays of the lengths in the message.
        let buffer = unsafe { pieces(msg.msg_iov, msg.iov_count) }?;
        let space = Space::Tagged { tag: msg.tag, ignore: msg.ignore };
        let receive = incoming(msg.addr, space, buffer, msg.context);
        let receive = Incoming { report: Report::Flags(flags), ..receive };
        if flags & FI_CLAIM != 0 { endpoint.recv_claimed(receive) } else { endpoint.recv(receive) }
    };
    // SAFETY: the contract.
    unsafe { on_endpoint(ep, receive) }
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
