//! The limit of open files, and its consequences for connections.

use std::fmt;

use crate::process;
use crate::sys::limits;

/// File descriptors that are left to the program and its MPI.
const LEFT_TO_THE_PROGRAM: usize = 6;

/// Additional streams are set up only while all connections use at most the limit of open files divided by this.
const PART_OF_FILES: usize = 4;

/// Text for the user where not even one connection to each peer fits.
const GIVES_BACK: &str = "idle connections are given back, and set up again when they are needed";

/// File descriptors of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// `ulimit -n`.
    limit: usize,
    /// File descriptors that were open at the start. A launcher can leave many to the ranks that it starts last, some above the limit,
    /// which a higher limit would include.
    open: Vec<usize>,
    /// Number of connections that fit beside the files that were open at the start.
    room: usize,
    /// Number of peers if all ranks of the job communicate; `None`: not known.
    peers: Option<usize>,
    rails: usize,
    /// Connections have been given back.
    has_run_short: bool,
    /// A connection uses a descriptor that is to be left to the program.
    is_reserve_in_use: bool,
}

impl OpenFiles {
    /// Counts open files, including those that `rails` rails need, and raises the limit where it is too low. Only as far as needed:
    /// `select` cannot handle descriptors from 1024 on, and some programs close all numbers below the limit.
    pub fn begin(rails: usize) -> OpenFiles {
        let (open, peers) = (limits::open_file_numbers(), process::connected_ranks());
        let files = OpenFiles::new(limits::open_files(), open.clone(), peers, rails);
        let limit = limits::raise_open_files(files.wanted(rails).map_or(usize::MAX, |wanted| wanted * PART_OF_FILES));
        OpenFiles::new(limit, open, peers, rails)
    }

    fn new(limit: usize, open: Vec<usize>, peers: Option<u32>, rails: usize) -> OpenFiles {
        let room = limit.saturating_sub(open_below(&open, limit) + LEFT_TO_THE_PROGRAM);
        let peers = peers.map(|peers| peers as usize);
        OpenFiles { limit, open, room, peers, rails, has_run_short: false, is_reserve_in_use: false }
    }

    /// Whether there are too few files for a connection over every rail to each peer, so that each peer gets one.
    pub fn is_short(&self) -> bool {
        self.has_run_short || self.is_foreseen()
    }

    /// Whether [`OpenFiles::is_short`] was known at the start.
    fn is_foreseen(&self) -> bool {
        self.peers.is_some_and(|peers| peers * self.rails > self.room)
    }

    /// A connection was given back. Returns whether to warn the user that files are short.
    pub fn ran_short(&mut self) -> bool {
        let was_known = self.is_foreseen() || self.has_run_short;
        self.has_run_short = true;
        !was_known
    }

    /// A file was opened with this number. (The kernel gives the lowest free one.)
    pub fn opened(&mut self, number: usize) {
        self.is_reserve_in_use |= number + LEFT_TO_THE_PROGRAM >= self.limit;
    }

    /// Whether a connection has taken a descriptor that is to be left to the program since the last call.
    pub fn take_reserve_in_use(&mut self) -> bool {
        std::mem::take(&mut self.is_reserve_in_use)
    }

    /// Whether an additional stream may be set up, with which there are `connections`.
    pub fn has_room_for_streams(&self, connections: usize) -> bool {
        !self.is_short() && connections <= self.limit / PART_OF_FILES
    }

    /// Whether one of `connections` may have a socket for datagrams, beside `others` that have one: files must remain for all
    /// connections that are still to come.
    pub fn has_room_for_datagrams(&self, connections: usize, others: usize) -> bool {
        let wanted = connections.max(self.peers.unwrap_or(0) * self.rails);
        !self.is_short() && wanted + others < self.room
    }

    /// Number of unproven connections that are allowed beside `others`.
    pub fn most_unproven(&self, others: usize) -> usize {
        (self.room.saturating_sub(others) / 2).max(1)
    }

    /// The limit with which every peer can have this number of connections.
    fn wanted(&self, connections: usize) -> Option<usize> {
        let beside = LEFT_TO_THE_PROGRAM + self.peers? * connections;
        let mut limit = beside;
        // A limit that includes all open files is enough.
        while limit < beside + open_below(&self.open, limit) {
            limit = beside + open_below(&self.open, limit);
        }
        Some(limit)
    }

    /// Message that a connection is not possible at all.
    pub fn exhausted(&self) -> String {
        format!("no file is left for the connection: {}", self.remedy())
    }

    /// Message that connections are given back, where that was not known at the start.
    pub fn gives_back(&self) -> String {
        format!("no file is left for a connection, so that {GIVES_BACK}: {}", self.remedy())
    }

