//! Connections until they are proven.

pub mod incoming;
pub mod outgoing;
pub mod unproven;

use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::handshake::MAX_MESSAGE_LEN;

/// Reads a part of a handshake, until `received` has at most `most` bytes. `Ok(false)`: the peer has shut the connection.
fn read_some(mut stream: &TcpStream, received: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    while received.len() < most {
        let mut bytes = [0; MAX_MESSAGE_LEN];
        let room = bytes.len().min(most - received.len());
        match stream.read(&mut bytes[..room]) {
            Ok(0) => return Ok(false),
            Ok(got) => received.extend_from_slice(&bytes[..got]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Writes a handshake message. A new connection's socket buffer always has room for one.
fn write_whole(mut stream: &TcpStream, message: &[u8]) -> io::Result<()> {
    stream.write_all(message)
}
