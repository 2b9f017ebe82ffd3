//! Event queue. The provider has no events, so that it holds only events that the application writes itself.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ofi_abi::{FI_EAGAIN, FI_ENOMEM, FI_ENOSYS};

use crate::domain::Fabric;
use crate::errno::{Errno, Outcome, lock_plain};

/// Smallest capacity, in events. Also bounds the memory for an application that never reads.
const MIN_CAPACITY: usize = 1024;

#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// Number of events.
    pub capacity: usize,
    /// It will write events.
    pub writable: bool,
    /// It will wait for a file descriptor.
    pub descriptor: bool,
}

/// An event: libfabric's number for its kind, and its entry.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: u32,
    /// The entry, as it was written.
    pub entry: Box<[u8]>,
}

pub struct EventQueue {
    events: Mutex<VecDeque<Event>>,
    arrived: Condvar,
    capacity: usize,
    writable: bool,
    bell: Option<Bell>,
    /// Keeps the fabric open.
    _fabric: Arc<Fabric>,
}

impl EventQueue {
    pub fn new(wish: Wish, fabric: Arc<Fabric>) -> Outcome<EventQueue> {
        let bell = if wish.descriptor { Some(Bell::new()?) } else { None };
        Ok(EventQueue {
            events: Mutex::default(),
            arrived: Condvar::new(),
            capacity: wish.capacity.max(MIN_CAPACITY),
            writable: wish.writable,
            bell,
            _fabric: fabric,
        })
    }

    /// Adds an event. Fails with `FI_EAGAIN` while the queue is full, and with `FI_ENOSYS` if it was not opened for this.
    pub fn write(&self, event: Event) -> Outcome<()> {
        if !self.writable {
            return Err(Errno(FI_ENOSYS));
        }
        let mut events = lock_plain(&self.events);
        if events.len() >= self.capacity {
            return Err(Errno(FI_EAGAIN));
        }
        events.push_back(event);
        if events.len() == 1 {
            self.bell.iter().for_each(Bell::ring);
        }
        self.arrived.notify_one();
        Ok(())
    }

    /// Passes the first event to `take`, and removes it unless `peek`. Fails with `FI_EAGAIN` when there is none.
    pub fn read<R>(&self, peek: bool, take: impl FnOnce(&Event) -> R) -> Outcome<R> {
        self.take(lock_plain(&self.events), peek, take)
    }

    /// Like [`EventQueue::read`], waiting at most `timeout` (`None`: for ever, or not at all when no event can come).
    pub fn wait<R>(&self, peek: bool, timeout: Option<Duration>, take: impl FnOnce(&Event) -> R) -> Outcome<R> {
        let events = lock_plain(&self.events);
        let nothing = |events: &mut VecDeque<Event>| events.is_empty();
        let events = match timeout {
            Some(timeout) => {
                let waited = self.arrived.wait_timeout_while(events, timeout, nothing);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None if self.writable => self.arrived.wait_while(events, nothing).unwrap_or_else(PoisonError::into_inner),
            None => events,
        };
        self.take(events, peek, take)
    }

    pub fn is_empty(&self) -> bool {
        lock_plain(&self.events).is_empty()
    }

    /// A descriptor that is readable while there are events, if one was requested.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.bell.as_ref().map(|bell| bell.inside.as_raw_fd())
    }

    fn take<R>(
        &self,
        mut events: MutexGuard<'_, VecDeque<Event>>,
        peek: bool,
        take: impl FnOnce(&Event) -> R,
    ) -> Outcome<R> {
        let result = take(events.front().ok_or(Errno(FI_EAGAIN))?);
        if !peek {
            events.pop_front();
            if events.is_empty() {
                self.bell.iter().for_each(Bell::silence);
            }
        }
        Ok(result)
    }
}

/// A file descriptor that is readable from `ring` to `silence`.
struct Bell {
    inside: UnixStream,
    outside: UnixStream,
}

impl Bell {
    fn new() -> Outcome<Bell> {
        let (inside, outside) = UnixStream::pair().map_err(|_| Errno(FI_ENOMEM))?;
        inside.set_nonblocking(true).map_err(|_| Errno(FI_ENOMEM))?;
        Ok(Bell { inside, outside })
    }

    // One byte is under way at most, so that neither call can fail or block.
    fn ring(&self) {
        let _ = (&self.outside).write_all(&[1]);
    }

    fn silence(&self) {
        let _ = (&self.inside).read_exact(&mut [0]);
    }
}

#[cfg(test)]
mod tests {
    use fishplate_rails::Settings;

    use super::*;

    fn queue(wish: Wish) -> EventQueue {
        EventQueue::new(wish, Arc::new(Fabric { settings: Settings::default() })).unwrap()
    }

    fn event(kind: u32) -> Event {
        Event { kind, entry: Box::new([kind as u8; 3]) }
    }

    fn kind(event: &Event) -> u32 {
        event.kind
    }

    #[test]
    fn events_are_read_in_the_order_written_and_looked_at_without_being_taken() {
        let queue = queue(Wish { writable: true, ..Wish::default() });
        assert_eq!(queue.read(false, kind), Err(Errno(FI_EAGAIN)));
        assert_eq!((queue.write(event(1)), queue.write(event(2))), (Ok(()), Ok(())));
        assert_eq!(queue.read(true, kind), Ok(1));
        assert_eq!(queue.wait(true, Some(Duration::ZERO), kind), Ok(1));
        assert_eq!(queue.read(false, |event| event.entry.to_vec()), Ok(vec![1, 1, 1]));
        assert_eq!(queue.wait(false, None, kind), Ok(2));
        assert_eq!(queue.wait(false, Some(Duration::ZERO), kind), Err(Errno(FI_EAGAIN)));
    }

    #[test]
    fn a_queue_has_the_room_asked_for_and_no_more_than_it_needs() {
        let queue = queue(Wish { capacity: 2000, writable: true, ..Wish::default() });
        let written = (0..3000).take_while(|_| queue.write(event(1)).is_ok()).count();
        assert_eq!(written, 2000);
        assert_eq!(queue.write(event(1)), Err(Errno(FI_EAGAIN)));
    }

    #[test]
    fn without_the_wish_nothing_can_be_written_and_nobody_waits_for_ever() {
        let queue = queue(Wish::default());
        assert_eq!(queue.write(event(1)), Err(Errno(FI_ENOSYS)));
        assert_eq!(queue.wait(false, None, kind), Err(Errno(FI_EAGAIN)));
        assert_eq!(queue.descriptor(), None);
    }

    #[test]
    fn a_written_event_wakes_who_waits() {
        let queue = queue(Wish { writable: true, ..Wish::default() });
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.wait(false, None, kind));
            assert_eq!(queue.write(event(7)), Ok(()));
            assert_eq!(waiting.join().unwrap(), Ok(7));
        });
    }

    #[test]
    fn the_descriptor_is_readable_while_there_are_events() {
        let queue = queue(Wish { writable: true, descriptor: true, ..Wish::default() });
        let bell = queue.bell.as_ref().unwrap();
        let rings = || {
            let mut copy = bell.inside.try_clone().unwrap();
            let rang = copy.read_exact(&mut [0]).is_ok();
            if rang {
                bell.ring();
            }
            rang
        };
        assert!(!rings());
        queue.write(event(1)).unwrap();
        queue.write(event(2)).unwrap();
        assert!(rings());
        queue.read(false, kind).unwrap();
        queue.read(true, kind).unwrap();
        assert!(rings());
        queue.read(false, kind).unwrap();
        assert!(!rings());
    }
}
