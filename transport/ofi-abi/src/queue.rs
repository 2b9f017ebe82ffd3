//! Event queue, completion queue, counter, and the deprecated wait and poll sets.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::fabric::{fi_addr_t, fid};
use crate::info::fi_info;

#[repr(C)]
pub struct fi_wait_attr {
    pub wait_obj: c_uint,
    pub flags: u64,
}

#[repr(C)]
pub struct fid_wait {
    pub fid: fid,
    pub ops: *mut c_void,
}

#[repr(C)]
pub struct fi_poll_attr {
    pub flags: u64,
}

#[repr(C)]
pub struct fid_poll {
    pub fid: fid,
    pub ops: *mut c_void,
}

#[repr(C)]
pub struct fi_eq_attr {
    pub size: usize,
    pub flags: u64,
    pub wait_obj: c_uint,
    pub signaling_vector: c_int,
    pub wait_set: *mut fid_wait,
}

#[repr(C)]
pub struct fid_eq {
    pub fid: fid,
    pub ops: *mut fi_ops_eq,
}

#[repr(C)]
pub struct fi_eq_err_entry {
    pub fid: *mut fid,
    pub context: *mut c_void,
    pub data: u64,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
}

/// Connection data follows.
#[repr(C)]
pub struct fi_eq_cm_entry {
    pub fid: *mut fid,
    pub info: *mut fi_info,
}

#[repr(C)]
pub struct fi_ops_eq {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut fid_eq, *mut u32, *mut c_void, usize, u64) -> isize,
    pub readerr: unsafe extern "C" fn(*mut fid_eq, *mut fi_eq_err_entry, u64) -> isize,
    pub write: unsafe extern "C" fn(*mut fid_eq, u32, *const c_void, usize, u64) -> isize,
    pub sread: unsafe extern "C" fn(*mut fid_eq, *mut u32, *mut c_void, usize, c_int, u64) -> isize,
    pub strerror: unsafe extern "C" fn(*mut fid_eq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fi_cq_attr {
    pub size: usize,
    pub flags: u64,
    pub format: c_uint,
    pub wait_obj: c_uint,
    pub signaling_vector: c_int,
    pub wait_cond: c_uint,
    pub wait_set: *mut fid_wait,
}

#[repr(C)]
pub struct fid_cq {
    pub fid: fid,
    pub ops: *mut fi_ops_cq,
}

#[repr(C)]
pub struct fi_cq_entry {
    pub op_context: *mut c_void,
}

#[repr(C)]
pub struct fi_cq_msg_entry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
}

#[repr(C)]
pub struct fi_cq_data_entry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
}

#[repr(C)]
pub struct fi_cq_tagged_entry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
}

/// `src_addr` does not exist in the structures of callers below version 1.20: never write it there.
#[repr(C)]
pub struct fi_cq_err_entry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
    pub src_addr: fi_addr_t,
}

#[repr(C)]
pub struct fi_ops_cq {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize) -> isize,
    pub readfrom: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *mut fi_addr_t) -> isize,
    pub readerr: unsafe extern "C" fn(*mut fid_cq, *mut fi_cq_err_entry, u64) -> isize,
    pub sread: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *const c_void, c_int) -> isize,
    pub sreadfrom: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *mut fi_addr_t, *const c_void, c_int) -> isize,
    pub signal: unsafe extern "C" fn(*mut fid_cq) -> c_int,
    pub strerror: unsafe extern "C" fn(*mut fid_cq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fi_cntr_attr {
    pub events: c_uint,
    pub wait_obj: c_uint,
    pub wait_set: *mut fid_wait,
    pub flags: u64,
}

#[repr(C)]
pub struct fid_cntr {
    pub fid: fid,
    pub ops: *mut fi_ops_cntr,
}

#[repr(C)]
pub struct fi_ops_cntr {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut fid_cntr) -> u64,
    pub readerr: unsafe extern "C" fn(*mut fid_cntr) -> u64,
    pub add: unsafe extern "C" fn(*mut fid_cntr, u64) -> c_int,
    pub set: unsafe extern "C" fn(*mut fid_cntr, u64) -> c_int,
    pub wait: unsafe extern "C" fn(*mut fid_cntr, u64, c_int) -> c_int,
    pub adderr: unsafe extern "C" fn(*mut fid_cntr, u64) -> c_int,
    pub seterr: unsafe extern "C" fn(*mut fid_cntr, u64) -> c_int,
}

// Events of an event queue.
pub const FI_NOTIFY: u32 = 0;
pub const FI_CONNREQ: u32 = 1;
pub const FI_CONNECTED: u32 = 2;
pub const FI_SHUTDOWN: u32 = 3;

// Wait objects.
pub const FI_WAIT_NONE: c_uint = 0;
pub const FI_WAIT_UNSPEC: c_uint = 1;
pub const FI_WAIT_FD: c_uint = 3;
pub const FI_WAIT_YIELD: c_uint = 5;

// Formats of completion queue entries.
pub const FI_CQ_FORMAT_UNSPEC: c_uint = 0;
pub const FI_CQ_FORMAT_CONTEXT: c_uint = 1;
pub const FI_CQ_FORMAT_MSG: c_uint = 2;
pub const FI_CQ_FORMAT_DATA: c_uint = 3;
pub const FI_CQ_FORMAT_TAGGED: c_uint = 4;

// What a counter counts.
pub const FI_CNTR_EVENTS_COMP: c_uint = 0;
pub const FI_CNTR_EVENTS_BYTES: c_uint = 1;
