//! Reads the file of a rank.

use fishplate_host::{Host, HostId};

use super::Error;
use super::recorded::{Communicator, Counts, Current, Event, Lost, Module, Rank, Site, State, Traffic};
use crate::calls;
use crate::rank_file::{self, Layout, call, communicator, event, header, module, peer, site, size};
use crate::sizes::CLASSES;
use crate::words;

/// Reads the file of a rank.
pub fn rank(bytes: &[u8]) -> Result<Rank, Error> {
    let words = words::from_bytes(bytes);
    if words.first() != Some(&rank_file::MAGIC) || words.len() < header::WORDS {
        return Err(Error::Foreign);
    }
    if words[header::VERSION] != rank_file::version() {
        return Err(Error::OtherVersion);
    }
    // With more ranks than words the file is truncated.
    let ranks = usize::try_from(words[header::RANKS]).ok().filter(|ranks| *ranks <= words.len());
    let layout = Layout::new(ranks.ok_or(Error::Foreign)?);
    if words.len() < layout.words {
        return Err(Error::Foreign);
    }
    Ok(RankFile { words, layout }.rank())
}

impl Rank {
    /// A finalized rank of `ranks` without any calls: base of synthetic profiles.
    pub fn idle(rank: usize, ranks: usize) -> Rank {
        let layout = Layout::new(ranks);
        let mut words = vec![0; layout.words];
        (words[header::RANK], words[header::STATE], words[header::THREADS]) = (rank as u64, State::FINALIZED, 1);
        RankFile { words, layout }.rank()
    }
}

struct RankFile {
    words: Vec<u64>,
    layout: Layout,
}

impl RankFile {
    fn rank(&self) -> Rank {
        let word = |at: usize| self.words[at];
        let text = |range: std::ops::Range<usize>| words::load_text(&self.words[range]);
        let (name, boot, time) = (text(header::HOST), text(header::BOOT), word(header::TIME_NAMESPACE));
        // Files of earlier versions have no more.
        let host = Host { name, boot, time, network: 0 };
        Rank {
            rank: word(header::RANK) as usize,
            ranks: self.layout.ranks,
            host_id: HostId::of_number(word(header::HOST_ID)).unwrap_or_else(|| host.id()),
            clock: host.clock(),
            host: host.name,
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
            lost: Lost {
                requests: word(header::LOST_REQUESTS),
                sites: word(header::LOST_SITES),
                communicators: word(header::LOST_COMMUNICATORS),
            },
            sampling: word(header::SAMPLING).min(63) as u32,
            foreign: traffic(&self.words[header::FOREIGN..]),
            world: word(header::WORLD),
            calls: self.calls().map(|row| counts(row, call::COUNT)).collect(),
            errors: self.calls().map(|row| row[call::ERRORS]).collect(),
            sizes: (0..size::KINDS).map(|kind| self.sizes(kind)).collect(),
            peers: self.rows(self.layout.peers, peer::COLUMNS, self.layout.ranks).map(traffic).collect(),
            sites: self.sites(),
            modules: self.modules(),
            communicators: self.communicators(),
            events: self.events(),
        }
    }

    fn rows(&self, at: usize, columns: usize, rows: usize) -> impl Iterator<Item = &[u64]> {
        self.words[at..at + columns * rows].chunks_exact(columns)
    }

    fn calls(&self) -> impl Iterator<Item = &[u64]> {
        self.rows(self.layout.calls, call::COLUMNS, calls::table().len())
    }

    fn state(&self) -> State {
        match self.words[header::STATE] {
            State::FINALIZED => State::Finalized,
            State::ABORTED => State::Aborted(self.words[header::ABORT_CODE] as i32),
            _ => State::Running,
        }
    }

    /// Number of the call that is stored as its number plus one; `None` for 0.
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

