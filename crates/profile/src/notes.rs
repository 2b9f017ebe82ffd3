//! Notes: which programs the library in front of MPI was loaded into, and which of them began MPI. They are there to tell why
//! a run has left nothing: small files, in the folder of the profile and in that which `fishplate run` names.
//!
//! `NUMBER.loaded` has the path of a program that has loaded the library; NUMBER is a hash of it, so that each program leaves
//! one. `NAME.began` is of a process that has called MPI_Init or MPI_Session_init, [`Began`] as lines of a word and a value;
//! where a profile is recorded it is removed once there is a file of the rank. That of `fishplate run` gets another line when MPI
//! ends, [`Elsewhere`]. `NAME.past`, beside a profile only, is of a process that began MPI past the library, and has the path of
//! its program.

use std::net::IpAddr;

use fishplate_host::HostId;

/// The environment variable with the folder of `fishplate run`'s.
pub const VARIABLE: &str = "FISHPLATE_NOTES";
/// Ending of a program's.
pub const LOADED: &str = "loaded";
/// Ending of a process's.
pub const BEGAN: &str = "began";
/// Ending of that of a process that began MPI past the library.
pub const PAST: &str = "past";

/// What a process knows that has begun MPI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Began {
    /// Its host.
    pub host: Option<HostId>,
    /// Its rank, as the launcher says.
    pub rank: Option<usize>,
    /// How many ranks there are, as the launcher says.
    pub ranks: Option<usize>,
    /// Its program.
    pub program: String,
    /// Once MPI's function has returned.
    pub library: Option<Library>,
    /// Once it has called MPI_Finalize with the provider loaded.
    pub elsewhere: Option<Elsewhere>,
}

/// What a process has sent and received over TCP connections to other hosts that are not of rails: those that are open when MPI
/// ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Bytes that the kernels of peers have acknowledged.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// The peer with most of it.
    pub peer: Option<IpAddr>,
}

impl Elsewhere {
    /// As a line of a note; none where there is nothing to tell.
    pub fn encode(&self) -> Option<String> {
        Some(format!("elsewhere {} {} {}\n", self.sent, self.received, self.peer?))
    }

    fn decode(text: &str) -> Option<Elsewhere> {
        let mut words = text.split(' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (sent, received) = (number()?, number()?);
        Some(Elsewhere { sent, received, peer: words.next()?.parse().ok() })
    }
}

/// What a process has loaded by the end of MPI_Init.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    /// What the MPI library says of itself, its first line.
    pub version: String,
    /// Whether libfabric is loaded as a library of its own.
    pub has_libfabric: bool,
    /// Whether Fishplate's provider is loaded.
    pub has_provider: bool,
    /// The value of FI_PROVIDER.
    pub fi_provider: String,
    /// The value of FISHPLATE_STATS.
    pub stats: String,
}

impl Began {
    /// As it is in a file.
    pub fn encode(&self) -> String {
        let mut lines = vec![("program", self.program.clone())];
        lines.extend(self.host.map(|host| ("host", host.number().to_string())));
        lines.extend(self.rank.map(|rank| ("rank", rank.to_string())));
        lines.extend(self.ranks.map(|ranks| ("ranks", ranks.to_string())));
        if let Some(library) = &self.library {
            lines.push(("version", library.version.clone()));
            lines.push(("libfabric", library.has_libfabric.to_string()));
            lines.push(("provider", library.has_provider.to_string()));
            lines.push(("fi_provider", library.fi_provider.clone()));
            lines.push(("stats", library.stats.clone()));
        }
        lines.iter().map(|(name, value)| format!("{name} {}\n", value.replace('\n', " "))).collect()
    }

    /// From a file. Lines that are not known are left out.
    pub fn decode(text: &str) -> Began {
        let value = |wanted: &str| text.lines().find_map(|line| line.strip_prefix(wanted)?.strip_prefix(' '));
        let number = |wanted: &str| value(wanted)?.parse::<usize>().ok();
        let has = |wanted: &str| value(wanted) == Some("true");
        Began {
            host: value("host").and_then(|host| HostId::of_number(host.parse().ok()?)),
            rank: number("rank"),
            ranks: number("ranks"),
            elsewhere: value("elsewhere").and_then(Elsewhere::decode),
            program: value("program").unwrap_or_default().into(),
            library: value("version").map(|version| Library {
                version: version.into(),
                has_libfabric: has("libfabric"),
                has_provider: has("provider"),
                fi_provider: value("fi_provider").unwrap_or_default().into(),
                stats: value("stats").unwrap_or_default().into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let (host, program) = (HostId::of_number(u64::MAX), "/a b/c\nd".to_string());
        let mut began = Began { host, program, ..Began::default() };
        let read = |began: &Began| Began::decode(&began.encode());
        assert_eq!(read(&began), Began { program: "/a b/c d".into(), ..began.clone() });
        began.program = "app".into();
        (began.rank, began.ranks) = (Some(3), Some(4));
        let (version, fi_provider, stats) = ("MPICH 5".into(), "tcp".into(), "/x y".into());
        began.library = Some(Library { version, has_libfabric: true, has_provider: false, fi_provider, stats });
        assert_eq!(read(&began), began);
        let elsewhere = Elsewhere { sent: 5, received: 6, peer: "10.0.0.1".parse().ok() };
        let text = began.encode() + &elsewhere.encode().unwrap();
        assert_eq!(Began::decode(&text), Began { elsewhere: Some(elsewhere), ..began });
        assert_eq!(Elsewhere::default().encode(), None);
        assert_eq!(Began::decode(""), Began::default());
    }
}
