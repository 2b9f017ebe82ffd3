//! The provider's offer, and its answer to an application's hints (`fi_getinfo`).

use std::ptr::null_mut;

use fishplate_engine::{INJECT_SIZE, MAX_ATOMIC_LEN};
use fishplate_rails::address::Token;
use fishplate_rails::settings::Progress;
use fishplate_rails::{ADDRESS_LEN, Address};
use ofi_abi::*;

use crate::errno::{Errno, Outcome};

/// Name of the provider, of its fabric and of its domain.
pub const NAME: &str = "fishplate";

/// Version of the provider, in libfabric's encoding.
pub const VERSION: u32 = fi_version(number(env!("CARGO_PKG_VERSION_MAJOR")), number(env!("CARGO_PKG_VERSION_MINOR")));

/// Pieces of local memory of one operation, at most.
pub const IOV_LIMIT: usize = 8;

/// Pieces of a peer's memory of one operation, at most.
pub const RMA_IOV_LIMIT: usize = 1;

/// Longest message, in bytes: the greatest signed length.
pub const MAX_MSG_SIZE: usize = isize::MAX as usize;

/// Inject size that MPI libraries get unless they ask for more, up to [`INJECT_SIZE`]. An injected message is copied; peers that
/// share memory read longer ones from the user's memory.
pub const USUAL_INJECT_SIZE: usize = 8 << 10;

const SECONDARY_CAPS: u64 = FI_MULTI_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM;
const MESSAGES: u64 = FI_MSG | FI_TAGGED;
const ACCESSES: u64 = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
const ONE_SIDED: u64 = FI_RMA | FI_ATOMIC;
const CAPS: u64 = MESSAGES | FI_SEND | FI_RECV | FI_DIRECTED_RECV | ONE_SIDED | ACCESSES | SECONDARY_CAPS;
const TX_CAPS: u64 = MESSAGES | FI_SEND | ONE_SIDED | FI_READ | FI_WRITE;
const RX_CAPS: u64 =
    MESSAGES | FI_RECV | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | ONE_SIDED | FI_REMOTE_READ | FI_REMOTE_WRITE;
/// Messages, and atomic operations, take effect in the order in which they were posted; not one kind among the other, nor
/// reads and writes.
const ORDER: u64 = FI_ORDER_SAS | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
const DOMAIN_CAPS: u64 = FI_LOCAL_COMM | FI_REMOTE_COMM;
const TX_OP_FLAGS: u64 = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;
const RX_OP_FLAGS: u64 = FI_COMPLETION | FI_MULTI_RECV;

/// The provider's own protocol: the highest bit, then any number.
const PROTOCOL: u32 = 0x8000_F15B;
const PROTOCOL_VERSION: u32 = 1;

/// Queue depth for applications that do not ask for one. Nothing depends on it.
const QUEUE_SIZE: usize = 1024;
/// Number of objects of a kind in one domain that is offered. Only memory limits them.
const OBJECTS: usize = 1 << 16;
/// Longest error data, in bytes: a sentence.
const MAX_ERR_DATA: usize = 512;

const fn number(digits: &str) -> u32 {
    match u32::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("cargo gives numbers"),
    }
}

/// An application's request. Pointers in the copied attributes are invalid.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Version of the interface it was written for.
    pub version: u32,
    pub flags: u64,
    /// It names a node or a service, which is not supported: peers are known by their blobs only.
    pub names_address: bool,
    pub hints: Option<Hints>,
}

/// An address as a blob, cut or padded with zeros to its length.
pub type Blob = [u8; ADDRESS_LEN];

#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Wanted capabilities, 0 for any.
    pub caps: u64,
    pub addr_format: u32,
    /// Wanted address of its own.
    pub source: Option<Blob>,
    /// Address of a peer that it wants to reach.
    pub dest: Option<Blob>,
    /// Wanted transmit attributes.
    pub tx: Option<fi_tx_attr>,
    /// Wanted receive attributes.
    pub rx: Option<fi_rx_attr>,
    /// Wanted endpoint attributes.
    pub ep: Option<fi_ep_attr>,
    /// Wanted domain attributes; only what libraries before 2.0 have, too.
    pub domain: Option<fi_domain_attr>,
    /// Wanted domain.
    pub domain_name: Option<String>,
    /// Wanted fabric.
    pub fabric_name: Option<String>,
    /// Wanted providers, as a list of libfabric's.
    pub provider_name: Option<String>,
}

/// The offer. Pointers are null.
#[derive(Clone, Debug)]
pub struct Answer {
    pub caps: u64,
    /// A placeholder for the endpoint's address, with the right length.
    pub source: Blob,
    /// The requested address of a peer.
    pub dest: Option<Blob>,
    pub tx: fi_tx_attr,
    pub rx: fi_rx_attr,
    pub ep: fi_ep_attr,
    pub domain: fi_domain_attr,
    pub fabric: fi_fabric_attr,
}

