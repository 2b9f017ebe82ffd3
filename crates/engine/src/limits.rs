//! Limits that are fixed: some belong to the wire format, others bound memory and arrays.

/// Longest inject (libfabric: `inject_size`), in bytes: such messages are copied and need no acknowledgement to complete.
pub const INJECT_SIZE: u64 = 16 * 1024;

/// Most bytes of injected messages that are kept while no subchannel can take them. Large, as a non-blocking send of
/// MPI may not wait: it only keeps a runaway sender from filling the machine.
pub const MAX_INJECTED: u64 = 256 << 20;

/// Most subchannels (rails x streams) of one virtual channel. Bounds the arrays of the scheduler.
pub const MAX_SUBCHANNELS: usize = 64;

/// Most messages that a peer may announce (RTS) when its grant is used up: what it posts later may match a receive,
/// so it has to get through. MPI knows no limit; this one keeps a peer from filling the machine with envelopes (128 MiB).
/// Both ends of a channel count on the same number: it belongs to the wire format.
pub const MAX_ANNOUNCED: u64 = 1 << 20;

/// Least that a peer is granted, however many there are, in bytes.
pub const MIN_GRANT: u64 = 64 << 10;

/// Of the bytes that all peers together may be granted, those that the user has not named may be granted this part together.
pub const GUESTS_PART: u64 = 4;

/// Least that one of them is granted, in bytes: a few short messages. What is longer is announced.
pub const MIN_GUEST_GRANT: u64 = 16 << 10;

/// Messages that all of them together may announce beyond their grants (64 MiB).
pub const GUESTS_ANNOUNCED: u64 = 1 << 20;

/// Bytes of atomic operations under way, and of their results, that one of them may have here to begin with: more than one
/// operation takes. It may have twice as many whenever these are used up, as far as there are some left,
pub const FIRST_GUEST_ATOMICS: u64 = 16 << 10;

/// of so many for all of them together.
pub const GUESTS_ATOMICS: u64 = 64 << 20;

/// Most subchannels of one rail between two peers, whoever has set them up. TCP over a path that loses one segment in
/// 10,000 gets the rate of a long rail by as many.
pub const MAX_STREAMS: u8 = 16;
/// No more are set up while others are live when two peers have so many: what is left of those that a channel can have is for
/// rails that come back.
pub const MAX_TO_A_PEER: usize = MAX_SUBCHANNELS - 8;
