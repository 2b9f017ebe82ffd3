//! The trace of one rank.

use std::fs;
use std::path::Path;

use super::{RankTrace, ReadError, Step, wildcards};
use crate::block::{self, Block};
use crate::duration_code::decode;
use crate::operation::Operation;
use crate::rank_file::{Header, MAGIC, TAIL, chunk, read_chunk};
use crate::write::{self, OwnTail};

/// Reads a file and its tail.
pub fn read(path: &Path) -> Result<RankTrace, ReadError> {
    let bytes = fs::read(path).map_err(|error| ReadError::Io(path.into(), error))?;
    let mut rest = chunks(path, &bytes)?;
    let damaged = || ReadError::Damaged(path.into());
    let header = match read_chunk(&mut rest) {
        Some((chunk::HEADER, header)) => Header::decode(header).ok_or_else(damaged)?,
        _ => return Err(damaged()),
    };
    let mut reader = Reader::new(header);
    // A file whose rank was killed may end within a chunk.
    while let Some((kind, contents)) = read_chunk(&mut rest) {
        match kind {
            chunk::BLOCK => {
                let block = block::decode(contents).ok_or_else(damaged)?;
                reader.blocks += 1;
                reader.add(&block).ok_or_else(damaged)?;
            }
            chunk::RESTART => reader.first = reader.trace.operations.len(),
            chunk::END => reader.trace.is_whole = true,
            _ => return Err(damaged()),
        }
    }
    if !reader.trace.is_whole
        && let Some(tail) = fs::read(path.with_extension(TAIL)).ok().and_then(|bytes| OwnTail::of_bytes(&bytes))
        && let Some(block) = write::left(&tail, reader.blocks)
    {
        reader.add(&block).ok_or_else(damaged)?;
    }
    let mut trace = reader.trace;
    wildcards::resolve(&mut trace);
    Ok(trace)
}

/// The chunks after the magic number.
fn chunks<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a [u8], ReadError> {
    let Some((magic, rest)) = bytes.split_first_chunk::<8>() else { return Err(ReadError::NotATrace(path.into())) };
    if magic[..7] != MAGIC[..7] {
        return Err(ReadError::NotATrace(path.into()));
    }
    if magic[7] != MAGIC[7] {
        return Err(ReadError::Version(path.into(), magic[7]));
    }
    Ok(rest)
}

struct Reader {
    trace: RankTrace,
    /// Number of blocks so far.
    blocks: u64,
    /// Index of the operation with number 0.
    first: usize,
}

impl Reader {
    fn new(header: Header) -> Reader {
        let trace = RankTrace { header, operations: Vec::new(), steps: Vec::new(), is_whole: false };
        Reader { trace, blocks: 0, first: 0 }
    }

    /// `None` if a call refers to an undefined operation.
    fn add(&mut self, block: &Block) -> Option<()> {
        for definition in &block.definitions {
            self.trace.operations.push(postcard::from_bytes::<Operation>(definition).ok()?);
        }
        for event in &block.events {
            let operation = self.first + event.operation as usize;
            if operation >= self.trace.operations.len() {
                return None;
            }
            let (processor_ns, idle_ns) = (decode(event.processor), decode(event.idle));
            self.trace.steps.push(Step { operation: operation as u32, processor_ns, idle_ns });
        }
        Some(())
    }
}