/// The offer for `request`; `FI_ENODATA` where something cannot be met.
pub fn answer(request: &Request) -> Outcome<Answer> {
    // Layered providers would add nothing to this one.
    require(request.flags & OFI_CORE_PROV_ONLY == 0 && !request.names_address)?;
    let empty = Hints::default();
    let hints = request.hints.as_ref().unwrap_or(&empty);
    require(names_match(hints) && hints.addr_format == FI_FORMAT_UNSPEC)?;
    // An endpoint's address is made when it is enabled, so that none can be requested. With FI_SOURCE the call names it instead of
    // the hints.
    require(hints.source.is_none_or(|blob| blob == nobody()) || request.flags & FI_SOURCE != 0)?;
    require(hints.dest.is_none_or(|blob| Address::decode(&blob).is_ok()))?;
    let caps = capabilities(hints.caps)?;
    Ok(Answer {
        caps,
        source: nobody(),
        dest: hints.dest,
        tx: transmit(hints.tx.as_ref(), caps)?,
        rx: receive(hints.rx.as_ref(), caps)?,
        ep: endpoint(hints.ep.as_ref())?,
        domain: domain(hints.domain.as_ref(), request.version)?,
        fabric: fi_fabric_attr {
            fabric: null_mut(),
            name: null_mut(),
            prov_name: null_mut(),
            prov_version: VERSION,
            api_version: request.version,
        },
    })
}

impl Answer {
    /// `FI_ENODATA` where the application requires automatic progress and the setting is manual progress.
    pub fn offers_progress(&self, progress: Progress) -> Outcome<()> {
        require(self.domain.data_progress != FI_PROGRESS_AUTO || progress != Progress::Calls)
    }
}

/// The placeholder address.
fn nobody() -> Blob {
    Address::new(Token([0; 16]), 0, Vec::new()).encode()
}

fn require(met: bool) -> Outcome<()> {
    if met { Ok(()) } else { Err(Errno(FI_ENODATA)) }
}

fn names_match(hints: &Hints) -> bool {
    let ours = |name: &Option<String>| name.as_ref().is_none_or(|name| name == NAME);
    let provider = hints.provider_name.as_ref().is_none_or(|list| {
        let (list, wanted) = list.strip_prefix('^').map_or((list.as_str(), true), |list| (list, false));
        list.split([';', ',']).any(|name| name.eq_ignore_ascii_case(NAME)) == wanted
    });
    ours(&hints.domain_name) && ours(&hints.fabric_name) && provider
}

fn capabilities(wanted: u64) -> Outcome<u64> {
    require(wanted & !CAPS == 0)?;
    if wanted == 0 {
        return Ok(CAPS);
    }
    // Without any transfer capability, both kinds of messages are meant; without a direction, all directions.
    let kinds = if wanted & (MESSAGES | ONE_SIDED) == 0 { wanted | MESSAGES } else { wanted };
    let missing = |kind: u64, directions: u64| {
        if kinds & kind != 0 && kinds & directions == 0 { directions } else { 0 }
    };
    Ok(kinds | missing(MESSAGES, FI_SEND | FI_RECV) | missing(ONE_SIDED, ACCESSES) | SECONDARY_CAPS)
}

/// Capabilities of one side, transmit or receive.
fn side(wanted: u64, caps: u64, of_side: u64) -> Outcome<u64> {
    require(wanted & !CAPS == 0)?;
    let caps = caps & of_side;
    Ok(if wanted == 0 { caps } else { caps & wanted })
}

fn transmit(wanted: Option<&fi_tx_attr>, caps: u64) -> Outcome<fi_tx_attr> {
    let mut tx = fi_tx_attr {
        caps: caps & TX_CAPS,
        mode: 0,
        op_flags: 0,
        msg_order: ORDER,
        comp_order: 0,
        inject_size: USUAL_INJECT_SIZE,
        size: QUEUE_SIZE,
        iov_limit: IOV_LIMIT,
        rma_iov_limit: RMA_IOV_LIMIT,
        tclass: 0,
    };
    if let Some(wanted) = wanted {
        require(wanted.op_flags & !TX_OP_FLAGS == 0)?;
        require(wanted.msg_order & !ORDER == 0 && wanted.comp_order == 0)?;
        require(wanted.inject_size as u64 <= INJECT_SIZE && wanted.iov_limit <= IOV_LIMIT)?;
        tx.inject_size = tx.inject_size.max(wanted.inject_size);
        require(wanted.rma_iov_limit <= RMA_IOV_LIMIT)?;
        tx.caps = side(wanted.caps, caps, TX_CAPS)?;
        tx.op_flags = wanted.op_flags;
        tx.size = tx.size.max(wanted.size);
    }
    Ok(tx)
}

fn receive(wanted: Option<&fi_rx_attr>, caps: u64) -> Outcome<fi_rx_attr> {
    let mut rx = fi_rx_attr {
        caps: caps & RX_CAPS,
        mode: 0,
        op_flags: 0,
        msg_order: ORDER,
        comp_order: 0,
        total_buffered_recv: 0,
        size: QUEUE_SIZE,
        iov_limit: IOV_LIMIT,
    };
    if let Some(wanted) = wanted {
        require(wanted.op_flags & !RX_OP_FLAGS == 0)?;
        require(wanted.msg_order & !ORDER == 0 && wanted.comp_order == 0)?;
        require(wanted.iov_limit <= IOV_LIMIT)?;
        rx.caps = side(wanted.caps, caps, RX_CAPS)?;
        rx.op_flags = wanted.op_flags;
        rx.size = rx.size.max(wanted.size);
    }
    Ok(rx)
}

