//! The endpoint object: opening, binding, options, names.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use fishplate_rails::{ADDRESS_LEN, Endpoint as Transport};
use ofi_abi::*;

use super::address_vector::{self, AddressVectorHandle};
use super::completion_queue::{self, CompletionQueueHandle};
use super::counter::{self, CounterHandle};
use super::handle::{Close, DomainHandle, EndpointHandle, is_ours, new_fid, table};
use super::{atomic, call, fid_ops, message, msg, refuse, rma, tagged};
use crate::endpoint::{Attributes, Endpoint};
use crate::errno::{Errno, Outcome};
use crate::info::{MAX_MSG_SIZE, USUAL_INJECT_SIZE};

impl Close for Endpoint {
    fn end(self: &Arc<Self>) {
        Endpoint::close(self);
    }
}

static FID_OPS: fi_ops = fi_ops { bind, control, ..fid_ops(EndpointHandle::close) };

static OPS: fi_ops_ep = fi_ops_ep {
    size: size_of::<fi_ops_ep>(),
    cancel,
    getopt,
    setopt,
    tx_ctx,
    rx_ctx,
    rx_size_left: size_left,
    tx_size_left: size_left,
};

static CM_OPS: fi_ops_cm = fi_ops_cm {
    size: size_of::<fi_ops_cm>(),
    setname,
    getname,
    getpeer,
    connect,
    listen,
    accept,
    reject,
    shutdown,
    join,
};

refuse! {
    tx_ctx(*mut fid_ep, c_int, *mut fi_tx_attr, *mut *mut fid_ep, *mut c_void) -> c_int;
    rx_ctx(*mut fid_ep, c_int, *mut fi_rx_attr, *mut *mut fid_ep, *mut c_void) -> c_int;
    size_left(*mut fid_ep) -> isize;
    setname(*mut fid, *mut c_void, usize) -> c_int;
    getpeer(*mut fid_ep, *mut c_void, *mut usize) -> c_int;
    connect(*mut fid_ep, *const c_void, *const c_void, usize) -> c_int;
    listen(*mut fid_pep) -> c_int;
    accept(*mut fid_ep, *const c_void, usize) -> c_int;
    reject(*mut fid_pep, *mut fid, *const c_void, usize) -> c_int;
    shutdown(*mut fid_ep, u64) -> c_int;
    join(*mut fid_ep, *const c_void, u64, *mut *mut c_void, *mut c_void) -> c_int;
}

pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    info: *mut fi_info,
    out: *mut *mut fid_ep,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract: null or a valid structure with valid parts.
        let choice = unsafe { choice(info) }?;
        // SAFETY: the contract: an open domain of ours.
        let endpoint = Arc::new(Endpoint::new(choice, unsafe { DomainHandle::object(domain) }.clone()));
        let base = fid_ep {
            fid: new_fid(FI_CLASS_EP, context, &FID_OPS),
            ops: table(&OPS),
            cm: table(&CM_OPS),
            msg: table(&msg::OPS),
            rma: table(&rma::OPS),
            tagged: table(&tagged::OPS),
            atomic: table(&atomic::OPS),
            collective: null_mut(),
        };
        // SAFETY: the contract: `out` is valid.
        unsafe { EndpointHandle::open(out, base, endpoint) }
    })
}

/// The only flags are for endpoints that forward to their peers.
pub unsafe extern "C" fn open_with_flags(
    domain: *mut fid_domain,
    info: *mut fi_info,
    out: *mut *mut fid_ep,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    if flags != 0 {
        return -FI_EBADFLAGS;
    }
    // SAFETY: the caller keeps the contract of the function called here.
    unsafe { open(domain, info, out, context) }
}

/// # Safety
/// `info` is null or a valid structure with valid parts.
unsafe fn choice(info: *mut fi_info) -> Outcome<Attributes> {
    // SAFETY: the caller promises it.
    unsafe {
        let info = info.as_ref().ok_or(Errno(FI_EINVAL))?;
        if info.ep_attr.as_ref().is_some_and(|ep| ep.type_ != FI_EP_RDM) {
            return Err(Errno(FI_EINVAL));
        }
        Ok(Attributes {
            caps: info.caps,
            tx_op_flags: info.tx_attr.as_ref().map_or(0, |tx| tx.op_flags),
            rx_op_flags: info.rx_attr.as_ref().map_or(0, |rx| rx.op_flags),
        })
    }
}

unsafe extern "C" fn bind(fid: *mut fid, other: *mut fid, flags: u64) -> c_int {
    call(|| {
        if other.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: an open endpoint of ours and an open object; whose it is, is checked before use.
        unsafe {
            let endpoint = EndpointHandle::object(fid);
            if is_ours(other, FI_CLASS_AV, &address_vector::FID_OPS) {
                endpoint.bind_addresses(AddressVectorHandle::object(other))
            } else if is_ours(other, FI_CLASS_CQ, &completion_queue::FID_OPS) {
                endpoint.bind_queue(&CompletionQueueHandle::object(other).queue, flags)
            } else if is_ours(other, FI_CLASS_CNTR, &counter::FID_OPS) {
                endpoint.bind_counter(CounterHandle::object(other), flags)
            } else if is_ours(other, FI_CLASS_EQ, &super::event_queue::FID_OPS) {
                Ok(())
            } else {
                Err(Errno(FI_EINVAL))
            }
        }
    })
}

