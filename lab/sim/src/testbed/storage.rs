//! Description of a file system in a testbed.

use serde::Deserialize;

use super::parameter::Parameter;

/// A file system: who serves it, how accesses become requests, what these cost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// One sentence.
    pub about: String,
    /// Servers, each on a node of its own; the first is the manager as well.
    pub servers: Parameter,
    /// Consecutive stripes of a file are on consecutive servers.
    pub stripe_bytes: Parameter,
    /// Most data of a request; absent: all that an access wants of a server.
    pub request_bytes: Option<Parameter>,
    /// Chunk size of a server for the data of a request.
    pub flow_bytes: Parameter,
    /// Pieces of a file that one access names at most: more of them are several accesses in turn.
    pub pieces: Parameter,
    /// Requests that a server lets a client have under way.
    pub credits: Parameter,
    /// Data goes by the server's adapter from memory to memory; otherwise it is part of the stream.
    #[serde(default)]
    pub rdma: bool,
    /// The client of a write waits for the server before it sends data; otherwise data follows right behind the request.
    #[serde(default)]
    pub asks_before_writing: bool,
    /// A request or an answer, without pieces and data.
    pub message_bytes: Parameter,
    /// Code of the client: for each request.
    pub client_request_ns: Parameter,
    /// Code of the server: for each request.
    pub server_request_ns: Parameter,
    /// Code of the server: for each piece.
    pub piece_ns: Parameter,
    /// Copying between the server's memory file system and its send and receive buffers; absent: no copy.
    pub server_copy_mb_s: Option<Parameter>,
    /// Copying between the client's send and receive buffers and its program; absent: no copy.
    pub client_copy_mb_s: Option<Parameter>,
}

impl Storage {
    /// Describes the first error, if any.
    pub(super) fn check(&self) -> Result<(), String> {
        let request = self.request_bytes.iter().map(|request| ("request_bytes", request, f64::MAX));
        let counts = [
            ("servers", &self.servers, 1024.0),
            ("stripe_bytes", &self.stripe_bytes, f64::MAX),
            ("flow_bytes", &self.flow_bytes, f64::MAX),
            ("pieces", &self.pieces, 65536.0),
            ("credits", &self.credits, 1024.0),
        ];
        for (name, Parameter { value, .. }, most) in counts.into_iter().chain(request) {
            if *value < 1.0 || value.fract() != 0.0 {
                return Err(format!("{name}: {value} is not a whole number from 1 on"));
            }
            if *value > most {
                return Err(format!("{name}: {value} is more than {most}"));
            }
        }
        let rates = [("server_copy_mb_s", &self.server_copy_mb_s), ("client_copy_mb_s", &self.client_copy_mb_s)];
        match rates.into_iter().find(|(_, rate)| rate.as_ref().is_some_and(|rate| rate.value == 0.0)) {
            Some((name, _)) => Err(format!("{name}: a rate of 0 copies nothing; leave it out where nothing is copied")),
            None => Ok(()),
        }
    }
}
