//! Encryption of connections: keys that both sides agree on while they prove themselves, and records under these keys.
//! Free of I/O. See `docs/internals/wire.md` (*Records*) and `docs/guide/security.md`.

mod exchange;
mod record;
#[cfg(test)]
mod tests;

pub use exchange::{Ephemeral, NO_SHARE, SHARE_LEN, Share, Side};
pub use record::{Broken, MAX_CONTENT, MAX_RECORD, Opened, Opening, Sealing};

/// The keys of one side of a connection.
#[derive(Debug)]
pub struct Keys {
    /// For what it sends.
    pub sealing: Sealing,
    /// For what it receives.
    pub opening: Opening,
}
