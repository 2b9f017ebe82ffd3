//! Writes the trace of this process.

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fishplate_guest::file_limit::LimitedFile;
use fishplate_trace::rank_file::{Header, TAIL, TRACE, tail};
use fishplate_trace::write::{Tail, Writer};
use fishplate_trace::{Completed, Operation};
use rustc_hash::FxHashMap;

use super::slots::{Entry, Slots};
use super::stamps::{Stamp, overhead};
use crate::ffi::GrowingFile;
use crate::profile::{Communicator, Id};

/// Maximum time in nanoseconds between two unsuccessful tests of a program that only polls: it is waiting, not computation.
const POLLING_NS: u64 = 1000;

pub struct Tracer {
    writer: Option<Writer<LimitedFile, GrowingFile>>,
    tail: PathBuf,
    slots: Slots,
    /// Contexts of communicators, by index.
    contexts: FxHashMap<usize, u64>,
    overhead_ns: u64,
    began: Stamp,
    /// Computation before the present call and before preceding calls that are not recorded.
    computed: [u64; 2],
    /// The thread of the last MPI call.
    thread: u32,
    /// Whether several threads were in MPI at one time.
    is_beside: bool,
}

impl Tracer {
    /// Begins the files `NAME.trace` and `NAME.tail`.
    pub fn begin(folder: &Path, name: &str, header: Header) -> io::Result<Tracer> {
        let path = |ending: &str| folder.join(format!("{name}.{ending}"));
        let tail_path = path(TAIL);
        let tail = create_tail(&tail_path)?;
        let (overhead_ns, file) = (overhead(), OpenOptions::new().write(true).create_new(true).open(path(TRACE))?);
        let writer = Writer::begin(LimitedFile::new(file), tail, &Header { overhead_ns, ..header })?;
        Ok(Tracer {
            writer: Some(writer),
            tail: tail_path,
            slots: Slots::default(),
            contexts: FxHashMap::default(),
            overhead_ns,
            began: Stamp::default(),
            computed: [0, 0],
            thread: thread_number(),
            is_beside: false,
        })
    }

    /// A call that ended, with the computation before it. To be followed by a method for its operation.
    pub fn begin_call(&mut self, began: Stamp, [processor, idle]: [u64; 2]) {
        self.began = began;
        self.note_thread();
        self.computed[0] += processor.saturating_sub(self.overhead_ns);
        self.computed[1] += idle;
    }

    /// Several threads are in MPI at one time.
    pub fn is_beside_others(&mut self) {
        self.is_beside = true;
    }

    /// Writes the number of the calling thread, if it changed.
    fn note_thread(&mut self) {
        let this = thread_number();
        if self.thread == this {
            return;
        }
        self.thread = this;
        let computed = std::mem::take(&mut self.computed);
        self.push(&Operation::Thread { number: this, is_beside: self.is_beside });
        self.computed = computed;
    }

    pub fn push(&mut self, operation: &Operation) {
        let computed = std::mem::take(&mut self.computed);
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.push(operation, computed) {
            fishplate_guest::report(format_args!(
                "the trace ends here, as it cannot be written: {error}; the program runs on without"
            ));
            self.writer = None;
        }
    }

    pub fn waited(&mut self, completed: Vec<Completed>) {
        if completed.is_empty() { self.found_nothing() } else { self.push(&Operation::Wait(completed)) }
    }

    /// The call was an unsuccessful test or probe, which is not recorded: it is a part of waiting.
    pub fn found_nothing(&mut self) {
        if self.computed[0] < POLLING_NS {
            self.computed = [0, 0];
        }
    }

    /// The call did not communicate: its time is computation.
    pub fn computes(&mut self) {
        let [processor, idle] = Stamp::now().since(self.began);
        self.computed[0] += processor;
        self.computed[1] += idle;
    }

    /// Writes the definition of a communicator, if it is new.
    pub fn know(&mut self, place: usize, communicator: &Communicator) {
        let context = communicator.id;
        if self.contexts.insert(place, context) != Some(context) {
            let world = |rank| communicator.in_world(rank as i32).map_or(u32::MAX, |rank| rank as u32);
            let members = (0..communicator.ranks).map(world).collect();
            let computed = std::mem::take(&mut self.computed);
            self.push(&Operation::Communicator { number: place as u32, context, members });
            self.computed = computed;
        }
    }

    pub fn reserve_slot(&mut self) -> Option<u32> {
        self.slots.reserve()
    }

    /// Adds a request with a reserved number. `persistent`: operation of a persistent request.
    pub fn add_request(&mut self, id: Id, slot: u32, wild: Option<usize>, persistent: Option<Operation>) {
        let is_active = persistent.is_none();
        self.slots.insert(id, Entry { slot, wild, persistent, is_active });
    }

    pub fn start(&mut self, id: Id) {
        let Some(entry) = self.slots.get(id) else { return };
        entry.is_active = true;
        if let Some(operation) = entry.persistent.clone() {
            self.push(&operation);
        }
    }

    pub fn rename(&mut self, before: Id, id: Id) {
        self.slots.rename(before, id);
    }

    /// Completes a request. `source` returns the source, as a rank in MPI_COMM_WORLD, and the tag.
    pub fn complete(
        &mut self,
        id: Id,
        is_cancelled: bool,
        source: impl FnOnce(usize) -> Option<(u32, i32)>,
    ) -> Option<Completed> {
        let entry = self.slots.complete(id)?;
        let source = entry.wild.filter(|_| !is_cancelled).map(source);
        // A message from a rank of another MPI_COMM_WORLD is not in this world's traces.
        let is_cancelled = is_cancelled || source == Some(None);
        Some(Completed { request: entry.slot, source: source.flatten(), is_cancelled })
    }

    /// Removes a freed request.
    pub fn free(&mut self, id: Id) {
        self.slots.remove(id);
    }

    pub fn finish(&mut self) {
        self.push(&Operation::End);
        let Some(mut writer) = self.writer.take() else { return };
        match writer.finish() {
            Ok(()) => drop(fs::remove_file(&self.tail)),
            Err(error) => fishplate_guest::report(format_args!("the end of the trace cannot be written: {error}")),
        }
    }
}

/// The tail of a trace, which is not in the file yet: it survives the process however that ends.
fn create_tail(path: &Path) -> io::Result<GrowingFile> {
    let mut file = GrowingFile::create(path, tail::WORDS)?;
    let bytes = tail::WORDS * size_of::<AtomicU64>() + tail::NUMBERS * size_of::<AtomicU32>();
    file.grow(bytes).inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok(file)
}

impl Tail for GrowingFile {
    fn words(&self) -> &[AtomicU64] {
        self.head()
    }

    fn numbers(&self) -> &[AtomicU32] {
        self.numbers()
    }
}

static NEXT_THREAD: AtomicU32 = AtomicU32::new(0);

// A type without a destructor: threads may call MPI while their thread-local data are being destroyed.
thread_local! {
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Number of this thread among those that call MPI, from 0.
fn thread_number() -> u32 {
    THREAD.get().unwrap_or_else(|| {
        let number = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
        THREAD.set(Some(number));
        number
    })
}
