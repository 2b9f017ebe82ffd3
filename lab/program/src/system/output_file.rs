//! Files and folders that a user names for output, which may lie in folders of others; errors name them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use fishplate_guest::output_file;

/// Writes `text` to a file, replacing its contents.
///
/// # Errors
/// When it cannot be written, or others may have put a link in its place.
pub fn put(file: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    let written = output_file::create(file).and_then(|mut file| file.write_all(text.as_ref()));
    written.with_context(|| format!("cannot write {}", file.display()))
}

/// An empty file.
///
/// # Errors
/// As those of [`put`].
pub fn create(file: &Path) -> Result<File> {
    output_file::create(file).with_context(|| format!("cannot write {}", file.display()))
}

/// Makes a folder where there is none.
///
/// # Errors
/// When it cannot be made, or others may have put a link in its place.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    output_file::leads_elsewhere(folder).and_then(|_| fs::create_dir_all(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_of_others_are_reported_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let [file, link, own] = ["file", "link", "own"].map(|name| folder.path().join(name));
        symlink(&file, &link).unwrap();
        let problem = "it is a link that other users may have put there: remove it, or choose another folder";
        let error = format!("{:#}", put(&link, "text").unwrap_err());
        assert_eq!(error, format!("cannot write {}: {problem}", link.display()));
        assert_eq!(make_folder(&link).unwrap_err().to_string(), problem);
        assert!(!file.exists());
        make_folder(&own).unwrap();
        put(&own.join("file"), "text").unwrap();
        put(&own.join("file"), "new").unwrap();
        assert_eq!(fs::read_to_string(own.join("file")).unwrap(), "new");
    }
}
