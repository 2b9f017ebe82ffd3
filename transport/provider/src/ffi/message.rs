//! Functions that the calls of data transfers share.

use std::ffi::c_void;

use fishplate_engine::{Envelope, Payload, Space};
use ofi_abi::*;

use super::call;
use super::handle::EndpointHandle;
use crate::endpoint::transfer::{Incoming, Outgoing};
use crate::endpoint::{Endpoint, Report};
use crate::errno::Outcome;

/// Descriptors of registered memory, which this provider needs for no operation.
pub type Desc = *mut c_void;
/// An array of them.
pub type Descs = *mut *mut c_void;

/// Defines functions of an endpoint's table: each passes what its arguments describe to the endpoint's `$method`.
macro_rules! posting {
    ($($method:ident: $name:ident($($argument:tt: $type:ty),*) => $described:expr;)*) => {$(
        unsafe extern "C" fn $name(ep: *mut fid_ep, $($argument: $type),*) -> isize {
            // SAFETY: the contract, also for buffers, arrays and messages among the arguments.
            unsafe { on_endpoint(ep, |endpoint| endpoint.$method($described)) }
        }
    )*};
}
pub(super) use posting;

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

/// Runs `post` on an endpoint. Inlined: this is the path of small messages.
///
/// # Safety
/// `ep` is an open endpoint of ours.
#[inline]
pub unsafe fn on_endpoint(ep: *mut fid_ep, post: impl FnOnce(&Endpoint) -> Outcome<()>) -> isize {
    // SAFETY: the caller promises it.
    call(|| post(unsafe { EndpointHandle::object(ep) })) as isize
}
