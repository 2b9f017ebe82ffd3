//! The recording of this process, from MPI_Init to MPI_Finalize.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use fishplate_host::Host;
use fishplate_profile::rank_file::{self, Layout, MAGIC, header};
use fishplate_profile::read::State;
use fishplate_profile::series_file::{header as series_header, rank_column};
use fishplate_profile::{VARIABLE, store_text};

use super::interfaces::{self, Sampler};
use super::message_numbers::hash;
use super::rails::Rails;
use super::recorder::{Moment, Recorder};
use super::tables::Tables;
use super::timeline::Timeline;
use crate::ffi::{self, Abi, Comm, GrowingFile, clock};
use crate::sync::lock;
use crate::trace::{self, Tracer};

/// A profile that is being recorded.
pub struct Session {
    pub recorder: Mutex<Recorder>,
    /// Recorder of the trace, if enabled.
    pub tracer: Option<Mutex<Tracer>>,
    tables: Tables,
    in_mpi: AtomicU64,
    sampler: Mutex<Option<Sampler>>,
    /// When MPI_Pcontrol paused recording; 0: not paused.
    paused: AtomicU64,
}

/// Whether calls are recorded now; can be read without the lock.
static IS_ON: AtomicBool = AtomicBool::new(false);
static SESSION: OnceLock<Session> = OnceLock::new();

/// The session, while calls are recorded.
pub fn get() -> Option<&'static Session> {
    if IS_ON.load(Ordering::Relaxed) { SESSION.get() } else { None }
}

/// Number of initializations (MPI_Init, MPI_Session_init) without a finalization yet.
static USES: AtomicU64 = AtomicU64::new(0);

/// To be called after MPI_Init or MPI_Session_init: begins recording, if enabled. After an error the program continues.
pub fn start(mpi_session: Option<usize>) {
    let is_first = USES.fetch_add(1, Ordering::Relaxed) == 0;
    let Some(folder) = env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) else { return };
    if SESSION.get().is_some() {
        if is_first {
            fishplate_guest::report("MPI was begun again after its end: the profile ends there");
        }
        return;
    }
    let folder = PathBuf::from(folder);
    let Some(abi) = Abi::get() else {
        return fishplate_guest::report("no profile is recorded: this MPI library is of no known kind");
    };
    let world = match mpi_session {
        Some(mpi_session) => Comm::world_of_session(abi, mpi_session),
        None => Comm::world(abi).rank().and_then(|rank| Ok((rank, Comm::world(abi).size()?))),
    };
    let Ok((rank, ranks)) = world else {
        return fishplate_guest::report("no profile is recorded: MPI does not return the rank of this process");
    };
    match Session::begin(abi, &folder, rank, ranks) {
        Ok(session) => {
            if SESSION.set(session).is_ok() {
                ffi::in_forked_children(forget);
                IS_ON.store(true, Ordering::Release);
            }
        }
        // One report per host is enough; `fishplate profile` lists the missing ranks.
        Err(error) if rank == 0 || is_first_of_host() => fishplate_guest::report(format_args!(
            "no profile is recorded in {}: {error}; the program runs without",
            folder.display()
        )),
        Err(_) => {}
    }
}

/// Whether this process is the first one of its host, according to the launcher.
fn is_first_of_host() -> bool {
    let names = ["MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PALS_LOCAL_RANKID"];
    names.into_iter().find_map(env::var_os).is_some_and(|number| number == "0")
}

/// To be called after MPI_Finalize or MPI_Session_finalize.
pub fn finish() {
    if USES.fetch_sub(1, Ordering::Relaxed) > 1 {
        return;
    }
    let Some(session) = SESSION.get() else { return };
    if session.tables.get(header::STATE) != State::ABORTED {
        session.tables.set(header::STATE, State::FINALIZED);
    }
    // An abandoned recording has ended before, and its locks may be held for ever.
    if let Some(tracer) = end_recording().and_then(|session| session.tracer.as_ref()) {
        lock(tracer).finish();
    }
    if let Some(sampler) = lock(&session.sampler).take() {
        sampler.stop();
    }
}

/// Whether the next MPI_Finalize or MPI_Session_finalize is the last one.
pub fn is_last() -> bool {
    USES.load(Ordering::Relaxed) <= 1
}

/// To be called before MPI_Finalize or MPI_Session_finalize: records the computation so far. The trace continues, as
/// functions of the program called by MPI_Finalize may communicate (attributes of MPI_COMM_SELF).
pub fn begin_end() {
    if let Some(tracer) = get().and_then(|session| session.tracer.as_ref()) {
        let began = trace::begin_call(false);
        lock(tracer).begin_call(began, trace::take_computed());
        trace::end_call();
    }
}

