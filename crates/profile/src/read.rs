//! Reads the files that ranks have written. They may be of a rank that was killed at any moment.

use std::fmt;

use crate::calls;
use crate::rank_file::{self, Layout, call, communicator, event, header, module, peer, site, size};
use crate::series_file::{self, header as series_header};
use crate::sizes::CLASSES;
use crate::words;

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// It is no such file, or was cut off.
    Foreign,
    /// It is of another version of Fishplate.
    OtherVersion,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Foreign => "not a file of a profile, or not a whole one",
            Error::OtherVersion => "written by another version of Fishplate",
        })
    }
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was still running, or has ended without MPI_Finalize.
    Running,
    /// It has called MPI_Finalize.
    Finalized,
    /// It has called MPI_Abort with this code.
    Aborted(i32),
}

impl State {
    /// As it is in files.
    pub const RUNNING: u64 = 1;
    /// As it is in files.
    pub const FINALIZED: u64 = 2;
    /// As it is in files; the code is apart.
    pub const ABORTED: u64 = 3;
}

/// What one rank has recorded.
#[derive(Clone, Debug)]
pub struct Rank {
    /// In MPI_COMM_WORLD.
    pub rank: usize,
    /// Ranks in it.
    pub ranks: usize,
    /// Its host.
    pub host: String,
    /// Hosts with the same one have the same clock.
    pub boot: String,
    /// Its process.
    pub pid: u64,
    /// Its program.
    pub program: String,
    /// Its MPI library.
    pub library: String,
    /// How far it has come.
    pub state: State,
    /// When MPI was initialized: nanoseconds of the time of day, and of the monotonic clock that all else is in.
    pub started_realtime_ns: u64,
    /// See [`Rank::started_realtime_ns`].
    pub started_ns: u64,
    /// When it was last seen in MPI.
    pub last_ns: u64,
    /// The call in which it was when it ended.
    pub current: Option<Current>,
    /// Time in MPI, of all threads.
    pub in_mpi_ns: u64,
    /// Time for which recording was off.
    pub paused_ns: u64,
    /// Most threads that were in MPI at once.
    pub threads: u64,
    /// Time that requests were under way while the program was not in MPI.
    pub hidden_ns: u64,
    /// Time that it waited for requests.
    pub waited_ns: u64,
    /// What found no place: requests, call sites, communicators.
    pub lost: [u64; 3],
    /// One of 2^this messages is in the events.
    pub sampling: u32,
    /// Messages of ranks that are not in MPI_COMM_WORLD.
    pub foreign: Peer,
    /// See [`header::WORLD`].
    pub world: u64,
    /// By the number of the call.
    pub calls: Vec<CallCounts>,
    /// By [`rank_file::size`] and class: number and bytes.
    pub sizes: Vec<[(u64, u64); CLASSES]>,
    /// By rank in MPI_COMM_WORLD.
    pub peers: Vec<Peer>,
    /// Where the program calls MPI.
    pub sites: Vec<Site>,
    /// What those places are in.
    pub modules: Vec<Module>,
    /// Communicators.
    pub communicators: Vec<Communicator>,
    /// Messages and collective operations.
    pub events: Vec<Event>,
}

impl Rank {
    /// One of `ranks` that has done nothing and come to its end: what is made up begins with it.
    pub fn idle(rank: usize, ranks: usize) -> Rank {
        Rank {
            rank,
            ranks,
            host: String::new(),
            boot: String::new(),
            pid: 0,
            program: String::new(),
            library: String::new(),
            state: State::Finalized,
            started_realtime_ns: 0,
            started_ns: 0,
            last_ns: 0,
            current: None,
            in_mpi_ns: 0,
            paused_ns: 0,
            threads: 1,
            hidden_ns: 0,
            waited_ns: 0,
            lost: [0; 3],
            sampling: 0,
            foreign: Peer::default(),
            world: 0,
            calls: vec![CallCounts::default(); calls::table().len()],
            sizes: vec![[(0, 0); CLASSES]; size::KINDS],
            peers: vec![Peer::default(); ranks],
            sites: Vec::new(),
            modules: Vec::new(),
            communicators: Vec::new(),
            events: Vec::new(),
        }
    }
}

