//! Notes: which programs loaded the interposed library, and which of them initialized MPI. They explain why a run left no
//! profile. They are small files in the folder of the profile and in the folder of [`VARIABLE`].
//!
//! - `NUMBER.loaded` contains the path of a program that loaded the library. NUMBER is a hash of the path, so that each
//!   program leaves one file.
//! - `NAME.began` is written by a process that called MPI_Init or MPI_Session_init. It contains [`Began`] as lines of a word
//!   and a value. In the folder of a profile it is removed once the file of the rank exists. In the folder of `fishplate run`
//!   the line [`Elsewhere`] is appended when MPI is finalized.
//! - `NAME.past`, only in the folder of a profile, is written by a process that initialized MPI without passing through the
//!   library. It contains the path of its program.

use std::net::IpAddr;

use fishplate_host::HostId;

/// The environment variable with the folder for the notes of `fishplate run`.
pub const VARIABLE: &str = "FISHPLATE_NOTES";
/// File name extension: a program loaded the library.
pub const LOADED: &str = "loaded";
/// File name extension: a process initialized MPI.
pub const BEGAN: &str = "began";
/// File name extension: a process initialized MPI without passing through the library.
pub const PAST: &str = "past";

/// Note of a process that initialized MPI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Began {
    /// Its host.
    pub host: Option<HostId>,
    /// Its rank, according to the launcher's environment variables.
    pub rank: Option<usize>,
    /// Number of ranks, according to the launcher's environment variables.
    pub ranks: Option<usize>,
    /// Its program.
    pub program: String,
    /// `None` until MPI_Init returned.
    pub library: Option<Library>,
    /// `None` until MPI_Finalize was called with the provider loaded.
    pub elsewhere: Option<Elsewhere>,
}

/// Traffic of a process over TCP connections to other hosts that belong to no rail. Covers the connections that are open when
/// MPI is finalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Bytes acknowledged by the peers' TCP.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// The peer with the most bytes.
    pub peer: Option<IpAddr>,
}

impl Elsewhere {
    /// As a line of a note; `None` if there was no traffic.
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

/// Libraries and settings of a process at the end of MPI_Init.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    /// First line of MPI_Get_library_version.
    pub version: String,
    /// Whether libfabric is loaded as a shared library.
    pub has_libfabric: bool,
    /// Whether Fishplate's provider is loaded.
    pub has_provider: bool,
    /// The value of FI_PROVIDER.
    pub fi_provider: String,
    /// The value of FISHPLATE_STATS.
    pub stats: String,
}

impl Began {
    /// As lines of a note.
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

    /// From the text of a note. Unknown lines are ignored.
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
