//! Functions for the library in front of MPI (`transport/interpose`). Not part of libfabric.

use fishplate_rails::rail::MAX_RAIL_NAME_LEN;
use fishplate_rails::{own_sockets, rail_bytes};

/// Whether the socket with this inode number is a connection of a rail. Called when MPI ends.
#[unsafe(no_mangle)]
pub extern "C" fn fishplate_owns_socket(number: u64) -> bool {
    super::guard(false, || own_sockets::has(number))
}

/// Length of a name with its final zero, in bytes.
const NAME_BYTES: usize = 56;
const _: () = assert!(MAX_RAIL_NAME_LEN < NAME_BYTES);

/// A rail. Both libraries have this layout.
#[repr(C)]
pub struct Rail {
    /// Its name; the rest is zeros.
    name: [u8; NAME_BYTES],
    /// Bytes sent since the start.
    sent: u64,
    /// Bytes received.
    received: u64,
}

/// Writes at most `capacity` rails, and returns how many. Called for profiles.
///
/// # Safety
/// `rails` points to memory for that number of rails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fishplate_named_rail_bytes(rails: *mut Rail, capacity: usize) -> usize {
    super::guard(0, || {
        let all = rail_bytes::all();
        for (at, rail) in all.iter().take(capacity).enumerate() {
            let mut name = [0; NAME_BYTES];
            name.iter_mut().zip(rail.name.bytes()).for_each(|(place, byte)| *place = byte);
            // SAFETY: the caller has room for `capacity` rails.
            unsafe { rails.add(at).write(Rail { name, sent: rail.sent, received: rail.received }) };
        }
        all.len().min(capacity)
    })
}