/// The call that a rank is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// Number of the call.
    pub call: usize,
    /// Since when.
    pub since_ns: u64,
    /// The address that it returns to.
    pub caller: u64,
}

/// Counts of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Number of calls.
    pub count: u64,
    /// Time in them.
    pub time_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// How many have failed.
    pub errors: u64,
}

/// Messages between a rank and another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Messages to it.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages from it.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
}

/// A place in the program that calls MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Number of the call.
    pub call: usize,
    /// The address that it returns to.
    pub caller: u64,
    /// What it has done.
    pub counts: CallCounts,
}

/// A program or library in the memory of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Where it begins.
    pub base: u64,
    /// Its file.
    pub file: String,
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// The same on all its ranks.
    pub id: u64,
    /// Number of ranks.
    pub ranks: u64,
    /// Its name.
    pub name: String,
    /// Calls on it.
    pub calls: u64,
    /// Time in them.
    pub time_ns: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// A message or a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// See [`rank_file::event`].
    pub kind: u64,
    /// Number of the call.
    pub call: usize,
    /// Whether this rank is its root.
    pub is_root: bool,
    /// Which stream of messages, or which communicator.
    pub key: u64,
    /// Which one of it.
    pub number: u64,
    /// When it was posted.
    pub posted_ns: u64,
    /// When the call began that has completed it.
    pub waited_ns: u64,
    /// When it was complete.
    pub done_ns: u64,
}

/// What changed over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The rank that it is of; nothing: a host.
    pub rank: Option<usize>,
    /// The host.
    pub host: String,
    /// Time of day of the first step, in steps of [`series_file::STEP_NS`].
    pub first_step: u64,
    /// Whether the disk was full before the end.
    pub is_cut: bool,
    /// Names of columns.
    pub names: Vec<String>,
    /// Each column's numbers, by step.
    pub columns: Vec<Vec<u32>>,
}

/// Reads the file of a rank.
pub fn rank(bytes: &[u8]) -> Result<Rank, Error> {
    let words = words::from_bytes(bytes);
    if words.first() != Some(&rank_file::MAGIC) || words.len() < header::WORDS {
        return Err(Error::Foreign);
    }
    if words[header::VERSION] != rank_file::version() {
        return Err(Error::OtherVersion);
    }
    // So many ranks have no room in the file: it is no whole one.
    let ranks = usize::try_from(words[header::RANKS]).ok().filter(|ranks| *ranks <= words.len());
    let layout = Layout::new(ranks.ok_or(Error::Foreign)?);
    if words.len() < layout.words {
        return Err(Error::Foreign);
    }
    Ok(RankFile { words, layout }.rank())
}

struct RankFile {
    words: Vec<u64>,
    layout: Layout,
}

impl RankFile {
    fn rank(&self) -> Rank {
        let word = |at: usize| self.words[at];
        let text = |range: std::ops::Range<usize>| words::load_text(&self.words[range]);
        Rank {
            rank: word(header::RANK) as usize,
            ranks: self.layout.ranks,
            host: text(header::HOST),
            boot: text(header::BOOT),
            pid: word(header::PID),
            program: text(header::PROGRAM),
            library: text(header::LIBRARY),
            state: self.state(),
            started_realtime_ns: word(header::STARTED_REALTIME),
            started_ns: word(header::STARTED),
            last_ns: word(header::LAST).max(word(header::STARTED)),
            current: self.call_number(word(header::CURRENT_CALL)).map(|call| Current {
                call,
                since_ns: word(header::CURRENT_SINCE),
                caller: word(header::CURRENT_CALLER),
            }),
            in_mpi_ns: word(header::IN_MPI),
            paused_ns: word(header::PAUSED),
            threads: word(header::THREADS),
            hidden_ns: word(header::HIDDEN),
            waited_ns: word(header::WAITED),
            lost: [header::LOST_REQUESTS, header::LOST_SITES, header::LOST_COMMUNICATORS].map(word),
            sampling: word(header::SAMPLING).min(63) as u32,
            foreign: peer_of(&self.words[header::FOREIGN..]),
            world: word(header::WORLD),
            calls: self.rows(self.layout.calls, call::COLUMNS, calls::table().len()).map(call_counts).collect(),
            sizes: (0..size::KINDS).map(|kind| self.sizes(kind)).collect(),
            peers: self.rows(self.layout.peers, peer::COLUMNS, self.layout.ranks).map(peer_of).collect(),
            sites: self
                .rows(self.layout.sites, site::COLUMNS, site::CAPACITY)
                .filter_map(|row| self.site(row))
                .collect(),
            modules: self.modules(),
            communicators: self.communicators(),
            events: self.events(),
        }
    }

