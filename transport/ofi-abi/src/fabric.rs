//! The base of every object (`fid`), and the fabric object.

use std::ffi::{c_char, c_int, c_void};

use crate::domain::fid_domain;
use crate::endpoint::fid_pep;
use crate::info::fi_info;
use crate::queue::{fi_eq_attr, fi_wait_attr, fid_eq, fid_wait};

/// An address: in this ABI a handle that an address vector gave out.
pub type fi_addr_t = u64;

/// `struct iovec` of `<sys/uio.h>`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct iovec {
    pub iov_base: *mut c_void,
    pub iov_len: usize,
}

#[repr(C)]
pub struct fid {
    pub fclass: usize,
    pub context: *mut c_void,
    pub ops: *mut fi_ops,
}

#[repr(C)]
pub struct fi_ops {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut fid, *mut fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut fid, c_int, *mut c_void) -> c_int,
    pub ops_open: unsafe extern "C" fn(*mut fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int,
    pub tostr: unsafe extern "C" fn(*const fid, *mut c_char, usize) -> c_int,
    pub ops_set: unsafe extern "C" fn(*mut fid, *const c_char, u64, *mut c_void, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct fid_fabric {
    pub fid: fid,
    pub ops: *mut fi_ops_fabric,
    pub api_version: u32,
}

#[repr(C)]
pub struct fi_ops_fabric {
    pub size: usize,
    pub domain: unsafe extern "C" fn(*mut fid_fabric, *mut fi_info, *mut *mut fid_domain, *mut c_void) -> c_int,
    pub passive_ep: unsafe extern "C" fn(*mut fid_fabric, *mut fi_info, *mut *mut fid_pep, *mut c_void) -> c_int,
    pub eq_open: unsafe extern "C" fn(*mut fid_fabric, *mut fi_eq_attr, *mut *mut fid_eq, *mut c_void) -> c_int,
    pub wait_open: unsafe extern "C" fn(*mut fid_fabric, *mut fi_wait_attr, *mut *mut fid_wait) -> c_int,
    pub trywait: unsafe extern "C" fn(*mut fid_fabric, *mut *mut fid, c_int) -> c_int,
    pub domain2: unsafe extern "C" fn(*mut fid_fabric, *mut fi_info, *mut *mut fid_domain, u64, *mut c_void) -> c_int,
}

// Values of `fid::fclass`.
pub const FI_CLASS_FABRIC: usize = 1;
pub const FI_CLASS_DOMAIN: usize = 2;
pub const FI_CLASS_EP: usize = 3;
pub const FI_CLASS_AV: usize = 11;
pub const FI_CLASS_MR: usize = 12;
pub const FI_CLASS_EQ: usize = 13;
pub const FI_CLASS_CQ: usize = 14;
pub const FI_CLASS_CNTR: usize = 15;

// Commands of `fi_ops::control`.
pub const FI_GETOPSFLAG: c_int = 2;
pub const FI_SETOPSFLAG: c_int = 3;
pub const FI_GETWAIT: c_int = 5;
pub const FI_ENABLE: c_int = 6;