fn endpoint(wanted: Option<&fi_ep_attr>) -> Outcome<fi_ep_attr> {
    if let Some(wanted) = wanted {
        require(matches!(wanted.type_, FI_EP_UNSPEC | FI_EP_RDM))?;
        require(matches!(wanted.protocol, 0 | PROTOCOL))?;
        require(wanted.protocol == 0 || wanted.protocol_version <= PROTOCOL_VERSION)?;
        require(wanted.max_msg_size <= MAX_MSG_SIZE && wanted.msg_prefix_size == 0 && wanted.auth_key_size == 0)?;
        require(wanted.tx_ctx_cnt <= 1 && wanted.rx_ctx_cnt <= 1)?;
    }
    Ok(fi_ep_attr {
        type_: FI_EP_RDM,
        protocol: PROTOCOL,
        protocol_version: PROTOCOL_VERSION,
        max_msg_size: MAX_MSG_SIZE,
        msg_prefix_size: 0,
        max_order_raw_size: MAX_ATOMIC_LEN as usize,
        max_order_war_size: MAX_ATOMIC_LEN as usize,
        max_order_waw_size: MAX_ATOMIC_LEN as usize,
        mem_tag_format: u64::MAX,
        tx_ctx_cnt: 1,
        rx_ctx_cnt: 1,
        auth_key_size: 0,
        auth_key: null_mut(),
    })
}

fn domain(wanted: Option<&fi_domain_attr>, version: u32) -> Outcome<fi_domain_attr> {
    let mut domain = offered_domain();
    // Before 1.5 registration modes were an enumeration; no modes at all are what it called scalable.
    let old = version < fi_version(1, 5);
    domain.mr_mode = if old { FI_MR_SCALABLE } else { 0 };
    let Some(wanted) = wanted else { return Ok(domain) };
    require(wanted.threading <= FI_THREAD_ENDPOINT && wanted.av_type <= FI_AV_TABLE)?;
    require(wanted.resource_mgmt <= FI_RM_ENABLED && wanted.control_progress <= FI_PROGRESS_CONTROL_UNIFIED)?;
    // Automatic: the progress thread moves data while the application does not call (`offers_progress`).
    require(matches!(wanted.data_progress, FI_PROGRESS_UNSPEC | FI_PROGRESS_MANUAL | FI_PROGRESS_AUTO))?;
    require(wanted.caps & !DOMAIN_CAPS == 0 && wanted.auth_key_size == 0)?;
    require(wanted.mr_key_size <= domain.mr_key_size && wanted.cq_data_size <= domain.cq_data_size)?;
    require(wanted.max_ep_tx_ctx <= 1 && wanted.max_ep_rx_ctx <= 1)?;
    require(wanted.max_ep_stx_ctx == 0 && wanted.max_ep_srx_ctx == 0)?;
    let echo = |offered: &mut u32, wanted: u32| {
        if wanted != 0 {
            *offered = wanted;
        }
    };
    echo(&mut domain.threading, wanted.threading);
    echo(&mut domain.control_progress, wanted.control_progress);
    echo(&mut domain.data_progress, wanted.data_progress);
    echo(&mut domain.resource_mgmt, wanted.resource_mgmt);
    echo(&mut domain.av_type, wanted.av_type);
    if wanted.mr_mode == FI_MR_BASIC || wanted.mr_mode == FI_MR_SCALABLE {
        domain.mr_mode = wanted.mr_mode;
    }
    Ok(domain)
}

fn offered_domain() -> fi_domain_attr {
    fi_domain_attr {
        domain: null_mut(),
        name: null_mut(),
        threading: FI_THREAD_SAFE,
        control_progress: FI_PROGRESS_MANUAL,
        data_progress: FI_PROGRESS_MANUAL,
        resource_mgmt: FI_RM_ENABLED,
        av_type: FI_AV_TABLE,
        mr_mode: 0,
        mr_key_size: 8,
        cq_data_size: 8,
        cq_cnt: OBJECTS,
        ep_cnt: OBJECTS,
        tx_ctx_cnt: OBJECTS,
        rx_ctx_cnt: OBJECTS,
        max_ep_tx_ctx: 1,
        max_ep_rx_ctx: 1,
        max_ep_stx_ctx: 0,
        max_ep_srx_ctx: 0,
        cntr_cnt: OBJECTS,
        mr_iov_limit: IOV_LIMIT,
        caps: DOMAIN_CAPS,
        mode: 0,
        auth_key: null_mut(),
        auth_key_size: 0,
        max_err_data: MAX_ERR_DATA,
        mr_cnt: OBJECTS,
        tclass: 0,
        max_ep_auth_key: 0,
        max_group_id: 0,
        max_cntr_value: u64::MAX,
        max_err_cntr_value: u64::MAX,
    }
}

#[cfg(test)]
mod tests;
