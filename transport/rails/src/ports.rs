//! The ports that peers connect to, where a firewall allows only some: FISHPLATE_PORTS.
//!
//! Each process of a host listens on the first free one. Its datagrams use others, as far as there are any. The kernel chooses the
//! local ports of outgoing connections: firewalls judge by the destination.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Lowest port for users other than root.
const FIRST_OF_USERS: u16 = 1024;

/// A range of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// The allowed values, for messages.
    pub const ALLOWED: &str = "FIRST-LAST, both from 1024 to 65535 and the first not the greater one";

    /// All of them.
    pub fn range(self) -> RangeInclusive<u16> {
        self.first..=self.last
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.range().len()
    }

    /// All of them, beginning with `port` if it is one.
    pub fn beginning_with(self, port: u16) -> impl Iterator<Item = u16> {
        let start = if self.range().contains(&port) { port } else { self.first };
        (start..=self.last).chain(self.first..start)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// Text that names no range of ports.
#[derive(Debug, PartialEq, Eq)]
pub struct NoPorts;

impl FromStr for Ports {
    type Err = NoPorts;

    fn from_str(text: &str) -> Result<Ports, NoPorts> {
        let (first, last) = text.split_once('-').ok_or(NoPorts)?;
        let port = |text: &str| text.trim().parse().ok().filter(|port| *port >= FIRST_OF_USERS).ok_or(NoPorts);
        let ports = Ports { first: port(first)?, last: port(last)? };
        if ports.first <= ports.last { Ok(ports) } else { Err(NoPorts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_and_shown() {
        let ports: Ports = "50000-50002".parse().unwrap();
        assert_eq!((ports.count(), ports.to_string().as_str()), (3, "50000-50002"));
        assert_eq!("1024-65535".parse::<Ports>().unwrap().count(), 64512);
        assert_eq!("50000 - 50000".parse::<Ports>().unwrap().count(), 1);
        for wrong in ["50000", "50002-50000", "1023-2000", "50000-65536", "-", "a-b", "50000-", "50000:50100", "-1-5"] {
            assert_eq!(wrong.parse::<Ports>(), Err(NoPorts), "{wrong}");
        }
    }

    #[test]
    fn all_are_tried_wherever_one_begins() {
        let ports: Ports = "2000-2003".parse().unwrap();
        assert_eq!(ports.beginning_with(2002).collect::<Vec<_>>(), [2002, 2003, 2000, 2001]);
        assert_eq!(ports.beginning_with(9).collect::<Vec<_>>(), [2000, 2001, 2002, 2003]);
    }
}
