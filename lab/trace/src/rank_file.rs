//! Layout of the file of one rank, and of its tail.
//!
//! `NAME.trace`: [`MAGIC`], then chunks: kind (one byte), length (four bytes, little-endian), contents. The first chunk is the
//! [`Header`]; blocks follow; the last chunk is [`chunk::END`] unless the rank was killed.
//!
//! `NAME.tail`: the contents of the next block, in a file mapped to memory. It exists while the rank runs, and stays if the
//! rank is killed. Words of 64 bits ([`tail`]), then words of 32 bits: definitions, then calls.

use fishplate_host::{Host, HostId};
use serde::{Deserialize, Serialize};

/// First bytes of a file; the last byte is the version of the format.
pub const MAGIC: [u8; 8] = *b"FPTRACE\x02";
/// File name extension of a trace.
pub const TRACE: &str = "trace";
/// File name extension of a tail.
pub const TAIL: &str = "tail";

/// Kinds of chunks.
pub mod chunk {
    /// The header.
    pub const HEADER: u8 = 0;
    /// A block.
    pub const BLOCK: u8 = 1;
    /// From here on operations are numbered from 0 anew.
    pub const RESTART: u8 = 2;
    /// The rank called MPI_Finalize.
    pub const END: u8 = 3;
}

/// Layout of `NAME.tail`.
pub mod tail {
    /// Word: [`IS_TAIL`].
    pub const MAGIC: usize = 0;
    /// Content of word [`MAGIC`].
    pub const IS_TAIL: u64 = u64::from_le_bytes(*b"FPTAIL\0\x01");
    /// Word: number of the block that the tail will become.
    pub const BLOCK: usize = 1;
    /// Word: number of calls.
    pub const EVENTS: usize = 2;
    /// Word: number of words of definitions.
    pub const DEFINITIONS: usize = 3;
    /// Number of 64-bit words.
    pub const WORDS: usize = 4;
    /// Capacity for definitions, in words of 32 bits. A definition is its length in bytes, then its bytes.
    pub const DEFINITION_WORDS: usize = 32 << 10;
    /// Capacity for calls. A call is two words: its operation; its processor time in the lower half, its idle time in the upper.
    pub const MAX_EVENTS: usize = 64 << 10;
    /// Number of 32-bit words.
    pub const NUMBERS: usize = DEFINITION_WORDS + 2 * MAX_EVENTS;
}

/// Describes the rank of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Its rank in MPI_COMM_WORLD.
    pub rank: u32,
    /// Number of ranks in MPI_COMM_WORLD.
    pub ranks: u32,
    /// Identifies the MPI_COMM_WORLD among programs that run at the same time; 0: unknown.
    pub world: u64,
    /// Whether it was started by MPI_Comm_spawn.
    pub is_spawned: bool,
    /// Name of the host.
    pub host: String,
    /// Identifies the machine and its boot. One machine may run several hosts (containers).
    pub machine: String,
    /// Path of the program.
    pub program: String,
    /// First line of MPI_Get_library_version.
    pub library: String,
    /// Number of processors that the process may use.
    pub processors: u32,
    /// Overhead of recording one call, in nanoseconds. It is already subtracted from the times.
    pub overhead_ns: u64,
    /// Identifies the host; `None` in headers of earlier versions, which end before this field.
    pub host_id: Option<HostId>,
    /// Bit mask of the processors that the process may use; bit 0 of word 0 is processor 0. Empty: unknown.
    pub processor_mask: Vec<u64>,
}

impl Header {
    /// Decodes a header. Headers of earlier versions lack the last two fields: appended zeros decode as absent.
    pub fn decode(bytes: &[u8]) -> Option<Header> {
        postcard::from_bytes(&[bytes, &[0; 2]].concat()).ok()
    }

    /// The host; derived from machine and name in headers of earlier versions.
    pub fn host(&self) -> HostId {
        let known = || Host { name: self.host.clone(), boot: self.machine.clone(), ..Host::default() };
        self.host_id.unwrap_or_else(|| known().id())
    }

    /// Header of a rank that was not recorded but generated.
    pub fn synthetic(rank: u32, ranks: u32) -> Header {
        Header { rank, ranks, processors: 1, ..Header::default() }
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
