//! Which arguments of a collective operation are significant on this rank (MPI-4.1, chapter 6). The others may have any value,
//! including invalid pointers.

use fishplate_profile::calls::Kind;

use super::arguments::Arguments;
use crate::ffi::abi::Abi;

/// The role of this rank in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub is_root: bool,
    /// Whether it sends.
    pub gives: bool,
    /// Whether it receives.
    pub gets: bool,
    /// Whether the send buffer is MPI_IN_PLACE: count and datatype are those of the receive buffer.
    pub gives_in_place: bool,
    /// Whether the receive buffer is MPI_IN_PLACE.
    pub gets_in_place: bool,
}

impl Part {
    /// The role of rank `own` of a communicator.
    pub fn of(abi: &Abi, arguments: &Arguments, own: usize, is_inter: bool) -> Part {
        let part = Part::in_roles(arguments.call.kind, arguments.int(b'o'), (own, is_inter), abi.root);
        Part {
            gives_in_place: arguments.is_in_place(abi, b'b'),
            gets_in_place: arguments.is_in_place(abi, b'B'),
            ..part
        }
    }

    /// In an intercommunicator the root passes `mpi_root`; the other ranks of its group pass MPI_PROC_NULL and take no part.
    fn in_roles(kind: Kind, root: Option<i32>, (own, is_inter): (usize, bool), mpi_root: i32) -> Part {
        let is_root = root.is_some_and(|root| if is_inter { root == mpi_root } else { root == own as i32 });
        let is_leaf = !is_root && root.is_some_and(|root| root >= 0);
        let is_both = is_root && !is_inter;
        let (gives, gets) = match kind {
            Kind::Gather | Kind::Reduce => (is_leaf || is_both, is_root),
            Kind::Scatter => (is_root, is_leaf || is_both),
            Kind::Bcast => (is_root, is_leaf),
            _ => (true, true),
        };
        Part { is_root, gives, gets, gives_in_place: false, gets_in_place: false }
    }

    pub fn has(&self, argument: u8) -> bool {
        match argument {
            b'n' | b'x' | b'v' | b'y' => self.gives && !self.gives_in_place,
            b'N' | b'X' | b'V' | b'T' | b'Y' => self.gets && !self.gets_in_place,
            _ => self.gives || self.gets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_and_the_others_send_and_receive() {
        let roles = |kind, root, own, is_inter| {
            let part = Part::in_roles(kind, Some(root), (own, is_inter), -3);
            (part.is_root, part.gives, part.gets)
        };
        for (kind, root, leaf) in [
            (Kind::Bcast, (true, true, false), (false, false, true)),
            (Kind::Gather, (true, true, true), (false, true, false)),
            (Kind::Scatter, (true, true, true), (false, false, true)),
        ] {
            assert_eq!((roles(kind, 2, 2, false), roles(kind, 2, 0, false)), (root, leaf), "{kind:?}");
            // From the other group; a rank of that may have this rank's number.
            assert_eq!(roles(kind, 2, 2, true), leaf, "{kind:?}");
            assert_eq!(roles(kind, -1, 0, true), (false, false, false), "{kind:?}");
        }
        assert_eq!(roles(Kind::Gather, -3, 0, true), (true, false, true));
        assert_eq!(roles(Kind::Scatter, -3, 0, true), (true, true, false));
    }
}
