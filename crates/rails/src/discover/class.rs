//! How interfaces, and ways to peers, are preferred to each other.

/// How an interface is preferred to others: a peer is reached over those of the first class that lead to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A rail.
    #[default]
    Rail,
    /// It has, or is a link to, an address of loopback that is the host's.
    OfHost,
    /// It has addresses of its link alone.
    OfLink,
    /// A tunnel, a bridge, or another one that is made of others.
    Virtual,
    /// It is called as managers of containers and virtual machines call theirs.
    OfContainers,
}

impl Class {
    /// All, the first one first.
    pub const ALL: [Class; 5] = [Class::Rail, Class::OfHost, Class::OfLink, Class::Virtual, Class::OfContainers];
    /// The last one.
    pub const LAST: Class = Class::OfContainers;

    /// The class of that number; the last one for a number that is none.
    pub fn of_number(number: u8) -> Class {
        Class::ALL.get(usize::from(number)).copied().unwrap_or(Class::LAST)
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self as u8
    }
}
