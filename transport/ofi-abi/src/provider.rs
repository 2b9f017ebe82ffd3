//! The structure that a provider's `fi_prov_ini` returns.

use std::ffi::{c_char, c_int, c_void};

use crate::fabric::fid_fabric;
use crate::info::{fi_fabric_attr, fi_info};

#[repr(C)]
pub struct fi_context {
    pub internal: [*mut c_void; 4],
}

#[repr(C)]
pub struct fi_provider {
    pub version: u32,
    pub fi_version: u32,
    /// Written by libfabric.
    pub context: fi_context,
    pub name: *const c_char,
    pub getinfo:
        unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int,
    pub fabric: unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int,
    pub cleanup: unsafe extern "C" fn(),
}
