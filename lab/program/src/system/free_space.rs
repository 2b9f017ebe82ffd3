//! Room on disks.

use std::path::Path;

use nix::sys::statvfs::statvfs;

/// Bytes that may still be written into a folder.
pub fn of(folder: &Path) -> nix::Result<u64> {
    statvfs(folder).map(|disk| disk.blocks_available() * disk.fragment_size())
}