/// To be called before MPI_Abort.
pub fn abort(code: i32) {
    if let Some(session) = SESSION.get() {
        session.tables.set(header::ABORT_CODE, code as u64);
        session.tables.set(header::STATE, State::ABORTED);
        session.tables.set(header::LAST, clock::monotonic());
    }
}

/// MPI_Pcontrol(0).
pub fn pause() {
    if let Some(session) = get()
        && session.paused.load(Ordering::Relaxed) == 0
    {
        lock(&session.recorder).pause(true);
        session.paused.store(clock::monotonic(), Ordering::Relaxed);
    }
}

/// MPI_Pcontrol with another number.
pub fn resume() {
    if let Some(session) = get()
        && session.end_pause()
    {
        lock(&session.recorder).pause(false);
    }
}

/// Ends recording. Returns the session if it was being recorded. Takes no lock, as the thread may hold one.
fn end_recording() -> Option<&'static Session> {
    let session = SESSION.get().filter(|_| IS_ON.swap(false, Ordering::AcqRel))?;
    session.end_pause();
    session.tables.set(header::LAST, clock::monotonic());
    session.tables.set(header::CURRENT_CALL, 0);
    Some(session)
}

/// Ends recording after an error.
pub fn give_up() {
    end_recording();
}

/// Ends recording, as a call was made while the thread recorded another one.
pub fn interrupted() {
    if end_recording().is_some() {
        fishplate_guest::report_in_handler(
            "fishplate: MPI was called while a call was being recorded (a signal handler has called it, or has left the call \
             by longjmp): the profile ends there\n",
        );
    }
}

/// Ends recording in a forked child: the files are of its parent.
fn forget() {
    IS_ON.store(false, Ordering::Release);
    if let Some(session) = SESSION.get() {
        session.paused.store(0, Ordering::Relaxed);
    }
}

impl Session {
    fn begin(abi: &'static Abi, folder: &Path, rank: usize, ranks: usize) -> io::Result<Session> {
        let host = host_in_file_names();
        let process = format!("{host}.{rank}.{}", unique());
        let name = |extension: &str| folder.join(format!("{process}.{extension}"));
        let layout = Layout::new(ranks);
        let tables = Tables { words: ffi::create_mapped_file(&name("rank"), layout.words)?, layout };
        let (now, realtime) = (clock::monotonic(), clock::realtime());
        write_header(&tables, &host, rank, now, realtime);
        let rails = Rails::find(realtime);
        let mut columns = rank_column::NAMES.map(String::from).to_vec();
        columns.extend(rails.iter().flat_map(Rails::columns));
        let timeline = GrowingFile::create(&name("time"), series_header::WORDS)
            .map(|file| Timeline::begin(file, Some(rank), &host, &columns, realtime));
        let offset = realtime.wrapping_sub(now);
        let mut recorder = Recorder::new(abi, tables, timeline.ok(), rails, offset, now);
        if !Comm::is_world_of_sessions() {
            recorder.communicators.place(Comm::world(abi));
        }
        let tracer = begin_trace(abi, &host, &process, rank, ranks);
        // The computation before the first call begins here.
        trace::end_call();
        Ok(Session {
            recorder: Mutex::new(recorder),
            tracer: tracer.map(Mutex::new),
            tables,
            in_mpi: AtomicU64::new(0),
            sampler: Mutex::new(interfaces::sample(folder, &host)),
            paused: AtomicU64::new(0),
        })
    }

    pub fn begin_call(&self, call: usize, caller: usize, now: u64) {
        self.tables.set(header::CURRENT_SINCE, now);
        self.tables.set(header::CURRENT_CALLER, caller as u64);
        self.tables.set(header::CURRENT_CALL, call as u64 + 1);
        let threads = self.in_mpi.fetch_add(1, Ordering::Relaxed) + 1;
        self.tables.raise(header::THREADS, threads);
    }

    /// Whether several threads were in MPI at one time.
    pub fn has_several_threads(&self) -> bool {
        self.tables.get(header::THREADS) > 1
    }

