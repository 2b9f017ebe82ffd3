//! The umask of this process.

use nix::sys::stat::{Mode, umask};

/// While it exists, files created by this process and its children are writable only by this user: they include programs that
/// are run later.
/// The umask belongs to all threads, so there is to be none meanwhile that makes files for others.
pub struct NotForOthers(Mode);

impl NotForOthers {
    pub fn new() -> NotForOthers {
        let before = umask(Mode::S_IWGRP | Mode::S_IWOTH);
        umask(before | Mode::S_IWGRP | Mode::S_IWOTH);
        NotForOthers(before)
    }
}

impl Drop for NotForOthers {
    fn drop(&mut self) {
        umask(self.0);
    }
}