    fn remedy(&self) -> String {
        let more = match self.wanted(1) {
            Some(wanted) if wanted > self.limit => format!("raise it to {wanted} or more"),
            _ => "raise it".into(),
        };
        format!("this process may have {} open (`ulimit -n`); {more}", self.limit)
    }
}

/// Number of open files below a limit.
fn open_below(open: &[usize], limit: usize) -> usize {
    open.iter().filter(|number| **number < limit).count()
}

impl fmt::Display for OpenFiles {
    /// Message that files are short, as known at the start.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, peers) = (self.limit, self.peers.unwrap_or_default());
        let all = self.wanted(self.rails).unwrap_or_default();
        if self.rails > 1 {
            write!(f, "each peer is connected over one rail of {}, a different one each: ", self.rails)?;
        }
        let over = if self.rails > 1 { "over all rails " } else { "" };
        write!(
            f,
            "a process may have {limit} files open (`ulimit -n`), and connections {over}to {peers} peers need {all}"
        )?;
        if peers > self.room { write!(f, "; {GIVES_BACK}") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_all_rails_of_all_peers_do_not_fit_each_peer_gets_one() {
        let files = |limit, rails| OpenFiles::new(limit, (0..30).collect(), Some(32), rails);
        assert!(files(67, 1).is_short() && !files(68, 1).is_short());
        assert!(files(99, 2).is_short() && !files(100, 2).is_short());
        assert!(files(163, 4).is_short() && !files(164, 4).is_short());
        assert!(!OpenFiles::new(64, (0..30).collect(), None, 2).is_short(), "nobody knows how many peers there are");
        let message = files(64, 2).to_string();
        assert!(
            message.contains("one rail of 2") && message.contains("64 files") && message.contains("32 peers need 100"),
            "{message}"
        );
        assert!(message.ends_with(GIVES_BACK) && !files(99, 2).to_string().contains(GIVES_BACK), "{message}");
        let message = files(64, 1).to_string();
        assert!(
            message.starts_with("a process may have 64 files open") && message.contains("to 32 peers need 68;"),
            "{message}"
        );
    }

    #[test]
    fn a_shortage_of_files_is_reported_once_to_processes_of_unknown_job_size() {
        let mut files = OpenFiles::new(64, (0..30).collect(), None, 2);
        assert!(!files.is_short());
        assert_eq!([files.ran_short(), files.ran_short(), files.is_short()], [true, false, true]);
        let message = files.gives_back();
        assert!(message.contains("given back") && message.contains("may have 64 open (`ulimit -n`)"), "{message}");
        assert!(!OpenFiles::new(64, (0..30).collect(), Some(32), 1).ran_short(), "that was reported at the start");
    }

    #[test]
    fn the_number_of_a_file_shows_that_the_programs_share_is_in_use() {
        let mut files = OpenFiles::new(64, (0..30).collect(), None, 2);
        let mut is_in_use = |number| {
            files.opened(number);
            files.take_reserve_in_use()
        };
        assert_eq!([57, 58, 63, 20].map(&mut is_in_use), [false, true, true, false]);
    }

    #[test]
    fn without_files_the_sufficient_limit_is_reported() {
        let message = |open: Vec<usize>, peers| OpenFiles::new(64, open, peers, 2).exhausted();
        let all_below = message((0..60).collect(), Some(32));
        assert!(all_below.contains("may have 64 open (`ulimit -n`); raise it to 98 or more"), "{all_below}");
        // With 98, the last five of these would count as well.
        let some_above = message((0..60).chain(90..95).chain(200..300).collect(), Some(32));
        assert!(some_above.contains("raise it to 103 or more"), "{some_above}");
        let message = message((0..60).collect(), None);
        assert!(message.ends_with("(`ulimit -n`); raise it"), "{message}");
    }

    #[test]
    fn connections_that_are_not_proven_leave_room_for_others() {
        let files = OpenFiles::new(64, (0..28).collect(), Some(32), 2);
        assert_eq!((files.most_unproven(0), files.most_unproven(20), files.most_unproven(1000)), (15, 5, 1));
    }

    #[test]
    fn datagrams_have_no_file_that_a_connection_needs() {
        let files = OpenFiles::new(100, (0..26).collect(), Some(32), 2);
        assert_eq!([3, 4].map(|others| files.has_room_for_datagrams(10, others)), [true, false]);
        assert!(!OpenFiles::new(64, (0..26).collect(), Some(32), 2).has_room_for_datagrams(1, 0));
        let unknown = OpenFiles::new(100, (0..26).collect(), None, 2);
        assert_eq!([60, 68].map(|connections| unknown.has_room_for_datagrams(connections, 0)), [true, false]);
    }
}