    fn rows(&self, at: usize, columns: usize, rows: usize) -> impl Iterator<Item = &[u64]> {
        self.words[at..at + columns * rows].chunks_exact(columns)
    }

    fn state(&self) -> State {
        match self.words[header::STATE] {
            State::FINALIZED => State::Finalized,
            State::ABORTED => State::Aborted(self.words[header::ABORT_CODE] as i32),
            _ => State::Running,
        }
    }

    /// A call whose number has one added.
    fn call_number(&self, stored: u64) -> Option<usize> {
        let number = usize::try_from(stored.checked_sub(1)?).ok()?;
        (number < calls::table().len()).then_some(number)
    }

    fn sizes(&self, kind: usize) -> [(u64, u64); CLASSES] {
        std::array::from_fn(|class| {
            let at = self.layout.size(kind, class);
            (self.words[at], self.words[at + 1])
        })
    }

    fn site(&self, row: &[u64]) -> Option<Site> {
        let counts = CallCounts {
            count: row[site::COUNT],
            time_ns: row[site::TIME],
            longest_ns: row[site::LONGEST],
            sent: row[site::SENT],
            received: row[site::RECEIVED],
            errors: 0,
        };
        self.call_number(row[site::CALL]).map(|call| Site { call, caller: row[site::CALLER], counts })
    }

    fn modules(&self) -> Vec<Module> {
        let rows = self.rows(self.layout.modules, module::COLUMNS, module::CAPACITY);
        let module = |row: &[u64]| Module { base: row[module::BASE], file: words::load_text(&row[module::FILE]) };
        rows.filter(|row| row[module::BASE] != 0).map(module).collect()
    }

    fn communicators(&self) -> Vec<Communicator> {
        let rows = self.rows(self.layout.communicators, communicator::COLUMNS, communicator::CAPACITY);
        let communicator = |row: &[u64]| Communicator {
            id: row[communicator::ID],
            ranks: row[communicator::RANKS],
            name: words::load_text(&row[communicator::NAME]),
            calls: row[communicator::CALLS],
            time_ns: row[communicator::TIME],
            sent: row[communicator::SENT],
            received: row[communicator::RECEIVED],
        };
        rows.filter(|row| row[communicator::ID] != 0).map(communicator).collect()
    }

    fn events(&self) -> Vec<Event> {
        let used = (self.words[header::EVENTS] as usize).min(event::CAPACITY);
        let event = |row: &[u64]| {
            let kind = row[event::KIND] & 0xff;
            let call = usize::try_from((row[event::KIND] & !event::IS_ROOT) >> 8).ok()?;
            (event::SEND..=event::COLLECTIVE).contains(&kind).then_some(())?;
            (call < calls::table().len()).then_some(Event {
                kind,
                call,
                is_root: row[event::KIND] & event::IS_ROOT != 0,
                key: row[event::KEY],
                number: row[event::NUMBER],
                posted_ns: row[event::POSTED],
                waited_ns: row[event::WAITED],
                done_ns: row[event::DONE],
            })
        };
        self.rows(self.layout.events, event::COLUMNS, used).filter_map(event).collect()
    }
}

fn call_counts(row: &[u64]) -> CallCounts {
    CallCounts {
        count: row[call::COUNT],
        time_ns: row[call::TIME],
        longest_ns: row[call::LONGEST],
        sent: row[call::SENT],
        received: row[call::RECEIVED],
        errors: row[call::ERRORS],
    }
}

fn peer_of(row: &[u64]) -> Peer {
    Peer {
        sent: row[peer::SENT],
        sent_bytes: row[peer::SENT_BYTES],
        received: row[peer::RECEIVED],
        received_bytes: row[peer::RECEIVED_BYTES],
    }
}

