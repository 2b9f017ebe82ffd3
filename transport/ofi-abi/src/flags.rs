//! Capability and operation flags. Some bits have several names, by the call they are passed to.

pub const FI_MSG: u64 = 1 << 1;
pub const FI_RMA: u64 = 1 << 2;
pub const FI_TAGGED: u64 = 1 << 3;
pub const FI_ATOMIC: u64 = 1 << 4;
pub const FI_READ: u64 = 1 << 8;
pub const FI_WRITE: u64 = 1 << 9;
pub const FI_RECV: u64 = 1 << 10;
pub const FI_SEND: u64 = 1 << 11;
pub const FI_TRANSMIT: u64 = FI_SEND;
pub const FI_REMOTE_READ: u64 = 1 << 12;
pub const FI_REMOTE_WRITE: u64 = 1 << 13;
pub const FI_MULTI_RECV: u64 = 1 << 16;
pub const FI_REMOTE_CQ_DATA: u64 = 1 << 17;
pub const FI_MORE: u64 = 1 << 18;
pub const FI_PEEK: u64 = 1 << 19;
pub const FI_FENCE: u64 = 1 << 21;
pub const FI_COMPLETION: u64 = 1 << 24;
pub const FI_EVENT: u64 = FI_COMPLETION;
pub const FI_INJECT: u64 = 1 << 25;
pub const FI_INJECT_COMPLETE: u64 = 1 << 26;
pub const FI_TRANSMIT_COMPLETE: u64 = 1 << 27;
pub const FI_DELIVERY_COMPLETE: u64 = 1 << 28;
pub const FI_COMMIT_COMPLETE: u64 = 1 << 30;
pub const FI_LOCAL_COMM: u64 = 1 << 51;
pub const FI_REMOTE_COMM: u64 = 1 << 52;
pub const FI_SOURCE: u64 = 1 << 57;
pub const FI_DIRECTED_RECV: u64 = 1 << 59;

/// Of `fi_trecvmsg`.
pub const FI_CLAIM: u64 = 1 << 59;
/// Of `fi_trecvmsg`.
pub const FI_DISCARD: u64 = 1 << 58;
/// Of `fi_ep_bind`.
pub const FI_SELECTIVE_COMPLETION: u64 = 1 << 59;
/// Of `fi_query_atomic`.
pub const FI_FETCH_ATOMIC: u64 = 1 << 58;
/// Of `fi_query_atomic`.
pub const FI_COMPARE_ATOMIC: u64 = 1 << 59;
/// Of `fi_av_insert`.
pub const FI_SYNC_ERR: u64 = 1 << 58;
/// Of `fi_av_insert`.
/// Of `fi_getinfo`, between providers: only providers that stand on their own.
pub const OFI_CORE_PROV_ONLY: u64 = 1 << 59;

/// No address.
pub const FI_ADDR_NOTAVAIL: u64 = u64::MAX;
/// Any address.
pub const FI_ADDR_UNSPEC: u64 = u64::MAX;

/// A version as libfabric counts them.
pub const fn fi_version(major: u32, minor: u32) -> u32 {
    (major << 16) | minor
}
