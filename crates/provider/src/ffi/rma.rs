//! Remote memory access: not offered.

use std::ffi::c_void;

use ofi_abi::*;

use super::refuse;

pub(super) static OPS: fi_ops_rma = fi_ops_rma {
    size: size_of::<fi_ops_rma>(),
    read,
    readv,
    readmsg: message,
    write,
    writev: readv,
    writemsg: message,
    inject,
    writedata,
    injectdata,
};

refuse! {
    read(*mut fid_ep, *mut c_void, usize, *mut c_void, fi_addr_t, u64, u64, *mut c_void) -> isize;
    readv(*mut fid_ep, *const iovec, *mut *mut c_void, usize, fi_addr_t, u64, u64, *mut c_void) -> isize;
    message(*mut fid_ep, *const fi_msg_rma, u64) -> isize;
    write(*mut fid_ep, *const c_void, usize, *mut c_void, fi_addr_t, u64, u64, *mut c_void) -> isize;
    inject(*mut fid_ep, *const c_void, usize, fi_addr_t, u64, u64) -> isize;
    writedata(*mut fid_ep, *const c_void, usize, *mut c_void, u64, fi_addr_t, u64, u64, *mut c_void) -> isize;
    injectdata(*mut fid_ep, *const c_void, usize, u64, fi_addr_t, u64, u64) -> isize;
}
