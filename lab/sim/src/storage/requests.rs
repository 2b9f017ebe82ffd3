//! State shared by clients and servers of a file system: its description, ranks, and active requests.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::models::time::Time;
use crate::mpi::program::Tag;
use crate::testbed::Storage;

/// Offset and length of a piece in a request, 8 bytes each.
const PIECE_BYTES: u64 = 16;

/// A file system that is served and used.
pub struct FileSystem {
    storage: Storage,
    clients: u32,
    /// Messages that carry data in one go: one a rail, as sockets stripe it.
    ways: u64,
    /// Contents of active requests, by client, server and credit: messages of the model have only a length.
    requests: RefCell<BTreeMap<(u32, u32, u32), Request>>,
}

/// Kind of a request to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Whether data goes to the server.
    pub write: bool,
    /// Data.
    pub bytes: u64,
    /// Places in the server's local file.
    pub places: u64,
}

/// Messages of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Kind of the request.
    Request,
    /// The server waits for data, or has none left to send.
    Answer,
    Data,
}

impl FileSystem {
    /// That `clients` use, ranks 0 on, and the ranks after them serve.
    pub fn new(storage: Storage, clients: u32, rails: usize) -> FileSystem {
        FileSystem { storage, clients, ways: rails.max(1) as u64, requests: RefCell::default() }
    }

    /// Its description.
    pub(super) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// How many clients.
    pub fn clients(&self) -> u32 {
        self.clients
    }

    /// How many servers.
    pub fn servers(&self) -> u32 {
        self.storage.servers.value as u32
    }

    pub(super) fn rank_of(&self, server: u32) -> u32 {
        self.clients + server
    }

    /// Requests of a client that a server takes.
    pub(super) fn credits(&self) -> u32 {
        self.storage.credits.value as u32
    }

    /// Messages at a time.
    pub(super) fn ways(&self) -> u64 {
        self.ways
    }

    /// A client asks.
    pub(super) fn ask(&self, (client, server, credit): (u32, u32, u32), request: Request) {
        self.requests.borrow_mut().insert((client, server, credit), request);
    }

    /// The request; `None` if the client has closed.
    pub(super) fn asked(&self, name: (u32, u32, u32)) -> Option<Request> {
        self.requests.borrow_mut().remove(&name)
    }

    /// Length of a request.
    pub(super) fn request_bytes(&self, request: &Request) -> u64 {
        self.message_bytes() + PIECE_BYTES * request.places
    }

    /// Whether written data follows its request directly.
    pub(super) fn writes_at_once(&self) -> bool {
        !self.storage.rdma && !self.storage.asks_before_writing
    }

    /// Length of an answer.
    pub(super) fn message_bytes(&self) -> u64 {
        self.storage.message_bytes.value as u64
    }
}

/// The tag of a message of a request.
pub(super) fn tag(credit: u32, message: Message) -> Tag {
    const FIRST: Tag = 1 << 16;
    FIRST + 4 * Tag::from(credit) + message as Tag
}

/// How long a copy takes.
pub(super) fn copy(bytes: u64, mb_s: Option<f64>) -> Time {
    mb_s.map_or(Time::default(), |rate| Time::ns(bytes as f64 * 1e3 / rate))
}
