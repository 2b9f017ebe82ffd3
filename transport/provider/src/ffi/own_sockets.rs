//! A function for the library in front of MPI (`transport/interpose`), which calls it when MPI ends. Not part of libfabric.

use fishplate_rails::own_sockets;

/// Whether the socket with this inode number is a connection of a rail.
#[unsafe(no_mangle)]
pub extern "C" fn fishplate_owns_socket(number: u64) -> bool {
    super::guard(false, || own_sockets::has(number))
}
