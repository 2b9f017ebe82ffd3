//! What both sides of a channel count alike: it belongs to the wire format.

/// Charge of a message beside its payload: what the receiver's record of it takes, in bytes.
pub const MESSAGE_CHARGE: u64 = 128;

/// Most bytes that a peer may grant, so that cumulative counts stay within half of their circle.
pub const MAX_GRANT: u64 = 1 << 30;
