//! Files as ranks of a profiled program write them.

use std::fs;
use std::path::Path;

use fishplate_profile::rank_file::{self, Layout, call, event, header, peer, site, size};
use fishplate_profile::read::State;
use fishplate_profile::series_file::{self, header as series_header};
use fishplate_profile::{calls, sizes};

/// The file of a rank that ran for a second: words.
pub struct RankFile {
    words: Vec<u64>,
    layout: Layout,
    rank: usize,
}

const SECOND: u64 = 1_000_000_000;
/// Time of day when they began.
const STARTED_REALTIME: u64 = 1_700_000_000 * SECOND;

/// The number of a call.
fn number(name: &str) -> usize {
    calls::table().iter().position(|call| call.name == name).unwrap()
}

impl RankFile {
    /// A rank that has called MPI_Finalize.
    pub fn new(rank: usize, ranks: usize) -> RankFile {
        let layout = Layout::new(ranks);
        let mut file = RankFile { words: vec![0; layout.words], layout, rank };
        for (at, value) in [
            (header::MAGIC, rank_file::MAGIC),
            (header::VERSION, rank_file::version()),
            (header::RANK, rank as u64),
            (header::RANKS, ranks as u64),
            (header::PID, 100 + rank as u64),
            (header::STARTED_REALTIME, STARTED_REALTIME),
            (header::STARTED, 5 * SECOND),
            (header::LAST, 6 * SECOND),
            (header::STATE, State::FINALIZED),
            (header::THREADS, 1),
        ] {
            file.words[at] = value;
        }
        file.text(header::HOST, "node0");
        file.text(header::BOOT, "boot");
        file.text(header::PROGRAM, "/home/me/app");
        file.text(header::LIBRARY, "MPICH Version: 5.0.2");
        file
    }

    fn text(&mut self, range: std::ops::Range<usize>, text: &str) {
        let mut bytes = text.bytes().chain(std::iter::repeat(0));
        for word in &mut self.words[range] {
            *word = u64::from_ne_bytes(std::array::from_fn(|_| bytes.next().unwrap()));
        }
    }

    /// Sets a word of the header.
    pub fn with(mut self, at: usize, value: u64) -> RankFile {
        self.words[at] = value;
        self
    }

    /// Calls with this total time, at an address.
    pub fn calls(mut self, name: &str, count: u64, time_ns: u64, sent: u64, caller: u64) -> RankFile {
        let row = self.layout.calls + number(name) * call::COLUMNS;
        for (column, value) in
            [(call::COUNT, count), (call::TIME, time_ns), (call::LONGEST, time_ns / count), (call::SENT, sent)]
        {
            self.words[row + column] += value;
        }
        self.words[header::IN_MPI] += time_ns;
        let row = self.layout.sites + caller as usize % site::CAPACITY * site::COLUMNS;
        for (column, value) in [
            (site::CALL, number(name) as u64 + 1),
            (site::CALLER, caller),
            (site::COUNT, count),
            (site::TIME, time_ns),
            (site::SENT, sent),
        ] {
            self.words[row + column] = value;
        }
        self
    }

    /// Messages to a peer.
    pub fn sent(mut self, to: usize, messages: u64, bytes_each: u64) -> RankFile {
        let row = self.layout.peers + to * peer::COLUMNS;
        self.words[row + peer::SENT] += messages;
        self.words[row + peer::SENT_BYTES] += messages * bytes_each;
        let at = self.layout.size(size::SENT, sizes::class(bytes_each));
        self.words[at] += messages;
        self.words[at + 1] += messages * bytes_each;
        self
    }

    /// An event, with times in milliseconds from the start.
    pub fn event(mut self, kind: u64, name: &str, number_in_stream: u64, times_ms: [u64; 3]) -> RankFile {
        let row = self.layout.events + self.words[header::EVENTS] as usize * event::COLUMNS;
        let [posted, waited, done] = times_ms.map(|ms| 5 * SECOND + ms * 1_000_000);
        let values = [kind | (number(name) as u64) << 8, 7, number_in_stream, posted, waited, done];
        self.words[row..row + event::COLUMNS].copy_from_slice(&values);
        self.words[header::EVENTS] += 1;
        self
    }

    /// It was in this call when it ended, since this time after its start, in milliseconds.
    pub fn stuck_in(self, name: &str, since_ms: u64, caller: u64) -> RankFile {
        self.with(header::STATE, State::RUNNING)
            .with(header::CURRENT_CALL, number(name) as u64 + 1)
            .with(header::CURRENT_SINCE, 5 * SECOND + since_ms * 1_000_000)
            .with(header::CURRENT_CALLER, caller)
    }

    /// Writes it, with a series of this number of steps.
    pub fn write(&self, folder: &Path, steps: u32) {
        let name = format!("node0.{}", 100 + self.rank);
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        fs::write(folder.join(format!("{name}.rank")), bytes).unwrap();
        let columns = series_file::rank_column::NAMES.map(String::from).to_vec();
        write_series(&folder.join(format!("{name}.time")), self.rank as u64 + 1, &columns, steps);
    }
}

/// Writes what changed over time; rank 0: of a host.
pub fn write_series(file: &Path, rank: u64, columns: &[String], steps: u32) {
    let mut head = vec![0; series_header::WORDS];
    head[series_header::MAGIC] = series_file::MAGIC;
    head[series_header::COLUMNS] = columns.len() as u64;
    head[series_header::FIRST_STEP] = STARTED_REALTIME / series_file::STEP_NS;
    head[series_header::STEPS] = u64::from(steps);
    head[series_header::RANK] = rank;
    head[series_header::HOST.start] = u64::from_ne_bytes(*b"node0\0\0\0");
    for (column, name) in columns.iter().enumerate() {
        for (word, piece) in name.as_bytes().chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            head[series_header::NAMES + column * series_header::NAME_WORDS + word] = u64::from_ne_bytes(bytes);
        }
    }
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).collect();
    for step in 0..steps {
        let numbers = (0..columns.len() as u32).map(|column| 1000 * (column + 1) + step % 7);
        bytes.extend(numbers.flat_map(u32::to_ne_bytes));
    }
    fs::write(file, bytes).unwrap();
}
