//! Completion queue.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use ofi_abi::{FI_ADDR_NOTAVAIL, FI_EAGAIN, FI_EAVAIL};

use crate::bound::Bound;
use crate::completion::{Entry, FailedEntry, Source};
use crate::domain::Domain;
use crate::errno::{Errno, Outcome, lock_plain, read_plain};
use crate::idle_yield::IdleYield;
use crate::pause::Pause;
use crate::reader::Reader;

/// Entries for which memory is allocated at the start, so that the path of a small message does not allocate: several times the
/// windows of sends and receives of the usual benchmarks.
const INITIAL_CAPACITY: usize = 1024;

/// Entries beyond which the endpoints of the queue stop polling completions, and so stop reading from the network, until some have
/// been read: 3.5 MiB. More than any application has under way; it bounds the memory for one that never reads.
const MAX_ENTRIES: usize = 1 << 16;

/// Explanations of failures that are kept for `fi_cq_strerror`, at most; further failures get the last one.
const MAX_TEXTS: usize = 256;

/// Provider error numbers from here on are explanations in the queue's table; those below are libfabric's own.
const FIRST_TEXT: i32 = 1000;

/// A completion queue. Reading it progresses the endpoints that are bound to it.
pub struct CompletionQueue {
    entries: Mutex<Entries>,
    /// Number of entries, errors included; read without the lock.
    len: AtomicUsize,
    signalled: AtomicBool,
    /// Until it is over, there is nothing to read, and progress would find nothing.
    pub pause: Pause,
    idle: IdleYield,
    texts: Mutex<Vec<Arc<CStr>>>,
    pub endpoints: RwLock<Vec<Arc<dyn Bound>>>,
    /// Keeps the domain open.
    pub domain: Arc<Domain>,
}

impl CompletionQueue {
    pub fn new(domain: Arc<Domain>) -> CompletionQueue {
        CompletionQueue {
            entries: Mutex::new(Entries::default()),
            len: AtomicUsize::new(0),
            signalled: AtomicBool::new(false),
            pause: Pause::default(),
            idle: IdleYield::default(),
            texts: Mutex::default(),
            endpoints: RwLock::default(),
            domain,
        }
    }

    /// Passes at most `most` entries to `take`, and returns their number. Fails with `FI_EAVAIL` when an error is next, with
    /// `FI_EAGAIN` when there is nothing. Makes progress only when the queue is empty, or when `most` is 0.
    #[inline]
    pub fn read(&self, most: usize, mut take: impl FnMut(Entry)) -> Outcome<usize> {
        if self.len.load(Ordering::Acquire) == 0 || most == 0 {
            if self.pause.goes_on() {
                return Err(Errno(FI_EAGAIN));
            }
            let mut reader = Reader::new(self, most, &mut take);
            let progressed = match self.progress_once(&mut reader) {
                Ok(false) if self.idle.nothing() => {
                    let again = self.progress_once(&mut reader);
                    self.idle.leaves();
                    again
                }
                progressed => progressed,
            };
            if reader.taken() > 0 {
                return Ok(reader.taken());
            }
            progressed?;
            if self.len.load(Ordering::Acquire) == 0 {
                return Err(Errno(FI_EAGAIN));
            }
        }
        self.idle.active();
        let mut entries = lock_plain(&self.entries);
        let taken = entries.take(most, take);
        self.len.store(entries.len(), Ordering::Release);
        match taken {
            0 if entries.error_is_next() => Err(Errno(FI_EAVAIL)),
            0 => Err(Errno(FI_EAGAIN)),
            taken => Ok(taken),
        }
    }

    /// Like [`CompletionQueue::read`], waiting at most `timeout` (`None`: for ever) or until [`Self::signal`].
    pub fn wait(&self, most: usize, timeout: Option<Duration>, mut take: impl FnMut(Entry)) -> Outcome<usize> {
        let start = Instant::now();
        loop {
            match self.read(most, &mut take) {
                Err(Errno(FI_EAGAIN)) => {}
                result => return result,
            }
            let over = timeout.is_some_and(|timeout| start.elapsed() >= timeout);
            if over || self.signalled.swap(false, Ordering::AcqRel) {
                return Err(Errno(FI_EAGAIN));
            }
        }
    }

    pub fn signal(&self) {
        self.signalled.store(true, Ordering::Release);
    }

