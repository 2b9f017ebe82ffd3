//! Files that a user names for output, in folders that others may write to as well. What stands under such a name may be a
//! link of somebody else's, which leads to a file that this user may write and the maker of the link may not.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// Mode bits of a folder: its group, or everybody, may add and replace entries.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Mode bit of a folder: an entry can only be replaced by its owner, or that of the folder.
const STICKY: u32 = 0o1000;

/// Opens a file to replace its contents; makes it where there is none.
///
/// # Errors
/// When it cannot be opened, or others may have put a link, a pipe, a device, or a second name of another file in its place.
pub fn create(file: &Path) -> Result<File> {
    let opened = open(file, OpenOptions::new().write(true).create(true))?;
    // A pipe has no length.
    if opened.metadata()?.is_file() {
        opened.set_len(0)?;
    }
    Ok(opened)
}

/// Opens a file to append to it; makes it where there is none.
///
/// # Errors
/// As those of [`create`].
pub fn append(file: &Path) -> Result<File> {
    open(file, OpenOptions::new().append(true).create(true))
}

/// Opens an existing file to append to it.
///
/// # Errors
/// As those of [`create`], and [`ErrorKind::NotFound`].
pub fn append_existing(file: &Path) -> Result<File> {
    open(file, OpenOptions::new().append(true))
}

/// Whether writes to `file` go elsewhere by the will of this user or of root: it is a link, a pipe or a device of
/// theirs, in a place where nobody else could have replaced it.
///
/// # Errors
/// When somebody else could have put the link, pipe or device there.
pub fn leads_elsewhere(file: &Path) -> Result<bool> {
    let entry = match fs::symlink_metadata(file) {
        Ok(entry) => entry,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if entry.is_file() || entry.is_dir() {
        return Ok(false);
    }
    if is_ours(&entry) && !others_replace(file)? || is_of_the_system(file) {
        return Ok(true);
    }
    let kind = entry.file_type();
    let what = if kind.is_symlink() {
        "a link"
    } else if kind.is_fifo() {
        "a pipe"
    } else {
        "a device or socket"
    };
    Err(refused(&format!("it is {what} that other users may have put there")))
}

fn open(file: &Path, options: &mut OpenOptions) -> Result<File> {
    if leads_elsewhere(file)? {
        return options.open(file);
    }
    // The entry may have been replaced meanwhile. Opening a pipe must not wait for its reader.
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let opened = options.open(file)?;
    let metadata = opened.metadata()?;
    if !metadata.is_file() {
        return Err(refused("it is no regular file"));
    }
    if metadata.nlink() > 1 && others_add(file)? {
        return Err(refused("it is a file with several names, one of which other users may have put there"));
    }
    Ok(opened)
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, format!("{why}: remove it, or choose another folder"))
}

fn is_ours(metadata: &Metadata) -> bool {
    [0, geteuid().as_raw()].contains(&metadata.uid())
}

/// Whether users other than this one and root can add entries to the folder of `file`.
fn others_add(file: &Path) -> Result<bool> {
    let folder = fs::metadata(folder(file))?;
    Ok(!is_ours(&folder) || folder.mode() & WRITABLE_BY_OTHERS != 0)
}

/// Whether they can put entries of their own in the place of ours.
fn others_replace(file: &Path) -> Result<bool> {
    let folder = fs::metadata(folder(file))?;
    Ok(!is_ours(&folder) || folder.mode() & WRITABLE_BY_OTHERS != 0 && folder.mode() & STICKY == 0)
}

/// Whether the kernel or the administrator has made the entry, with any owner that a user namespace shows.
fn is_of_the_system(file: &Path) -> bool {
    let is_system = |folder: std::path::PathBuf| folder == Path::new("/dev") || folder.starts_with("/proc");
    folder(file).canonicalize().is_ok_and(is_system)
}

fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    /// A folder with these mode bits, until it is dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, mode: u32) -> Folder {
            let folder = std::env::temp_dir().join(format!("fishplate-output-{}-{name}", std::process::id()));
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            Folder(folder)
        }

        fn file(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn reasons(file: &Path) -> Vec<String> {
        [create(file), append(file), append_existing(file)].map(|opened| opened.unwrap_err().to_string()).into()
    }

    #[test]
    fn a_link_is_followed_where_nobody_else_could_have_put_it() {
        for (name, mode, follows) in [("own", 0o755, true), ("sticky", 0o1777, true), ("open", 0o777, false)] {
            let folder = Folder::new(name, mode);
            let [target, link] = ["target", "link"].map(|name| folder.file(name));
            fs::write(&target, "old").unwrap();
            symlink(&target, &link).unwrap();
            if follows {
                create(&link).unwrap().write_all(b"new").unwrap();
                append(&link).unwrap().write_all(b"er").unwrap();
                assert_eq!(fs::read_to_string(&target).unwrap(), "newer");
                assert!(leads_elsewhere(&link).unwrap());
            } else {
                let problem = "it is a link that other users may have put there: remove it, or choose another folder";
                assert_eq!(reasons(&link), [problem; 3]);
                assert_eq!(fs::read_to_string(&target).unwrap(), "old");
            }
        }
    }

    #[test]
    fn a_pipe_that_others_may_have_made_is_not_waited_for() {
        let folder = Folder::new("pipe", 0o777);
        let pipe = folder.file("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(reasons(&pipe).iter().all(|reason| reason.starts_with("it is a pipe that other users")));
    }

    #[test]
    fn a_second_name_of_another_file_is_refused_where_others_may_have_given_it() {
        for (name, mode, is_taken) in
            [("links", 0o700, true), ("open-links", 0o777, false), ("sticky-links", 0o1777, false)]
        {
            let folder = Folder::new(name, mode);
            let [file, second] = ["file", "second"].map(|name| folder.file(name));
            fs::write(&file, "old").unwrap();
            fs::hard_link(&file, &second).unwrap();
            assert_eq!(create(&second).is_ok(), is_taken);
            assert_eq!(fs::read_to_string(&file).unwrap(), if is_taken { "" } else { "old" });
        }
    }

    #[test]
    fn files_are_made_replaced_and_continued() {
        let folder = Folder::new("files", 0o777);
        let file = folder.file("file");
        assert_eq!(append_existing(&file).unwrap_err().kind(), ErrorKind::NotFound);
        append(&file).unwrap().write_all(b"one").unwrap();
        append_existing(&file).unwrap().write_all(b" two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one two");
        create(&file).unwrap().write_all(b"three").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "three");
    }

    #[test]
    fn devices_and_the_standard_output_are_written_to() {
        for file in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].map(Path::new) {
            assert!(leads_elsewhere(file).unwrap(), "{}", file.display());
            append_existing(file).unwrap();
        }
    }
}
