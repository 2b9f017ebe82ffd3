//! What the library in front of MPI asks this library for a profile (`crates/interpose`): no part of libfabric.

use fishplate_rails::rail::LONGEST_RAIL_NAME;
use fishplate_rails::rail_bytes;

/// Bytes of a name, with a zero behind it.
const NAME_BYTES: usize = 56;
const _: () = assert!(LONGEST_RAIL_NAME < NAME_BYTES);

/// A rail, as both libraries know it.
#[repr(C)]
pub struct Rail {
    /// Its name; the rest is zeros.
    name: [u8; NAME_BYTES],
    /// Bytes sent since the start.
    sent: u64,
    /// Bytes received.
    received: u64,
}

/// Writes at most `capacity` rails, and returns how many.
///
/// # Safety
/// `rails` has room for so many.
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
