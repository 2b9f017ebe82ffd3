//! Atomic operations on remote memory.

use std::ffi::{c_int, c_uint, c_void};

use crate::endpoint::fid_ep;
use crate::fabric::fi_addr_t;

#[repr(C)]
pub struct fi_ioc {
    pub addr: *mut c_void,
    pub count: usize,
}

#[repr(C)]
pub struct fi_rma_ioc {
    pub addr: u64,
    pub count: usize,
    pub key: u64,
}

#[repr(C)]
pub struct fi_msg_atomic {
    pub msg_iov: *const fi_ioc,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: fi_addr_t,
    pub rma_iov: *const fi_rma_ioc,
    pub rma_iov_count: usize,
    pub datatype: c_uint,
    pub op: c_uint,
    pub context: *mut c_void,
    pub data: u64,
}

/// `enum fi_datatype`.
pub type Datatype = c_uint;
/// `enum fi_op`.
pub type Op = c_uint;
type Desc = *mut c_void;
type Descs = *mut *mut c_void;

/// A call on an endpoint with these local operands; then where in the peer's memory, of what type, which operation, and the
/// application's context.
macro_rules! operation {
    ($($operand:ty),*) => {
        unsafe extern "C" fn(*mut fid_ep, $($operand,)* fi_addr_t, u64, u64, Datatype, Op, *mut c_void) -> isize
    };
}

#[repr(C)]
pub struct fi_ops_atomic {
    pub size: usize,
    pub write: operation!(*const c_void, usize, Desc),
    pub writev: operation!(*const fi_ioc, Descs, usize),
    pub writemsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_atomic, u64) -> isize,
    pub inject: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, fi_addr_t, u64, u64, Datatype, Op) -> isize,
    pub readwrite: operation!(*const c_void, usize, Desc, *mut c_void, Desc),
    pub readwritev: operation!(*const fi_ioc, Descs, usize, *mut fi_ioc, Descs, usize),
    pub readwritemsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_atomic, *mut fi_ioc, Descs, usize, u64) -> isize,
    pub compwrite: operation!(*const c_void, usize, Desc, *const c_void, Desc, *mut c_void, Desc),
    pub compwritev: operation!(*const fi_ioc, Descs, usize, *const fi_ioc, Descs, usize, *mut fi_ioc, Descs, usize),
    pub compwritemsg: unsafe extern "C" fn(
        *mut fid_ep,
        *const fi_msg_atomic,
        *const fi_ioc,
        Descs,
        usize,
        *mut fi_ioc,
        Descs,
        usize,
        u64,
    ) -> isize,
    pub writevalid: unsafe extern "C" fn(*mut fid_ep, Datatype, Op, *mut usize) -> c_int,
    pub readwritevalid: unsafe extern "C" fn(*mut fid_ep, Datatype, Op, *mut usize) -> c_int,
    pub compwritevalid: unsafe extern "C" fn(*mut fid_ep, Datatype, Op, *mut usize) -> c_int,
}
