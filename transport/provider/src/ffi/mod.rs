//! The C side: one file for each kind of object with its tables of functions, each of which converts, calls safe code,
//! and converts back.
//!
//! The safety of all of it rests on libfabric's contract with its callers, which the `SAFETY` comments call *the
//! contract*: a `fid` passed in came out of the matching open call and has not been closed; pointers to attributes,
//! messages and results are valid for the call; buffers of operations are valid until the operation has completed.

mod address_vector;
mod atomic;
mod completion_queue;
mod counter;
mod domain;
mod endpoint;
pub mod endpoint_lock;
mod event_queue;
pub mod exit_status;
mod fabric;
mod handle;
mod info;
mod interposer;
mod loader;
mod memory;
mod memory_region;
mod message;
mod msg;
mod rma;
mod tagged;

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ofi_abi::{FI_EOTHER, fi_ops, fid};

use crate::errno::Outcome;

pub use loader::fi_prov_ini;

/// The functions that every object has: `close`, and refusals of the others.
const fn fid_ops(close: unsafe extern "C" fn(*mut fid) -> c_int) -> fi_ops {
    fi_ops {
        size: size_of::<fi_ops>(),
        close,
        bind: no_bind,
        control: no_control,
        ops_open: no_ops_open,
        tostr: no_tostr,
        ops_set: no_ops_set,
    }
}

/// Runs `body`. A panic ends here: it is printed, and the result is `fallback`.
#[inline(always)]
fn guard<R>(fallback: R, body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        fishplate_guest::report("internal error (a bug); the call has failed");
        fallback
    })
}

/// A call that returns 0 or a negative error number.
#[inline]
fn call(body: impl FnOnce() -> Outcome<()>) -> c_int {
    guard(-FI_EOTHER, || body().map_or_else(|errno| -errno.0, |()| 0))
}

/// Defines functions of the given types that answer `-FI_ENOSYS`.
macro_rules! refuse {
    ($($name:ident($($argument:ty),* $(,)?) -> $result:ty;)*) => {
        $(unsafe extern "C" fn $name($(_: $argument),*) -> $result { -(ofi_abi::FI_ENOSYS as $result) })*
    };
}
use refuse;

refuse! {
    no_bind(*mut fid, *mut fid, u64) -> c_int;
    no_control(*mut fid, c_int, *mut c_void) -> c_int;
    no_ops_open(*mut fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int;
    no_tostr(*const fid, *mut c_char, usize) -> c_int;
    no_ops_set(*mut fid, *const c_char, u64, *mut c_void, *mut c_void) -> c_int;
}