unsafe extern "C" fn control(fid: *mut fid, command: c_int, argument: *mut c_void) -> c_int {
    call(|| {
        // SAFETY: the contract: an open endpoint of ours.
        let endpoint = unsafe { EndpointHandle::object(fid) };
        match command {
            // SAFETY: extents are made of the application's buffers only (`memory`), which the contract keeps valid,
            // and untouched, until their operation has completed.
            FI_ENABLE => endpoint.enable(|settings| unsafe { Transport::open(settings) }),
            FI_GETOPSFLAG | FI_SETOPSFLAG => {
                // SAFETY: the contract: the argument of these commands is a 64-bit number.
                let flags = unsafe { argument.cast::<u64>().as_mut() }.ok_or(Errno(FI_EINVAL))?;
                op_flags(endpoint, command, flags)
            }
            _ => Err(Errno(FI_ENOSYS)),
        }
    })
}

/// Gets or sets the default flags of the direction that is named in `flags`.
fn op_flags(endpoint: &Endpoint, command: c_int, flags: &mut u64) -> Outcome<()> {
    let mut state = endpoint.state()?;
    let direction = match *flags & (FI_TRANSMIT | FI_RECV) {
        FI_TRANSMIT => &mut state.tx,
        FI_RECV => &mut state.rx,
        _ => return Err(Errno(FI_EINVAL)),
    };
    if command == FI_GETOPSFLAG {
        *flags = direction.op_flags;
    } else {
        direction.op_flags = *flags & !(FI_TRANSMIT | FI_RECV);
    }
    Ok(())
}

unsafe extern "C" fn cancel(fid: *mut fid, context: *mut c_void) -> isize {
    // SAFETY: the contract: an open endpoint of ours.
    unsafe { message::on_endpoint(fid.cast(), |endpoint| endpoint.cancel(message::context_number(context))) }
}

unsafe extern "C" fn getopt(fid: *mut fid, level: c_int, option: c_int, value: *mut c_void, len: *mut usize) -> c_int {
    call(|| {
        if level != FI_OPT_ENDPOINT {
            return Err(Errno(FI_ENOPROTOOPT));
        }
        // SAFETY: the contract: an open endpoint of ours.
        let endpoint = unsafe { EndpointHandle::object(fid) };
        let answer = match option {
            FI_OPT_MIN_MULTI_RECV => endpoint.state()?.min_multi_recv as usize,
            FI_OPT_CM_DATA_SIZE => 0,
            FI_OPT_MAX_MSG_SIZE | FI_OPT_MAX_TAGGED_SIZE => MAX_MSG_SIZE,
            FI_OPT_INJECT_MSG_SIZE | FI_OPT_INJECT_TAGGED_SIZE => USUAL_INJECT_SIZE,
            _ => return Err(Errno(FI_ENOPROTOOPT)),
        };
        if value.is_null() || len.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: not null; the contract: `value` has `*len` bytes.
        unsafe {
            if *len < size_of::<usize>() {
                return Err(Errno(FI_ETOOSMALL));
            }
            value.cast::<usize>().write_unaligned(answer);
            len.write(size_of::<usize>());
        }
        Ok(())
    })
}

unsafe extern "C" fn setopt(fid: *mut fid, level: c_int, option: c_int, value: *const c_void, len: usize) -> c_int {
    call(|| {
        if level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV {
            return Err(Errno(FI_ENOPROTOOPT));
        }
        if value.is_null() || len != size_of::<usize>() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: not null, and of the length checked; and an open endpoint of ours (the contract).
        let (least, endpoint) = unsafe { (value.cast::<usize>().read_unaligned(), EndpointHandle::object(fid)) };
        endpoint.state()?.min_multi_recv = least as u64;
        Ok(())
    })
}

unsafe extern "C" fn getname(fid: *mut fid, out: *mut c_void, len: *mut usize) -> c_int {
    call(|| {
        if len.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: an endpoint (no other object of ours has this table).
        let name = unsafe { EndpointHandle::object(fid) }.name()?;
        // SAFETY: `len` is not null; the contract: `out` is null or has `*len` bytes.
        unsafe {
            let room = len.replace(ADDRESS_LEN);
            if out.is_null() || room < ADDRESS_LEN {
                return Err(Errno(FI_ETOOSMALL));
            }
            std::ptr::copy_nonoverlapping(name.as_ptr(), out.cast(), ADDRESS_LEN);
        }
        Ok(())
    })
}