    /// Takes the error that is next, with its provider error number.
    pub fn read_error(&self) -> Option<(FailedEntry, i32)> {
        let failed = {
            let mut entries = lock_plain(&self.entries);
            let failed = entries.take_error();
            self.len.store(entries.len(), Ordering::Release);
            failed?
        };
        let number = failed.text.as_deref().map_or(failed.errno, |text| self.keep_text(text));
        Some((failed, number))
    }

    /// Explanation of a provider error number. Lives as long as the queue.
    pub fn explain(&self, number: i32) -> Option<Arc<CStr>> {
        let position = usize::try_from(number.checked_sub(FIRST_TEXT)?).ok()?;
        lock_plain(&self.texts).get(position).cloned()
    }

    /// Passes a completion to `reader`, if that reads this queue and the queue is empty; adds it to the queue otherwise.
    #[inline]
    pub fn hand_out(&self, entry: Entry, reader: &mut Reader<'_>) {
        if self.len.load(Ordering::Acquire) != 0 || !reader.takes(self, entry) {
            self.push(entry);
        }
    }

    #[inline]
    fn push(&self, entry: Entry) {
        let mut entries = lock_plain(&self.entries);
        entries.push(entry);
        self.len.store(entries.len(), Ordering::Release);
    }

    #[cold]
    pub fn push_error(&self, failed: FailedEntry) {
        let mut entries = lock_plain(&self.entries);
        entries.push_error(failed);
        self.len.store(entries.len(), Ordering::Release);
    }

    /// Whether endpoints have to wait until entries have been read.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len.load(Ordering::Relaxed) >= MAX_ENTRIES
    }

    /// The address vector index of a sender.
    pub fn address_of(&self, source: Option<Source>) -> u64 {
        let Some(source) = source else { return FI_ADDR_NOTAVAIL };
        let endpoints = read_plain(&self.endpoints);
        let endpoint = endpoints.iter().find(|endpoint| endpoint.id() == source.endpoint);
        endpoint.map_or(FI_ADDR_NOTAVAIL, |endpoint| endpoint.address_of(source.channel))
    }

    /// True if there was anything to do, or to read.
    #[inline]
    fn progress_once(&self, reader: &mut Reader<'_>) -> Outcome<bool> {
        let moved = self.progress(reader);
        let any = reader.taken() > 0 || *moved.as_ref().unwrap_or(&false) || self.len.load(Ordering::Acquire) > 0;
        if any {
            self.idle.active();
        }
        moved.map(|_| any)
    }

    fn progress(&self, reader: &mut Reader<'_>) -> Outcome<bool> {
        let mut moved = false;
        for endpoint in read_plain(&self.endpoints).iter() {
            moved |= endpoint.progress(reader)?;
        }
        Ok(moved)
    }

    fn keep_text(&self, text: &str) -> i32 {
        let mut texts = lock_plain(&self.texts);
        let position = texts.iter().position(|known| known.to_bytes() == text.as_bytes()).unwrap_or_else(|| {
            if texts.len() < MAX_TEXTS {
                texts.push(CString::new(text.replace('\0', " ")).unwrap_or_default().into());
            }
            texts.len() - 1
        });
        FIRST_TEXT + position as i32
    }
}

/// Entries in the order of completion. Errors are kept separately, so that entries stay small, each with its position among the
/// entries, so that earlier entries are read before it.
struct Entries {
    good: VecDeque<Entry>,
    /// Good entries taken so far.
    taken: u64,
    /// Errors, each with the number of good entries ahead of it since the start.
    errors: VecDeque<(u64, FailedEntry)>,
}

impl Default for Entries {
    fn default() -> Self {
        Entries { good: VecDeque::with_capacity(INITIAL_CAPACITY), taken: 0, errors: VecDeque::new() }
    }
}

impl Entries {
    fn push(&mut self, entry: Entry) {
        self.good.push_back(entry);
    }

    fn push_error(&mut self, failed: FailedEntry) {
        self.errors.push_back((self.taken + self.good.len() as u64, failed));
    }

    fn take(&mut self, most: usize, take: impl FnMut(Entry)) -> usize {
        let ahead = self.errors.front().map_or(usize::MAX, |(position, _)| (position - self.taken) as usize);
        let count = most.min(ahead).min(self.good.len());
        self.good.drain(..count).for_each(take);
        self.taken += count as u64;
        count
    }

