//! Memory-mapped files: their contents survive the process however it ends.
//!
//! Disk space is reserved before memory is accessed: otherwise a full disk would kill the process by SIGBUS. The limit of the
//! file size (RLIMIT_FSIZE) would kill it by SIGXFSZ.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

use fishplate_guest::file_limit;

/// Creates a file of `words` zero words, mapped for the lifetime of the process.
pub fn create(path: &Path, words: usize) -> io::Result<&'static [AtomicU64]> {
    let bytes = words * size_of::<AtomicU64>();
    let file = create_file(path, bytes)?;
    let start = map(&file, bytes)?;
    // SAFETY: mapped memory of that length, page-aligned and never unmapped. Other processes only read the file.
    Ok(unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), words) })
}

pub struct GrowingFile {
    file: File,
    start: NonNull<u8>,
    bytes: usize,
    head: usize,
}

// SAFETY: it owns its mapping.
unsafe impl Send for GrowingFile {}

impl GrowingFile {
    /// Creates a file with a header of `head` words.
    pub fn create(path: &Path, head: usize) -> io::Result<GrowingFile> {
        let bytes = head * size_of::<AtomicU64>();
        let file = create_file(path, bytes)?;
        let start = map(&file, bytes)?;
        Ok(GrowingFile { file, start, bytes, head })
    }

    pub fn head(&self) -> &[AtomicU64] {
        // SAFETY: mapped memory of at least that length, which is not moved while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.cast().as_ptr(), self.head) }
    }

    /// The numbers after the header.
    pub fn numbers(&self) -> &[AtomicU32] {
        let head = self.head * size_of::<AtomicU64>();
        // SAFETY: as above; after the header.
        unsafe {
            std::slice::from_raw_parts(
                self.start.add(head).cast().as_ptr(),
                (self.bytes - head) / size_of::<AtomicU32>(),
            )
        }
    }

    pub fn grow(&mut self, bytes: usize) -> io::Result<()> {
        reserve(&self.file, bytes)?;
        // SAFETY: the file's mapping, to which no reference exists, as `self` is borrowed mutably.
        let start = unsafe { libc::mremap(self.start.as_ptr().cast(), self.bytes, bytes, libc::MREMAP_MAYMOVE) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        self.start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for GrowingFile {
    fn drop(&mut self) {
        // SAFETY: the file's mapping, to which no reference exists.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn create_file(path: &Path, bytes: usize) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    if let Err(error) = reserve(&file, bytes) {
        // A file without disk space would be mistaken for the file of a rank.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    Ok(file)
}

fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    file_limit::check(bytes as u64)?;
    // SAFETY: an open file.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn map(file: &File, bytes: usize) -> io::Result<NonNull<u8>> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping at an address chosen by the kernel.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory.into())
}
