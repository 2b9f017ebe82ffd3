//! Temporary folders that only this user can access, whatever the umask: they contain programs to be run.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

/// Makes one in `place`, with a name that begins with `prefix`.
///
/// # Errors
/// When it cannot be made.
pub fn make_in(place: &Path, prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(place)
}

/// Makes one where temporary files belong.
///
/// # Errors
/// When it cannot be made.
pub fn make(prefix: &str) -> io::Result<TempDir> {
    make_in(&std::env::temp_dir(), prefix)
}

/// Makes one of this name.
///
/// # Errors
/// When it cannot be made, or there is something of that name.
pub fn make_at(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_users_alone() {
        let folder = make("fishplate-test-").unwrap();
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
