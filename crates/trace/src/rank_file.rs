//! The file of one rank, and what is not in it yet.
//!
//! `NAME.trace`: [`MAGIC`], then chunks: kind (a byte), length (four bytes, little-endian), contents. The first one is the
//! [`Header`]; blocks follow, and a last one where the rank has come to its end.
//!
//! `NAME.tail`, while the rank runs, and for ever where it was killed: what the next block will consist of, in memory that
//! is mapped to this file. Words of 64 bits ([`tail`]), then words of 32 bits: definitions, then calls.

use fishplate_host::{Host, HostId};
use serde::{Deserialize, Serialize};

/// How a file begins; the last byte is the format's version.
pub const MAGIC: [u8; 8] = *b"FPTRACE\x02";
/// Ending of files.
pub const TRACE: &str = "trace";
/// The same of what is not in the file yet.
pub const TAIL: &str = "tail";

/// Kinds of chunks.
pub mod chunk {
    /// The header.
    pub const HEADER: u8 = 0;
    /// A block.
    pub const BLOCK: u8 = 1;
    /// From here on operations are numbered from 0 anew.
    pub const RESTART: u8 = 2;
    /// The rank has come to its end.
    pub const END: u8 = 3;
}

/// What `NAME.tail` consists of.
pub mod tail {
    /// Word: that it is one of these files.
    pub const MAGIC: usize = 0;
    /// Its contents.
    pub const IS_TAIL: u64 = u64::from_le_bytes(*b"FPTAIL\0\x01");
    /// Word: which block of the file it will be.
    pub const BLOCK: usize = 1;
    /// Word: calls.
    pub const EVENTS: usize = 2;
    /// Word: words of definitions.
    pub const DEFINITIONS: usize = 3;
    /// How many words of 64 bits there are.
    pub const WORDS: usize = 4;
    /// Room for definitions, in words of 32 bits: each its length in bytes, and its bytes.
    pub const DEFINITION_WORDS: usize = 32 << 10;
    /// Room for calls, each two words: its operation; processor time, and idle time in the upper half.
    pub const MAX_EVENTS: usize = 64 << 10;
    /// Numbers of 32 bits in all.
    pub const NUMBERS: usize = DEFINITION_WORDS + 2 * MAX_EVENTS;
}

/// Of which rank a trace is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// In MPI_COMM_WORLD.
    pub rank: u32,
    /// Of how many.
    pub ranks: u32,
    /// What tells programs apart that run at the same time; 0: not known.
    pub world: u64,
    /// Whether other ranks have started it, by MPI_Comm_spawn.
    pub is_spawned: bool,
    /// Name of the host.
    pub host: String,
    /// Which machine, and when it was started. Several hosts (containers) may be on one.
    pub machine: String,
    /// Path of the program.
    pub program: String,
    /// First line of what the MPI library says of itself.
    pub library: String,
    /// Processors that the process may use.
    pub processors: u32,
    /// What recording a call takes that is not recorded itself, in nanoseconds. It is subtracted already.
    pub overhead_ns: u64,
    /// Which host; headers of before end without this and what follows.
    pub host_id: Option<HostId>,
    /// Which processors of the machine it may use: bits, those of the first 64 first. Empty: not known.
    pub processor_mask: Vec<u64>,
}

impl Header {
    /// Reads a header. One of before ends in front of the two fields that have been added since: a zero is none for each.
    pub fn decode(bytes: &[u8]) -> Option<Header> {
        postcard::from_bytes(&[bytes, &[0; 2]].concat()).ok()
    }

    /// The host: by machine and name where the header does not tell more.
    pub fn host(&self) -> HostId {
        let known = || Host { name: self.host.clone(), boot: self.machine.clone(), ..Host::default() };
        self.host_id.unwrap_or_else(|| known().id())
    }

    /// Of a rank that nobody has recorded.
    pub fn synthetic(rank: u32, ranks: u32) -> Header {
        Header {
            rank,
            ranks,
            world: 0,
            is_spawned: false,
            host: String::new(),
            machine: String::new(),
            program: String::new(),
            library: String::new(),
            processors: 1,
            overhead_ns: 0,
            host_id: None,
            processor_mask: Vec::new(),
        }
    }
}

/// A chunk, as it is written.
pub fn chunk(kind: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((contents.len() as u32).to_le_bytes());
    bytes.extend(contents);
    bytes
}

/// The next chunk, and `from` moves on; nothing where it is not complete.
pub fn read_chunk<'a>(from: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (kind, rest) = from.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (contents, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *from = rest;
    Some((*kind, contents))
}
