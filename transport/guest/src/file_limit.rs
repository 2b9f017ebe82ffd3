//! The longest file that a process may write (RLIMIT_FSIZE). The kernel ends a process that goes beyond it (SIGXFSZ), which a
//! library must not bring upon its program.

use std::fs::File;
use std::io::{Result, Write};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Whether a file may have this length, in bytes.
///
/// # Errors
/// EFBIG when it may not.
pub fn check(bytes: u64) -> Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(most) if bytes > most => Err(Errno::FBIG.into()),
        _ => Ok(()),
    }
}

/// A file that is appended to.
#[derive(Debug)]
pub struct LimitedFile {
    file: File,
    written: u64,
}

impl LimitedFile {
    /// `file` is empty.
    pub fn new(file: File) -> LimitedFile {
        LimitedFile { file, written: 0 }
    }

    /// `file` is appended to.
    ///
    /// # Errors
    /// When its length cannot be read.
    pub fn behind(file: File) -> Result<LimitedFile> {
        let written = file.metadata()?.len();
        Ok(LimitedFile { file, written })
    }
}

impl Write for LimitedFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        check(self.written.saturating_add(bytes.len() as u64))?;
        let count = self.file.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Rlimit, setrlimit};

    use super::*;

    #[test]
    fn a_file_beyond_the_limit_is_an_error() {
        let before = getrlimit(Resource::Fsize);
        // No other test writes as much.
        let most = 1 << 50;
        setrlimit(Resource::Fsize, Rlimit { current: Some(most), ..before }).unwrap();
        let file = LimitedFile::new(File::create("/dev/null").unwrap());
        let mut behind = LimitedFile { written: most - 3, ..file };
        let written = [behind.write(b"abc").is_ok(), behind.write(b"d").is_ok()];
        let error = check(most + 1).unwrap_err();
        setrlimit(Resource::Fsize, before).unwrap();
        assert_eq!(written, [true, false]);
        assert_eq!(error.raw_os_error(), Some(Errno::FBIG.raw_os_error()));
    }
}
