//! What the library in front of MPI asks this library for a profile (`crates/interpose`): no part of libfabric.

use fishplate_rails::rail_bytes;

/// A rail, as both libraries know it.
#[repr(C)]
pub struct Rail {
    /// Its interface; the rest is zeros. Names of interfaces have at most 15 bytes.
    name: [u8; 16],
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
pub unsafe extern "C" fn fishplate_rail_bytes(rails: *mut Rail, capacity: usize) -> usize {
    super::guard(0, || {
        let all = rail_bytes::all();
        for (at, rail) in all.iter().take(capacity).enumerate() {
            let mut name = [0; 16];
            name.iter_mut().zip(rail.name.bytes()).for_each(|(place, byte)| *place = byte);
            // SAFETY: the caller has room for `capacity` rails.
            unsafe { rails.add(at).write(Rail { name, sent: rail.sent, received: rail.received }) };
        }
        all.len().min(capacity)
    })
}
