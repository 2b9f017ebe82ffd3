//! The tail of a trace, in a memory-mapped file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64};

use fishplate_trace::rank_file::tail;
use fishplate_trace::write::Tail;

use crate::ffi::GrowingFile;

/// The mapped tail.
pub struct MappedTail {
    file: GrowingFile,
    path: PathBuf,
}

impl MappedTail {
    /// Creates the file.
    pub fn create(path: &Path) -> io::Result<MappedTail> {
        let mut file = GrowingFile::create(path, tail::WORDS)?;
        let bytes = tail::WORDS * size_of::<AtomicU64>() + tail::NUMBERS * size_of::<AtomicU32>();
        file.grow(bytes).inspect_err(|_| drop(std::fs::remove_file(path)))?;
        Ok(MappedTail { file, path: path.into() })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Tail for MappedTail {
    fn words(&self) -> &[AtomicU64] {
        self.file.head()
    }

    fn numbers(&self) -> &[AtomicU32] {
        self.file.numbers()
    }
}
