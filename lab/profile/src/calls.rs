//! The MPI functions that a profile distinguishes, parsed from `calls.txt`.

use std::fmt;
use std::sync::OnceLock;

const TEXT: &str = include_str!("calls.txt");

/// A function of MPI.
#[derive(Clone, Debug)]
pub struct Call {
    /// `MPI_...`.
    pub name: String,
    /// Kind of the function.
    pub kind: Kind,
    /// Whether it completes at once or through a request.
    pub form: Form,
    /// Whether its counts are `MPI_Count` (64 bits) instead of `int`.
    pub is_large: bool,
    /// Kinds of its arguments, as letters of `calls.txt`.
    pub arguments: Vec<u8>,
    /// By kind of argument: its position plus one; 0 if there is none.
    places: [u8; 128],
}

/// When a call does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Before it returns.
    Plain,
    /// It creates a request and starts it.
    Immediate,
    /// It creates a request that `MPI_Start` starts.
    Persistent,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $word:literal, $group:ident;)*) => {
        /// Kinds of calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            fn parse(word: &str) -> Option<Kind> {
                match word {
                    $($word => Some(Kind::$kind),)*
                    _ => None,
                }
            }

            /// The group in which reports show it.
            pub fn group(self) -> Group {
                match self {
                    $(Kind::$kind => Group::$group,)*
                }
            }
        }
    };
}

kinds! {
    /// Sends to one rank.
    Send = "send", PointToPoint;
    /// Creates a persistent request for a send.
    SendInit = "send-init", PointToPoint;
    /// Receives.
    Receive = "receive", PointToPoint;
    /// Creates a persistent request for a receive.
    ReceiveInit = "recv-init", PointToPoint;
    /// Sends and receives.
    Exchange = "exchange", PointToPoint;
    /// Starts persistent requests, or partitions of them.
    Start = "start", PointToPoint;
    /// Waits for requests or tests them.
    Complete = "complete", Completion;
    /// Probes for messages.
    Probe = "probe", PointToPoint;
    /// Attaches, detaches or flushes the buffer of buffered sends.
    Buffer = "buffer", PointToPoint;
    /// A barrier.
    Barrier = "barrier", Collective;
    /// The root's data goes to all ranks.
    Bcast = "bcast", Collective;
    /// All ranks' data goes to the root.
    Gather = "gather", Collective;
    /// A part of the root's data goes to each rank.
    Scatter = "scatter", Collective;
    /// All ranks' data is combined at the root.
    Reduce = "reduce", Collective;
    /// All ranks' data goes to all ranks.
    All = "all", Collective;
    /// Prefix reduction over the lower ranks.
    Prefix = "prefix", Collective;
    /// Between neighbours of a virtual topology.
    Neighbor = "neighbor", Collective;
    /// Remote memory access.
    OneSided = "one-sided", OneSided;
    /// Synchronization of windows.
    Sync = "sync", OneSided;
    /// Creates and frees communicators and windows.
    Manage = "manage", Management;
    /// File access.
    File = "file", File;
    /// Initialization and finalization of MPI.
    Life = "life", Management;
}

/// Calls that reports show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Sends, receives, probes.
    PointToPoint,
    /// Waits and tests.
    Completion,
    /// Collective operations.
    Collective,
    /// Remote memory access.
    OneSided,
    /// File access.
    File,
    /// Initialization, finalization, communicators.
    Management,
}

impl Group {
    /// All groups, in the order of reports.
    pub const ALL: [Group; 6] =
        [Group::PointToPoint, Group::Completion, Group::Collective, Group::OneSided, Group::File, Group::Management];
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Group::PointToPoint => "point to point",
            Group::Completion => "waiting and testing",
            Group::Collective => "collective",
            Group::OneSided => "one-sided",
            Group::File => "files",
            Group::Management => "management",
        })
    }
}

impl Call {
    /// Its name in Fortran, as most compilers spell it.
    pub fn fortran_name(&self) -> String {
        format!("{}_", self.name.to_ascii_lowercase())
    }

    /// The function of Open MPI that its modules for Fortran call.
    pub fn open_mpi_fortran_name(&self) -> String {
        format!("ompi_{}_f", self.name["MPI_".len()..].to_ascii_lowercase())
    }

