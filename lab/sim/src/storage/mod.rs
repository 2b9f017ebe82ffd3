//! File systems over the models: clients that cut accesses into requests, servers that answer them, as programs on ranks.
//!
//! A file's stripes go round the servers. An access becomes a request to each server that has a part of it; where
//! requests have a greatest length, several. A request takes a credit of its server; the answer gives it back. Data is
//! part of the stream of the socket, a flow's length at a time, or moves by RDMA: for a read, the server's adapter
//! writes to the client's memory (write chunks); for a write, it reads from there (read chunks).

mod client;
mod layout;
mod requests;
mod server;
mod stream;
mod turns;

pub use client::Client;
pub use layout::Piece;
pub use requests::FileSystem;
pub use server::serve;
