//! Requests of commands to a lab's daemon, and its responses: a line of JSON each way, one request to a connection.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result, bail};
use fishplate_longbow::Status as Emulated;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use serde::{Deserialize, Serialize};

use super::measure::Measured;
use super::rail::Rail;
use super::registry::Slot;

/// A request to a daemon.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Describe the lab. Answered by [`Response::Description`].
    Describe,
    /// Change rails now. Answered by [`Response::Done`].
    Set(Vec<String>),
    /// Change rails later, in place of the schedule so far. Answered by [`Response::Done`].
    Schedule(String),
    /// Answered by [`Response::Status`].
    Status,
    /// Measure each place for this number of seconds. Answered by [`Response::Measured`].
    Measure(f64),
    /// End. Answered by [`Response::Done`].
    Down,
}

/// A response of a daemon.
#[derive(Debug, Serialize, Deserialize)]
pub enum Response {
    /// It is done; what was done, for the user.
    Done(Vec<String>),
    /// The description of the lab.
    Description(Description),
    Status(Box<Status>),
    /// The measurements, and the share of a core used by the emulator meanwhile, if there is one.
    Measured {
        rails: Vec<Measured>,
        emulator_cpu: Option<f64>,
    },
    /// Why it could not be done.
    Error(String),
}

/// A lab as others need to know it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Description {
    pub hosts: Vec<DescribedHost>,
    /// Environment of commands.
    pub environment: Vec<(String, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct DescribedHost {
    pub name: String,
    pub cluster: String,
    /// The process that holds it, as the lab's /proc numbers it.
    pub proc_id: u32,
    /// Its addresses, rail by rail.
    pub addresses: Vec<String>,
}

/// Counters of a lab.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    pub hosts: Vec<DescribedHost>,
    pub links: Vec<DescribedLink>,
    /// How they are emulated.
    pub shaping: String,
    /// Restrictions on this machine.
    pub notes: Vec<String>,
    /// The last measurements.
    pub measured: Vec<Measured>,
    /// Counters of the emulator.
    pub emulated: Option<Emulated>,
    /// Share of a core that it took since the last time.
    pub emulator_cpu: Option<f64>,
    /// Its problem.
    pub emulator_error: Option<String>,
    /// Storage: what it is, and where.
    pub storage: Option<String>,
    /// Its problem.
    pub storage_failures: Vec<String>,
    /// Changes that are still to come.
    pub scheduled: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct DescribedLink {
    pub name: String,
    /// Its settings.
    pub asked: Rail,
    pub up: bool,
    /// Whether the emulator supports it.
    pub emulated: bool,
}

/// Asks the daemon of a lab. Returns also its process, as this one numbers it.
pub fn ask(slot: &Slot, request: &Request) -> Result<(Response, i32)> {
    slot.expect_up()?;
    let gone = || format!("lab {} does not answer (its messages: {})", slot.name, slot.log().display());
    let mut stream = UnixStream::connect(slot.socket()).with_context(gone)?;
    let daemon = getsockopt(&stream, PeerCredentials).context("cannot find the process that answers")?.pid();
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line).with_context(gone)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).with_context(gone)?;
    match serde_json::from_str(&answer).with_context(gone)? {
        Response::Error(error) => bail!(error),
        response => Ok((response, daemon)),
    }
}