    /// Its names in `mpi_f08`, as the modules spell them: MPICH's second one is for functions with buffers.
    pub fn fortran_2008_names(&self) -> [String; 2] {
        ["f08", "f08ts"].map(|module| format!("{}{module}_", self.fortran_name()))
    }

    /// Where its argument of this kind is.
    pub fn position(&self, argument: u8) -> Option<usize> {
        usize::from(self.places[usize::from(argument)]).checked_sub(1)
    }
}

/// All calls. The index of a call is its number in files.
pub fn table() -> &'static [Call] {
    static TABLE: OnceLock<Vec<Call>> = OnceLock::new();
    TABLE.get_or_init(|| TEXT.lines().filter_map(line).flatten().collect())
}

/// Hash of the table of calls.
pub fn table_version() -> u64 {
    // FNV-1a, 64 bits.
    TEXT.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The calls of one line of `calls.txt`; none for an empty line or a comment.
fn line(line: &str) -> Option<Vec<Call>> {
    let mut words = line.split_whitespace();
    let first = words.next().filter(|word| !word.starts_with('#'))?;
    let kind = Kind::parse(first).unwrap_or_else(|| panic!("calls.txt: {line}"));
    let (name, forms) = (words.next()?, words.next()?);
    let arguments: Vec<u8> = words.map(|word| word.as_bytes()[0]).collect();
    let with = |name: String, form, more: &[u8]| {
        let arguments = [&arguments[..], more].concat();
        let mut places = [0; 128];
        arguments.iter().enumerate().rev().for_each(|(at, kind)| places[usize::from(*kind)] = at as u8 + 1);
        Call { name, kind, form, is_large: false, arguments, places }
    };
    let has_request = arguments.contains(&b'r');
    let own_form = match kind {
        Kind::SendInit | Kind::ReceiveInit => Form::Persistent,
        _ if has_request => Form::Immediate,
        _ => Form::Plain,
    };
    let mut calls = vec![with(format!("MPI_{name}"), own_form, &[])];
    if forms.contains('I') {
        calls.push(with(format!("MPI_I{}", name.to_ascii_lowercase()), Form::Immediate, b"r"));
    }
    if forms.contains('P') {
        calls.push(with(format!("MPI_{name}_init"), Form::Persistent, b"-r"));
    }
    if forms.contains('C') {
        let large = calls.iter().map(|call| Call { name: format!("{}_c", call.name), is_large: true, ..call.clone() });
        calls.extend(large.collect::<Vec<_>>());
    }
    Some(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> &'static Call {
        table().iter().find(|call| call.name == name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<&str> = table().iter().map(|call| call.name.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(all > 300, "{all}");
    }

    #[test]
    fn forms_of_a_collective_operation() {
        assert_eq!(find("MPI_Bcast").arguments, b"-etoc");
        assert_eq!(find("MPI_Ibcast").arguments, b"-etocr");
        assert_eq!(find("MPI_Bcast_init").arguments, b"-etoc-r");
        let large = find("MPI_Ibcast_c");
        assert!(large.is_large && large.form == Form::Immediate && large.kind == Kind::Bcast);
        assert_eq!(find("MPI_Send_init").form, Form::Persistent);
        assert_eq!(find("MPI_Isend").form, Form::Immediate);
        assert_eq!(find("MPI_Ineighbor_alltoall").kind, Kind::Neighbor);
    }

    #[test]
    fn names_in_fortran() {
        assert_eq!(find("MPI_Send").fortran_2008_names(), ["mpi_send_f08_", "mpi_send_f08ts_"]);
        let call = find("MPI_Comm_split");
        assert_eq!(
            (call.fortran_name(), call.open_mpi_fortran_name()),
            ("mpi_comm_split_".into(), "ompi_comm_split_f".into())
        );
    }

    #[test]
    fn every_argument_is_explained() {
        let explained = TEXT.lines().filter(|line| line.starts_with("#   ")).collect::<String>();
        for call in table() {
            for argument in &call.arguments {
                let letter = format!(" {} ", *argument as char);
                assert!(explained.contains(&letter), "{}: {letter}", call.name);
            }
        }
    }
}