    pub fn end_call(&self) {
        if self.in_mpi.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.tables.set(header::CURRENT_CALL, 0);
        }
    }

    /// A call ended by an exception.
    pub fn abandoned(&self, mut moment: Moment) {
        lock(&self.recorder).end_call(&mut moment, None, true);
    }

    /// A call ended by `longjmp`; its duration is unknown.
    pub fn left(&self, call: usize, caller: usize, began: u64) {
        self.abandoned(Moment { call, caller, began, ended: began, site: 0, is_nested: false });
        self.end_call();
    }

    /// Ends a pause. Returns whether there was one.
    fn end_pause(&self) -> bool {
        let since = self.paused.swap(0, Ordering::Relaxed);
        if since != 0 {
            self.tables.add(header::PAUSED, clock::monotonic().saturating_sub(since));
        }
        since != 0
    }
}

fn begin_trace(abi: &Abi, host: &str, process: &str, rank: usize, ranks: usize) -> Option<Tracer> {
    let folder = PathBuf::from(env::var_os(fishplate_trace::VARIABLE).filter(|folder| !folder.is_empty())?);
    let header = fishplate_trace::rank_file::Header {
        rank: rank as u32,
        ranks: ranks as u32,
        world: world_of_launcher(),
        is_spawned: Comm::has_parent(abi),
        host: host.into(),
        machine: Host::own().machine(),
        program: env::current_exe().unwrap_or_default().to_string_lossy().into_owned(),
        library: ffi::library_version(),
        processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        overhead_ns: 0,
        host_id: Some(Host::own().id()),
        processor_mask: processor_mask(&fs::read_to_string("/proc/self/status").unwrap_or_default()),
    };
    let report = |error: &io::Error| {
        let folder = folder.display();
        fishplate_guest::report(format_args!("no trace is recorded in {folder}: {error}; the program runs without"));
    };
    Tracer::begin(&folder, process, header).inspect_err(report).ok()
}

/// A part of file names that is unique to this process. Process IDs and host names are not enough: containers and cloned
/// machines have equal ones.
pub fn unique() -> String {
    let random = fs::read_to_string("/proc/sys/kernel/random/uuid").ok();
    let by_time = || format!("{:x}-{:x}", clock::realtime(), std::process::id());
    random.map_or_else(by_time, |random| random.trim().into())
}

/// Parses the mask of the processors that a process may use from its status: hexadecimal groups of 32 bits, the highest first
/// (proc(5)).
fn processor_mask(status: &str) -> Vec<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"));
    let groups = line.iter().flat_map(|line| line.trim().rsplit(','));
    let groups: Vec<u64> = groups.map_while(|group| u64::from_str_radix(group, 16).ok()).collect();
    groups.chunks(2).map(|pair| pair[0] | pair.get(1).map_or(0, |upper| upper << 32)).collect()
}

fn write_header(tables: &Tables, host: &str, rank: usize, now: u64, realtime: u64) {
    let text = |range: std::ops::Range<usize>, text: &str| store_text(&tables.words[range], text);
    tables.set(header::VERSION, rank_file::version());
    tables.set(header::RANK, rank as u64);
    tables.set(header::WORLD, world_of_launcher());
    tables.set(header::RANKS, tables.layout.ranks as u64);
    tables.set(header::PID, u64::from(std::process::id()));
    tables.set(header::STARTED_REALTIME, realtime);
    tables.set(header::STARTED, now);
    tables.set(header::LAST, now);
    tables.set(header::STATE, State::RUNNING);
    text(header::HOST, host);
    text(header::BOOT, &Host::own().boot);
    tables.set(header::HOST_ID, Host::own().id().number());
    tables.set(header::TIME_NAMESPACE, Host::own().time);
    text(header::PROGRAM, &env::current_exe().unwrap_or_default().to_string_lossy());
    text(header::LIBRARY, &ffi::library_version());
    tables.set(header::MAGIC, MAGIC);
}

/// Identifies the MPI_COMM_WORLD, if the launcher sets a variable for it: PMIx, Slurm, PMI-2.
fn world_of_launcher() -> u64 {
    let names = ["PMIX_NAMESPACE", "SLURM_STEP_ID", "PMI_JOBID"];
    names.into_iter().find_map(env::var_os).map_or(0, |name| hash(name.as_encoded_bytes()))
}

/// The name of the host, sanitized for file names.
fn host_in_file_names() -> String {
    ffi::host_name().replace(['/', '\0'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_read_from_the_status() {
        let of = |text: &str| processor_mask(&format!("Name:\tx\nCpus_allowed:\t{text}\nCpus_allowed_list:\t0-1\n"));
        assert_eq!(of("3"), [3]);
        assert_eq!(of("1,00000000,80000001"), [0x8000_0001, 1]);
        assert_eq!(of("ff,ffffffff"), [0xff_ffff_ffff]);
        assert!(processor_mask("Name:\tx\n").is_empty());
    }
}
