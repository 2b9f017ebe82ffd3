//! Progress of an endpoint: in calls of the application, and by the progress thread while the application is not in MPI.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fishplate_engine::{Completion, Failure, Operation};
use fishplate_rails::Endpoint as Transport;
use fishplate_rails::settings::Progress;
use fishplate_rails::ticks::Span;

use super::{Endpoint, State};
use crate::completion::{entry, failed_entry};
use crate::error_report;
use crate::ffi::exit_status;
use crate::idle_yield::{has_yielded, is_crowded, set_waits};
use crate::progress_thread::{LONG_PERIOD, Next, PERIOD, Served, VISIT};
use crate::reader::Reader;
use crate::shared_processor::{is_processor_shared, scheduling_wait};

/// Rounds in a row that deliver completions without a due poll of the network, at most. Operations that complete at once (receives of
/// unexpected messages, messages to oneself) would otherwise starve the network; with sixteen rounds the cost of the poll is small.
const MAX_SKIPPED: u32 = 16;

/// Longest time for which the progress thread polls in [`Served::look_around`] while it finds something.
const MAX_POLL: Duration = Duration::from_millis(10);

/// Requests of peers that wait for what is in memory here, as the progress thread has seen them.
pub(super) struct Requests {
    seen: u64,
    /// When a new one was seen.
    last: Option<Instant>,
}

impl Requests {
    pub const NONE: Requests = Requests { seen: 0, last: None };

    /// Whether the last one is not older than `age`.
    fn are_within(&self, age: Duration, now: Instant) -> bool {
        self.last.is_some_and(|last| now - last < age)
    }

    /// Notes whether there are new ones.
    fn count(&mut self, requests: u64, now: Instant) {
        if std::mem::replace(&mut self.seen, requests) != requests {
            self.last = Some(now);
        }
    }
}

impl Served for Endpoint {
    /// Sends frames that have been held for `least`, and acknowledgements that have been due for as long. If the application has not
    /// called MPI since the last time, makes progress on its operations. Returns when the progress thread is to run next. Does nothing
    /// while the application is in a call, which may post more of a burst.
    fn service(&self, least: Duration, is_free: impl FnOnce() -> bool) -> Next {
        let Ok(Some(mut state)) = self.state.try_lock() else { return Next::Locked };
        let State { transport: Some(transport), thread: Some(thread), progress, .. } = &mut *state else {
            return Next::Soon;
        };
        if transport.held_for_ns().is_some_and(|since_ns| u128::from(since_ns) >= least.as_nanos()) {
            transport.flush_held();
        }
        if transport.has_pending_acks() {
            let due_for = if is_processor_shared() { scheduling_wait() } else { least };
            transport.send_acknowledgements(due_for.as_nanos() as u64);
        }
        transport.service_deferred();
        if *progress == Progress::Calls || !(transport.has_blocked_sends() || transport.has_background_work()) {
            let has_pending_acks = transport.has_pending_acks();
            if !has_pending_acks && !transport.has_deferred_work() {
                thread.nothing_to_do();
                return if transport.has_only_memory_peers() { Next::Idle } else { Next::Soon };
            }
            return if has_pending_acks && !is_urgent(transport) { Next::AfterScheduling } else { Next::Soon };
        }
        state.progress_while_away(is_free)
    }

    /// Polls the network, as a peer may wait for an answer to its goodbye, or to a probe. Not while a completion queue is full, nor for
    /// longer than [`MAX_POLL`].
    fn look_around(&self) {
        let Ok(Some(mut state)) = self.state.try_lock() else { return };
        let is_full = state.tx.is_full() || state.rx.is_full();
        let State { transport: Some(transport), looked_calls, .. } = &mut *state else { return };
        let is_away = std::mem::replace(looked_calls, transport.progress_calls()) == transport.progress_calls();
        if is_away && !is_full {
            let start = Instant::now();
            while transport.progress() && start.elapsed() < MAX_POLL {}
            *looked_calls = transport.progress_calls();
            state.wake_thread_if_needed();
        }
    }

