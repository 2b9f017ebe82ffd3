//! Names of peers in messages to the user: each side sends the other its rank and host.

use fishplate_engine::wire::{Body, HOST_NAME_LEN, Header};

use crate::endpoint::tcp::TcpLinks;
use crate::process;

impl TcpLinks {
    /// Sends rank and host to the peer of a link that has just come up.
    pub fn send_name(&mut self, at: usize) {
        let mut host = [0; HOST_NAME_LEN];
        host.iter_mut().zip(process::host().bytes()).for_each(|(to, byte)| *to = byte);
        let header = Header::without_acknowledgement(Body::Name { rank: process::rank(), host });
        self.push_header(at, &header);
    }
}

/// The name of a peer for display, from the rank and the host that it has sent. It comes from the peer and may end up on a terminal: control characters are replaced.
pub fn name(rank: Option<u32>, host: &[u8]) -> String {
    let given = host.iter().take_while(|byte| **byte != 0);
    let host: String = given.map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' }).collect();
    match rank {
        Some(rank) => format!("rank {rank} on {host}"),
        None => format!("a process on {host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_name_is_shown_as_it_is_and_nothing_that_a_terminal_would_obey() {
        assert_eq!(name(Some(3), b"node1\0\0"), "rank 3 on node1");
        assert_eq!(name(None, b"a\x1b[2J\xc3\xa4"), "a process on a?[2J??");
    }
}