    fn error_is_next(&self) -> bool {
        self.errors.front().is_some_and(|(position, _)| *position == self.taken)
    }

    fn take_error(&mut self) -> Option<FailedEntry> {
        if !self.error_is_next() {
            return None;
        }
        self.errors.pop_front().map(|(_, failed)| failed)
    }

    fn len(&self) -> usize {
        self.good.len() + self.errors.len()
    }
}

#[cfg(test)]
mod tests {
    use fishplate_engine::Failure;
    use fishplate_rails::Settings;

    use super::*;
    use crate::completion::failed_entry;
    use crate::domain::Fabric;
    use crate::regions::Addressing;

    fn queue() -> CompletionQueue {
        let fabric = Arc::new(Fabric { settings: Settings::default() });
        CompletionQueue::new(Arc::new(Domain::new(fabric, 0, Addressing::Offsets, false)))
    }

    fn good(context: u64) -> Entry {
        Entry { context, flags: 0, len: 0, buffer: 0, data: 0, tag: 0, source: None }
    }

    fn read(queue: &CompletionQueue, most: usize) -> Result<Vec<u64>, i32> {
        let mut contexts = Vec::new();
        match queue.read(most, |entry| contexts.push(entry.context)) {
            Ok(count) => {
                assert_eq!(count, contexts.len());
                Ok(contexts)
            }
            Err(errno) => Err(errno.0),
        }
    }

    #[test]
    fn entries_ahead_of_an_error_come_first_then_the_error_then_the_rest() {
        let queue = queue();
        queue.push(good(1));
        queue.push(good(2));
        queue.push_error(failed_entry(good(3), Failure::Cancelled));
        queue.push_error(failed_entry(good(4), Failure::NoMessage));
        queue.push(good(5));
        assert_eq!(read(&queue, 1), Ok(vec![1]));
        assert!(queue.read_error().is_none());
        assert_eq!(read(&queue, 8), Ok(vec![2]));
        assert_eq!(read(&queue, 8), Err(FI_EAVAIL));
        assert_eq!(queue.read_error().unwrap().0.entry.context, 3);
        assert_eq!(read(&queue, 8), Err(FI_EAVAIL));
        assert_eq!(queue.read_error().unwrap().0.entry.context, 4);
        assert!(queue.read_error().is_none());
        assert_eq!(read(&queue, 8), Ok(vec![5]));
        assert_eq!(read(&queue, 8), Err(FI_EAGAIN));
    }

    #[test]
    fn a_read_of_nothing_sees_errors() {
        let queue = queue();
        assert_eq!(read(&queue, 0), Err(FI_EAGAIN));
        queue.push_error(failed_entry(good(3), Failure::Cancelled));
        assert_eq!(read(&queue, 0), Err(FI_EAVAIL));
    }

    #[test]
    fn explanations_are_kept_once_each() {
        let queue = queue();
        for text in ["a went away", "b went away", "a went away"] {
            queue.push_error(failed_entry(good(1), Failure::PeerLost(text.into())));
        }
        let numbers: Vec<i32> = std::iter::from_fn(|| queue.read_error()).map(|(_, number)| number).collect();
        assert_eq!(numbers, [1000, 1001, 1000]);
        assert_eq!(queue.explain(1001).as_deref(), Some(c"b went away"));
        assert_eq!(queue.explain(1002), None);
        assert_eq!(queue.explain(5), None);
        assert_eq!(queue.explain(i32::MIN), None);
    }

    #[test]
    fn a_wait_ends_with_its_time_and_by_a_signal() {
        let queue = queue();
        let wait = |timeout| queue.wait(1, timeout, |_| ()).unwrap_err().0;
        assert_eq!(wait(Some(Duration::from_millis(1))), FI_EAGAIN);
        queue.signal();
        assert_eq!(wait(None), FI_EAGAIN);
    }

    #[test]
    fn a_full_queue_says_so_and_loses_nothing() {
        let queue = queue();
        for context in 0..MAX_ENTRIES as u64 {
            assert!(!queue.is_full());
            queue.push(good(context));
        }
        assert!(queue.is_full());
        assert_eq!(read(&queue, 2), Ok(vec![0, 1]));
        assert!(!queue.is_full());
    }
}