    /// Becomes readable when sockets are ready while the application is not in MPI.
    fn readiness_fd(&self) -> Option<Arc<OwnedFd>> {
        self.state.try_lock().ok()??.readiness_fd.clone()
    }

    /// The process exits with the endpoint open. After `MPI_Finalize` sent messages are still delivered; an abort is not delayed. Not
    /// while another thread is in a call.
    fn close_at_exit(&self) {
        let Ok(Some(mut state)) = self.state.try_lock() else { return };
        let close = if exit_status::has_failed() { Transport::close_at_once } else { Transport::close };
        state.transport.take().into_iter().for_each(close);
    }
}

impl State {
    /// Makes progress, and delivers completions. True if there was anything to do.
    pub(super) fn progress(&mut self, id: u32, reader: &mut Reader<'_>) -> bool {
        // Operations that completed in earlier calls are reported without polling the network.
        let handed_out = self.deliver_completions(id, reader);
        if handed_out && (self.skipped < MAX_SKIPPED || self.pause().goes_on()) {
            self.skipped += 1;
            self.set_pause(self.pause());
            return true;
        }
        let moved = self.poll_network();
        let delivered = self.deliver_completions(id, reader) | handed_out;
        self.set_pause(self.pause());
        delivered | moved
    }

    /// Polls the network, unless a completion queue is full and could not take more completions.
    fn poll_network(&mut self) -> bool {
        self.skipped = 0;
        let full = self.is_full();
        let Some(transport) = self.transport.as_mut().filter(|_| !full) else { return false };
        if is_crowded() {
            set_waits(transport.has_pending_operations());
        }
        transport.set_crowded(is_crowded(), has_yielded());
        let moved = transport.progress();
        while let Some(channel) = transport.poll_nameless_peer() {
            if let Some(vector) = &self.addresses {
                self.peers.index(channel, vector, transport);
            }
        }
        self.wake_thread_if_needed();
        moved
    }

    /// Polls the network, unless its pause says that nothing can have come.
    pub fn poll_network_if_due(&mut self) {
        if !self.pause().goes_on() {
            self.poll_network();
        }
    }

    /// Until when a poll of the network would find nothing. Over while a full queue blocks completions.
    #[inline]
    fn pause(&self) -> Span {
        let transport = self.transport.as_ref().filter(|_| !self.is_full());
        transport.map_or(Span::OVER, Transport::pause)
    }

    fn is_full(&self) -> bool {
        self.tx.is_full() || self.rx.is_full()
    }

    /// Sets the time for which reading the queues finds nothing.
    #[inline]
    fn set_pause(&self, pause: Span) {
        [&self.tx.queue, &self.rx.queue].into_iter().flatten().for_each(|queue| queue.pause.set(pause));
    }

    /// Has the next read of a queue make progress: there may be completions, or an answer to a posted operation.
    #[inline]
    pub fn end_pause(&self) {
        self.set_pause(Span::OVER);
    }

