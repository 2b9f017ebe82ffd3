//! Hints and results of `fi_getinfo`: `fi_info` and its attributes.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::domain::fid_domain;
use crate::fabric::{fid, fid_fabric};

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fi_info {
    pub next: *mut fi_info,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut fid,
    pub tx_attr: *mut fi_tx_attr,
    pub rx_attr: *mut fi_rx_attr,
    pub ep_attr: *mut fi_ep_attr,
    pub domain_attr: *mut fi_domain_attr,
    pub fabric_attr: *mut fi_fabric_attr,
    pub nic: *mut fid_nic,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fi_tx_attr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fi_rx_attr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fi_ep_attr {
    pub type_: c_uint,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    pub max_order_raw_size: usize,
    pub max_order_war_size: usize,
    pub max_order_waw_size: usize,
    pub mem_tag_format: u64,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
}

/// The fields from `max_ep_auth_key` on do not exist in structures of libraries before 2.0: never read them from a
/// caller's structure.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fi_domain_attr {
    pub domain: *mut fid_domain,
    pub name: *mut c_char,
    pub threading: c_uint,
    pub control_progress: c_uint,
    pub data_progress: c_uint,
    pub resource_mgmt: c_uint,
    pub av_type: c_uint,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
    pub cq_data_size: usize,
    pub cq_cnt: usize,
    pub ep_cnt: usize,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub max_ep_tx_ctx: usize,
    pub max_ep_rx_ctx: usize,
    pub max_ep_stx_ctx: usize,
    pub max_ep_srx_ctx: usize,
    pub cntr_cnt: usize,
    pub mr_iov_limit: usize,
    pub caps: u64,
    pub mode: u64,
    pub auth_key: *mut u8,
    pub auth_key_size: usize,
    pub max_err_data: usize,
    pub mr_cnt: usize,
    pub tclass: u32,
    pub max_ep_auth_key: usize,
    pub max_group_id: u32,
    pub max_cntr_value: u64,
    pub max_err_cntr_value: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fi_fabric_attr {
    pub fabric: *mut fid_fabric,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

/// An adapter.
#[repr(C)]
pub struct fid_nic {
    pub fid: fid,
    pub device_attr: *mut fi_device_attr,
    pub bus_attr: *mut c_void,
    pub link_attr: *mut fi_link_attr,
    pub prov_attr: *mut c_void,
}

#[repr(C)]
pub struct fi_device_attr {
    pub name: *mut c_char,
    pub device_id: *mut c_char,
    pub device_version: *mut c_char,
    pub vendor_id: *mut c_char,
    pub driver: *mut c_char,
    pub firmware: *mut c_char,
}

#[repr(C)]
pub struct fi_link_attr {
    pub address: *mut c_char,
    pub mtu: usize,
    /// Bits per second.
    pub speed: usize,
    pub state: c_uint,
    pub network_type: *mut c_char,
}

// Address formats.
pub const FI_FORMAT_UNSPEC: u32 = 0;

// Types of address vectors.
pub const FI_AV_UNSPEC: c_uint = 0;
pub const FI_AV_MAP: c_uint = 1;
pub const FI_AV_TABLE: c_uint = 2;

// Modes of memory registration.
pub const FI_MR_BASIC: c_int = 1 << 0;
pub const FI_MR_SCALABLE: c_int = 1 << 1;
pub const FI_MR_LOCAL: c_int = 1 << 2;
pub const FI_MR_VIRT_ADDR: c_int = 1 << 4;
pub const FI_MR_ALLOCATED: c_int = 1 << 5;
pub const FI_MR_PROV_KEY: c_int = 1 << 6;

// What a provider may ask of its user.
pub const FI_CONTEXT: u64 = 1 << 59;
pub const FI_CONTEXT2: u64 = 1 << 52;
pub const FI_RX_CQ_DATA: u64 = 1 << 56;

// States of an adapter's link.
pub const FI_LINK_DOWN: c_uint = 1;
pub const FI_LINK_UP: c_uint = 2;

// Progress.
pub const FI_PROGRESS_UNSPEC: c_uint = 0;
pub const FI_PROGRESS_AUTO: c_uint = 1;
pub const FI_PROGRESS_MANUAL: c_uint = 2;
pub const FI_PROGRESS_CONTROL_UNIFIED: c_uint = 3;

// Threading.
pub const FI_THREAD_SAFE: c_uint = 1;
pub const FI_THREAD_DOMAIN: c_uint = 3;
pub const FI_THREAD_ENDPOINT: c_uint = 5;

// Resource management.
pub const FI_RM_ENABLED: c_uint = 2;

// Types of endpoints.
pub const FI_EP_UNSPEC: c_uint = 0;
pub const FI_EP_MSG: c_uint = 1;
pub const FI_EP_RDM: c_uint = 3;

// Orders.
pub const FI_ORDER_SAS: u64 = 1 << 8;
pub const FI_ORDER_ATOMIC_RAR: u64 = 1 << 36;
pub const FI_ORDER_ATOMIC_RAW: u64 = 1 << 37;
pub const FI_ORDER_ATOMIC_WAR: u64 = 1 << 38;
pub const FI_ORDER_ATOMIC_WAW: u64 = 1 << 39;
