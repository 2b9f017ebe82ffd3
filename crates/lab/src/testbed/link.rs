//! The network of a lab that is no rail.

/// Its interface on every host. A bridge, since no stack takes bridges for rails by itself.
pub const MANAGEMENT: &str = "mgmt";
