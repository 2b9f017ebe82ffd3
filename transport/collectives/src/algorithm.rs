//! The ways to carry out an operation.

use std::fmt;

use crate::step::MAX_TAGS;

/// Most segments that a message is cut into: enough for the part that does not overlap to be a few hundredths, few enough
/// that all can be on their way at once.
pub const MAX_SEGMENTS: u16 = MAX_TAGS;

/// All sends start at once, whatever has been received.
pub const UNLIMITED_WINDOW: u16 = u16::MAX;

/// A way to carry out an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// The MPI's own algorithm, on the whole communicator. Has no schedule.
    Native,
    /// One rank of each cluster crosses the WAN for all, with all other clusters at once.
    Coordinators {
        /// How many pieces a message is cut into, so that crossing and spreading inside overlap; from 1 to
        /// [`MAX_SEGMENTS`], 1 where an operation has no use for them.
        segments: u16,
    },
    /// All hosts of a cluster cross the WAN, each with its share.
    Shared {
        /// As of `Coordinators`.
        segments: u16,
    },
    /// Each rank sends over the WAN what it has for each rank there.
    Direct {
        /// By how many messages a rank's sends may be ahead of what it has received, so that many ranks do not flood the
        /// WAN; from 1 to [`UNLIMITED_WINDOW`], which it is where an operation has no use for it.
        window: u16,
    },
}

impl Algorithm {
    /// Its name without parameters.
    pub fn family(self) -> &'static str {
        match self {
            Algorithm::Native => "native",
            Algorithm::Coordinators { .. } => "coordinators",
            Algorithm::Shared { .. } => "shared",
            Algorithm::Direct { .. } => "direct",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family())?;
        match self {
            Algorithm::Coordinators { segments: 1 } | Algorithm::Shared { segments: 1 } => Ok(()),
            Algorithm::Coordinators { segments } | Algorithm::Shared { segments } => write!(f, ", {segments} segments"),
            Algorithm::Native | Algorithm::Direct { window: UNLIMITED_WINDOW } => Ok(()),
            Algorithm::Direct { window } => write!(f, ", {window} ahead"),
        }
    }
}
