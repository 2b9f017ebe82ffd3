//! Limits that are fixed: some belong to the wire format, others bound memory and arrays.

/// Longest inject (libfabric: `inject_size`), in bytes: such messages are copied and need no acknowledgement to complete.
pub const INJECT_SIZE: u64 = 16 * 1024;

/// Bytes of injected messages that are kept while no subchannel can take them, at most. Large, as a non-blocking send of MPI may
/// not wait: it only keeps a runaway sender from filling the machine.
pub const MAX_INJECTED: u64 = 256 << 20;

/// Most subchannels (rails x streams) of one virtual channel. Bounds the arrays of the scheduler.
pub const MAX_SUBCHANNELS: usize = 64;

/// Messages that a peer may announce (RTS) beyond its grant, at most: a message that it posts later may match a receive, so that
/// its RTS has to get through. MPI knows no limit; this one keeps a peer from filling the machine with envelopes (128 MiB). Both
/// ends of a channel enforce it: it belongs to the wire format.
pub const MAX_ANNOUNCED: u64 = 1 << 20;

/// Minimum grant of a peer, in bytes, however many peers there are.
pub const MIN_GRANT: u64 = 64 << 10;

/// All peers that the user has not named (guests) are together granted at most [`Config::memory`](crate::Config::memory) divided
/// by this.
pub const GUESTS_PART: u64 = 4;

/// Minimum grant of a guest, in bytes: a few short messages. Longer ones are announced.
pub const MIN_GUEST_GRANT: u64 = 16 << 10;

/// Messages that all guests together may announce beyond their grants (64 MiB).
pub const GUESTS_ANNOUNCED: u64 = 1 << 20;

/// First window of a guest's atomic operations and of their results, in bytes: more than one operation takes. It doubles whenever
/// it is used up, within [`GUESTS_ATOMICS`].
pub const FIRST_GUEST_ATOMICS: u64 = 16 << 10;

/// Windows of the atomic operations of all guests together, in bytes, at most.
pub const GUESTS_ATOMICS: u64 = 64 << 20;

/// Subchannels of one rail between two peers, set up by either side, at most. TCP over a path that loses one segment in 10,000
/// needs this number to reach the rate of a long rail.
pub const MAX_STREAMS: u8 = 16;
/// Subchannels between two peers beyond which no further ones are set up while others are live: the rest of [`MAX_SUBCHANNELS`]
/// is for rails that come back.
pub const MAX_TO_A_PEER: usize = MAX_SUBCHANNELS - 8;