/// Reads a file of what changed over time.
pub fn series(bytes: &[u8]) -> Result<Series, Error> {
    let (head, numbers) = bytes.split_at_checked(series_header::WORDS * size_of::<u64>()).ok_or(Error::Foreign)?;
    let head = words::from_bytes(head);
    let columns = head[series_header::COLUMNS] as usize;
    if head[series_header::MAGIC] != series_file::MAGIC || !(1..=series_file::MAX_COLUMNS).contains(&columns) {
        return Err(Error::Foreign);
    }
    let name = |column: usize| {
        let at = series_header::NAMES + column * series_header::NAME_WORDS;
        words::load_text(&head[at..at + series_header::NAME_WORDS])
    };
    let numbers: Vec<u32> = numbers
        .chunks_exact(size_of::<u32>())
        .map(|four| u32::from_ne_bytes(four.try_into().unwrap_or_default()))
        .collect();
    let steps = (head[series_header::STEPS] as usize).min(numbers.len() / columns);
    let column = |column: usize| numbers.iter().skip(column).step_by(columns).take(steps).copied().collect();
    Ok(Series {
        rank: head[series_header::RANK].checked_sub(1).map(|rank| rank as usize),
        host: words::load_text(&head[series_header::HOST]),
        first_step: head[series_header::FIRST_STEP],
        is_cut: head[series_header::IS_CUT] != 0,
        names: (0..columns).map(name).collect(),
        columns: (0..columns).map(column).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn file(ranks: usize) -> (Vec<u64>, Layout) {
        let layout = Layout::new(ranks);
        let mut words = vec![0; layout.words];
        words[header::MAGIC] = rank_file::MAGIC;
        words[header::VERSION] = rank_file::version();
        words[header::RANKS] = ranks as u64;
        (words, layout)
    }

    #[test]
    fn a_rank_that_was_killed_in_a_call() {
        let (mut words, layout) = file(3);
        words[header::STATE] = State::RUNNING;
        words[header::CURRENT_CALL] = 8;
        words[header::CURRENT_SINCE] = 77;
        words[layout.calls + 7 * call::COLUMNS + call::COUNT] = 5;
        words[layout.peers + 2 * peer::COLUMNS + peer::SENT_BYTES] = 99;
        words[layout.size(size::RECEIVED, 4)] = 6;
        let rank = rank(&bytes(&words)).unwrap();
        assert_eq!(rank.state, State::Running);
        assert_eq!(rank.current, Some(Current { call: 7, since_ns: 77, caller: 0 }));
        assert_eq!((rank.calls[7].count, rank.peers[2].sent_bytes, rank.sizes[size::RECEIVED][4].0), (5, 99, 6));
        assert!(rank.sites.is_empty() && rank.communicators.is_empty() && rank.events.is_empty());
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        assert_eq!(rank(b"").unwrap_err(), Error::Foreign);
        let (mut words, _) = file(2);
        assert_eq!(rank(&bytes(&words)[..5000]).unwrap_err(), Error::Foreign);
        words[header::RANKS] = u64::MAX;
        assert_eq!(rank(&bytes(&words)).unwrap_err(), Error::Foreign);
        words[header::VERSION] += 1;
        assert_eq!(rank(&bytes(&words)).unwrap_err(), Error::OtherVersion);
        assert_eq!(series(b"").unwrap_err(), Error::Foreign);
    }

    #[test]
    fn any_words_in_the_tables_are_read() {
        let (mut words, layout) = file(2);
        words[layout.calls..].fill(u64::MAX);
        words[header::CURRENT_CALL] = u64::MAX;
        words[header::EVENTS] = u64::MAX;
        words[header::SAMPLING] = u64::MAX;
        let rank = rank(&bytes(&words)).unwrap();
        assert!(rank.current.is_none() && rank.sites.is_empty() && rank.events.is_empty());
    }

    #[test]
    fn a_series_has_as_many_steps_as_are_whole() {
        let mut head = vec![0; series_header::WORDS];
        head[series_header::MAGIC] = series_file::MAGIC;
        head[series_header::COLUMNS] = 2;
        head[series_header::STEPS] = 5;
        head[series_header::RANK] = 4;
        let mut file = bytes(&head);
        file.extend([1_u32, 10, 2, 20, 3].iter().flat_map(|number| number.to_ne_bytes()));
        let series = series(&file).unwrap();
        assert_eq!((series.rank, series.columns), (Some(3), vec![vec![1, 2], vec![10, 20]]));
    }
}