    /// Makes progress if the application is not in MPI: at once where a processor `is_free`, or while peers wait for reads or atomic
    /// operations here; else at most once a period, as messages are of use only once the application calls. If ranks share a processor,
    /// a rank that is not in MPI may just wait to be scheduled: then only if it has not called MPI for [`scheduling_wait`].
    fn progress_while_away(&mut self, is_free: impl FnOnce() -> bool) -> Next {
        let is_full = self.is_full();
        let Some(transport) = &mut self.transport else { return Next::Soon };
        let now = Instant::now();
        let (calls, since) = self.seen_calls;
        let has_called = calls != transport.progress_calls();
        if has_called {
            self.seen_calls = (transport.progress_calls(), now);
        }
        // An application that calls now and then is away in between.
        self.requests.count(transport.incoming_requests(), now);
        let is_asked = self.requests.are_within(2 * LONG_PERIOD, now);
        let is_away = !has_called || is_asked && transport.since_poll() >= VISIT;
        let is_shared = is_processor_shared() && (has_called || now - since < scheduling_wait());
        if !is_away && !is_shared {
            // While operations are pending, the thread stays awake, so that no call has to wake it.
            return if is_urgent(transport) && !is_asked { Next::Soon } else { Next::InMpi { is_asked } };
        }
        let is_free = is_away && is_free();
        if is_full || (is_shared && !is_free) {
            transport.flush_posted();
            let waits = transport.has_blocked_sends() || is_urgent(transport);
            return if waits { Next::Soon } else { Next::AfterScheduling };
        }
        let may_wait = transport.progress_in_background();
        self.seen_calls.0 = transport.progress_calls();
        self.requests.count(transport.incoming_requests(), now);
        self.end_pause();
        let expects_request = self.requests.are_within(PERIOD, now);
        if may_wait { Next::Readable { paced: !is_free && !expects_request } } else { Next::Soon }
    }

    /// Wakes the progress thread if it has something to do.
    #[inline]
    pub fn wake_thread_if_needed(&self) {
        let (Some(transport), Some(thread)) = (&self.transport, &self.thread) else { return };
        let goes_on = self.progress != Progress::Calls;
        if is_urgent(transport) || (goes_on && transport.has_blocked_sends()) {
            thread.wake(true);
        } else if !thread.is_working() && (transport.has_pending_acks() || (goes_on && transport.has_background_work()))
        {
            thread.wake(false);
        }
    }

    /// [`State::wake_thread_if_needed`] after a receive was posted, which is never urgent.
    #[inline]
    pub fn wake_thread_for_receive(&self) {
        if self.thread.as_ref().is_some_and(|thread| !thread.is_working()) {
            self.wake_thread_if_needed();
        }
    }

    #[inline]
    fn deliver_completions(&mut self, id: u32, reader: &mut Reader<'_>) -> bool {
        self.transport.as_ref().is_some_and(Transport::has_completions) && self.deliver_all_completions(id, reader)
    }

    fn deliver_all_completions(&mut self, id: u32, reader: &mut Reader<'_>) -> bool {
        let mut any = false;
        while !self.is_full() {
            let Some(completion) = self.transport.as_mut().and_then(Transport::poll_completion) else { break };
            self.deliver_completion(completion, id, reader);
            any = true;
        }
        any
    }

    fn deliver_completion(&mut self, completion: Completion, id: u32, reader: &mut Reader<'_>) {
        let (user, report) = self.contexts.close(completion.context, completion.buffer_released);
        let (direction, counter) = match completion.operation {
            Operation::Send => (&self.tx, &self.tx.counter),
            Operation::Recv => (&self.rx, &self.rx.counter),
            Operation::Read | Operation::FetchAtomic => (&self.tx, &self.read_counter),
            Operation::Write | Operation::Atomic => (&self.tx, &self.write_counter),
            Operation::Peek | Operation::RemoteWrite => (&self.rx, &None),
        };
        if let Some(counter) = counter {
            counter.count(completion.result.is_ok(), completion.len);
        }
        let Some(queue) = &direction.queue else { return };
        let entry = entry(&completion, id, user);
        match completion.result {
            Ok(()) if report => queue.hand_out(entry, reader),
            Ok(()) => {}
            Err(failure) => {
                // Logged, as MPI libraries print only the error number.
                match &failure {
                    Failure::PeerLost(text) => error_report::report_if_new(text),
                    Failure::Refused(why) => {
                        error_report::report_if_new(&format!("remote memory access: {why}").into())
                    }
                    _ => {}
                }
                queue.push_error(failed_entry(entry, failure));
            }
        }
    }
}

/// Whether the progress thread has something to do soon.
fn is_urgent(transport: &Transport) -> bool {
    transport.has_deferred_work() || (transport.has_pending_acks() && !is_processor_shared())
}