    fn sites(&self) -> Vec<Site> {
        let site = |row: &[u64]| {
            let call = self.call_number(row[site::CALL])?;
            Some(Site { call, caller: row[site::CALLER], counts: counts(row, site::COUNT) })
        };
        self.rows(self.layout.sites, site::COLUMNS, site::CAPACITY).filter_map(site).collect()
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
            name: words::load_text(&row[communicator::NAME]),
            size: row[communicator::RANKS],
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

/// The counts in a row of calls or call sites, whose columns have one order from that of the number of calls on.
fn counts(row: &[u64], first: usize) -> Counts {
    let column = |of_calls: usize| row[first + of_calls - call::COUNT];
    Counts {
        count: column(call::COUNT),
        time_ns: column(call::TIME),
        longest_ns: column(call::LONGEST),
        sent: column(call::SENT),
        received: column(call::RECEIVED),
    }
}

fn traffic(row: &[u64]) -> Traffic {
    Traffic {
        sent: row[peer::SENT],
        sent_bytes: row[peer::SENT_BYTES],
        received: row[peer::RECEIVED],
        received_bytes: row[peer::RECEIVED_BYTES],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::to_bytes;

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
        let rank = rank(&to_bytes(&words)).unwrap();
        assert_eq!(rank.state, State::Running);
        assert_eq!(rank.current, Some(Current { call: 7, since_ns: 77, caller: 0 }));
        assert_eq!((rank.calls[7].count, rank.peers[2].sent_bytes, rank.sizes[size::RECEIVED][4].0), (5, 99, 6));
        assert!(rank.sites.is_empty() && rank.communicators.is_empty() && rank.events.is_empty());
    }

    #[test]
    fn older_files_identify_a_host_by_machine_and_name() {
        let of = |name: &str, boot: &str, host: u64, time: u64| {
            let (mut words, _) = file(1);
            for (range, text) in [(header::HOST, name), (header::BOOT, boot)] {
                let bytes = [text.as_bytes(), &[0; 8]].concat();
                let stored = bytes.as_chunks::<8>().0.iter().map(|piece| u64::from_ne_bytes(*piece));
                words[range].iter_mut().zip(stored).for_each(|(word, stored)| *word = stored);
            }
            (words[header::HOST_ID], words[header::TIME_NAMESPACE]) = (host, time);
            rank(&to_bytes(&words)).unwrap()
        };
        let known = of("node", "b1", 7, 0);
        assert_eq!((known.host_id.number(), known.clock.as_str()), (7, "b1"));
        let before = of("node", "b1", 0, 0).host_id;
        assert_eq!(before, of("node", "b1", 0, 0).host_id);
        assert!(before != of("node", "b2", 0, 0).host_id && before != of("other", "b1", 0, 0).host_id);
        // Without a boot ID machines are distinguished by their names: their clocks must not be taken for one.
        assert_ne!(of("node", "", 7, 0).clock, of("other", "", 8, 0).clock);
        assert_ne!(of("node", "b1", 7, 1).clock, of("node", "b1", 7, 2).clock, "time namespaces");
    }

    #[test]
    fn bytes_that_are_no_such_file_are_refused() {
        assert_eq!(rank(b"").unwrap_err(), Error::Foreign);
        let (mut words, _) = file(2);
        assert_eq!(rank(&to_bytes(&words)[..5000]).unwrap_err(), Error::Foreign);
        words[header::RANKS] = u64::MAX;
        assert_eq!(rank(&to_bytes(&words)).unwrap_err(), Error::Foreign);
        words[header::VERSION] += 1;
        assert_eq!(rank(&to_bytes(&words)).unwrap_err(), Error::OtherVersion);
    }

    #[test]
    fn any_words_in_the_tables_are_read() {
        let (mut words, layout) = file(2);
        words[layout.calls..].fill(u64::MAX);
        words[header::CURRENT_CALL] = u64::MAX;
        words[header::EVENTS] = u64::MAX;
        words[header::SAMPLING] = u64::MAX;
        let rank = rank(&to_bytes(&words)).unwrap();
        assert!(rank.current.is_none() && rank.sites.is_empty() && rank.events.is_empty());
    }
}
