//! Atomic operations on remote memory: not offered.

use std::ffi::{c_int, c_void};

use ofi_abi::*;

use super::refuse;

type Desc = *mut c_void;
type Descs = *mut *mut c_void;

pub(super) static OPS: fi_ops_atomic = fi_ops_atomic {
    size: size_of::<fi_ops_atomic>(),
    write,
    writev,
    writemsg,
    inject,
    readwrite,
    readwritev,
    readwritemsg,
    compwrite,
    compwritev,
    compwritemsg,
    writevalid: valid,
    readwritevalid: valid,
    compwritevalid: valid,
};

refuse! {
    write(*mut fid_ep, *const c_void, usize, Desc, fi_addr_t, u64, u64, Datatype, Op, *mut c_void) -> isize;
    writev(*mut fid_ep, *const fi_ioc, Descs, usize, fi_addr_t, u64, u64, Datatype, Op, *mut c_void) -> isize;
    writemsg(*mut fid_ep, *const fi_msg_atomic, u64) -> isize;
    inject(*mut fid_ep, *const c_void, usize, fi_addr_t, u64, u64, Datatype, Op) -> isize;
    readwrite(
        *mut fid_ep, *const c_void, usize, Desc, *mut c_void, Desc, fi_addr_t, u64, u64, Datatype, Op, *mut c_void,
    ) -> isize;
    readwritev(
        *mut fid_ep, *const fi_ioc, Descs, usize, *mut fi_ioc, Descs, usize, fi_addr_t, u64, u64, Datatype, Op,
        *mut c_void,
    ) -> isize;
    readwritemsg(*mut fid_ep, *const fi_msg_atomic, *mut fi_ioc, Descs, usize, u64) -> isize;
    compwrite(
        *mut fid_ep, *const c_void, usize, Desc, *const c_void, Desc, *mut c_void, Desc, fi_addr_t, u64, u64, Datatype,
        Op, *mut c_void,
    ) -> isize;
    compwritev(
        *mut fid_ep, *const fi_ioc, Descs, usize, *const fi_ioc, Descs, usize, *mut fi_ioc, Descs, usize, fi_addr_t,
        u64, u64, Datatype, Op, *mut c_void,
    ) -> isize;
    compwritemsg(
        *mut fid_ep, *const fi_msg_atomic, *const fi_ioc, Descs, usize, *mut fi_ioc, Descs, usize, u64,
    ) -> isize;
    valid(*mut fid_ep, Datatype, Op, *mut usize) -> c_int;
}
