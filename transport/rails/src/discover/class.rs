//! Preference classes of interfaces, and of ways to peers.

/// Preference of an interface: a peer is reached over interfaces of the first class that lead to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A rail.
    #[default]
    Rail,
    /// Loopback with a global address of the host, or a link to it.
    OfHost,
    /// Its addresses are all link-local.
    OfLink,
    /// A tunnel, a bridge, or another interface on top of others.
    Virtual,
    /// Its name is that of an interface of containers or virtual machines.
    OfContainers,
}

impl Class {
    /// All classes, in the order of preference.
    pub const ALL: [Class; 5] = [Class::Rail, Class::OfHost, Class::OfLink, Class::Virtual, Class::OfContainers];
    /// The last one.
    pub const LAST: Class = Class::OfContainers;

    /// The class with this number; the last one for an unknown number.
    pub fn of_number(number: u8) -> Class {
        Class::ALL.get(usize::from(number)).copied().unwrap_or(Class::LAST)
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self as u8
    }
}
