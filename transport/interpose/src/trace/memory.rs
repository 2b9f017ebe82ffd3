//! The tail of a trace, in a memory-mapped file.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64};

use fishplate_trace::rank_file::tail;
use fishplate_trace::write::Tail;

use crate::ffi::GrowingFile;

pub struct MappedTail(GrowingFile);

impl MappedTail {
    pub fn create(path: &Path) -> io::Result<MappedTail> {
        let mut file = GrowingFile::create(path, tail::WORDS)?;
        let bytes = tail::WORDS * size_of::<AtomicU64>() + tail::NUMBERS * size_of::<AtomicU32>();
        file.grow(bytes).inspect_err(|_| drop(std::fs::remove_file(path)))?;
        Ok(MappedTail(file))
    }
}

impl Tail for MappedTail {
    fn words(&self) -> &[AtomicU64] {
        self.0.head()
    }

    fn numbers(&self) -> &[AtomicU32] {
        self.0.numbers()
    }
}
