//! Files that are put in their place once all of them has been written.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use fishplate_guest::output_file;

/// Writes a file: whole, or not at all. Links, pipes and devices are no files to be replaced: they are written to, unless
/// others may have put them there.
///
/// # Errors
/// When it cannot be written, with the reason.
pub fn write(file: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let problem = || format!("cannot write {}", file.display());
    if output_file::leads_elsewhere(file).with_context(problem)? {
        let written = File::create(file).map_err(Into::into).and_then(|file| write_to(file, write));
        return written.with_context(problem).map(drop);
    }
    let name = file.file_name().context("it has no name").with_context(problem)?;
    write_by(&file.with_file_name(format!("{}.part", name.display())), file, write)
}

/// Like [`write()`], by way of the file `part` in its folder, so that several processes can write one file at once.
///
/// # Errors
/// When it cannot be written, with the reason.
pub fn write_by(part: &Path, file: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let put = || -> Result<()> {
        write_to(create_part(part)?, write)?.sync_all()?;
        Ok(fs::rename(part, file)?)
    };
    // A part is of no use, and the disk may be full.
    let put = put().inspect_err(|_| drop(fs::remove_file(part)));
    put.with_context(|| format!("cannot write {}", file.display()))
}

/// A new file, never what somebody has put in its place: a link would lead elsewhere.
fn create_part(part: &Path) -> io::Result<File> {
    let _ = fs::remove_file(part);
    File::create_new(part)
}

fn write_to(file: File, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<File> {
    let mut writer = BufWriter::new(file);
    write(&mut writer)?;
    Ok(writer.into_inner().map_err(|error| error.into_error())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn text(file: &Path, text: &str) -> Result<()> {
        write(file, |to| Ok(to.write_all(text.as_bytes())?))
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        text(&file, "old").unwrap();
        let error = write(&file, |_| bail!("no more")).unwrap_err();
        assert_eq!(format!("{error:#}"), format!("cannot write {}: no more", file.display()));
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_of_others_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        text(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        let error = format!("{:#}", text(&link, "new").unwrap_err());
        let problem = "it is a link that other users may have put there: remove it, or choose another folder";
        assert_eq!(error, format!("cannot write {}: {problem}", link.display()));
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }

    #[test]
    fn a_link_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        text(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        text(&link, "new").unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), file);
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}
