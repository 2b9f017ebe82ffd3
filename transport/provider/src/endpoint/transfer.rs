//! The data transfer calls of an endpoint.

use fishplate_engine::{
    Context, Envelope, Failure, INJECT_SIZE, Pattern, Payload, PeekAction, PeekRequest, RecvRequest, SendRequest,
    Space, VcId,
};
use fishplate_rails::{Endpoint as Transport, PostError};
use ofi_abi::{
    FI_ADDR_UNSPEC, FI_DELIVERY_COMPLETE, FI_EAGAIN, FI_ECONNRESET, FI_EINVAL, FI_EIO, FI_ENOAV, FI_EOPBADSTATE,
    FI_INJECT, FI_MULTI_RECV, FI_TRANSMIT_COMPLETE,
};

use crate::endpoint::{Endpoint, Report, State};
use crate::errno::{Errno, Outcome};
use crate::error_report;
use crate::info::USUAL_INJECT_SIZE;

pub struct Outgoing {
    /// Address vector index of the receiver.
    pub dest: u64,
    /// Matching space and tag.
    pub envelope: Envelope,
    /// Remote completion queue data.
    pub data: Option<u64>,
    pub payload: Payload,
    /// The payload may be reused when the call returns.
    pub inject: bool,
    pub report: Report,
    /// The application's name for it.
    pub context: u64,
}

pub struct Incoming {
    /// Address vector index of the sender, or `FI_ADDR_UNSPEC`.
    pub source: u64,
    /// Matching space and tag.
    pub space: Space,
    /// Where the message goes.
    pub buffer: Payload,
    /// The buffer takes several messages.
    pub multi: bool,
    pub report: Report,
    /// The application's name for it.
    pub context: u64,
}

impl Endpoint {
    #[inline]
    pub fn send(&self, message: Outgoing) -> Outcome<()> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let vc = state.peer(message.dest)?;
        let default_inject = matches!(message.report, Report::Default) && state.tx.op_flags & FI_INJECT != 0;
        let wanted = state.tx.wants(message.report);
        let (context, notify) = state.contexts.open(message.context, wanted, state.tx.counter.is_some(), false);
        let Some(transport) = &mut state.transport else { return Err(Errno(FI_EOPBADSTATE)) };
        // MPICH sets delivery-complete as a default only because of remote writes.
        let waits = match message.report {
            Report::Flags(flags) => flags & (FI_DELIVERY_COMPLETE | FI_TRANSMIT_COMPLETE) != 0,
            _ => state.tx.op_flags & FI_TRANSMIT_COMPLETE != 0,
        };
        let Outgoing { envelope, data, payload, inject, .. } = message;
        let inject = inject || default_inject || !waits && is_better_injected(transport, vc, payload.len());
        let request = SendRequest { vc, envelope, data, payload, inject, notify, context };
        let posted = if waits { transport.send(request) } else { transport.send_early(request) };
        state.end_pause();
        match posted {
            Ok(true) => Ok(()),
            Ok(false) => {
                state.wake_thread_if_needed();
                Ok(())
            }
            Err(error) => {
                state.contexts.abandon(context);
                Err(post_errno(error))
            }
        }
    }

    #[inline]
    pub fn recv(&self, receive: Incoming) -> Outcome<()> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let pattern = Pattern { space: receive.space, source: state.source(receive.source)? };
        let Some(transport) = &mut state.transport else { return Err(Errno(FI_EOPBADSTATE)) };
        let default_multi = matches!(receive.report, Report::Default) && state.rx.op_flags & FI_MULTI_RECV != 0;
        let multi = matches!(receive.space, Space::Message) && (receive.multi || default_multi);
        let (wanted, counted) = (state.rx.wants(receive.report), state.rx.counter.is_some());
        let (context, notify) = state.contexts.open(receive.context, wanted, counted, multi);
        let multi_min_free = multi.then_some(state.min_multi_recv);
        transport.recv(RecvRequest { pattern, buffer: receive.buffer, multi_min_free, notify, context });
        state.end_pause();
        state.wake_thread_for_receive();
        Ok(())
    }

    /// Searches for an unexpected message, after polling the network: a miss completes at once, so that an application that only peeks
    /// would never poll otherwise.
    pub fn peek(&self, source: u64, space: Space, then: PeekAction, context: u64) -> Outcome<()> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        state.poll_network_if_due();
        let pattern = Pattern { space, source: state.source(source)? };
        let Some(transport) = &mut state.transport else { return Err(Errno(FI_EOPBADSTATE)) };
        transport.peek(PeekRequest { pattern, then, context: Context(context) });
        state.end_pause();
        Ok(())
    }

    /// Receives what a peek with the same context has claimed.
    pub fn recv_claimed(&self, receive: Incoming) -> Outcome<()> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let pattern = Pattern { space: receive.space, source: state.source(receive.source)? };
        let Some(transport) = &mut state.transport else { return Err(Errno(FI_EOPBADSTATE)) };
        // The claim is identified by the application's context, so that this receive is counted only if it is reported.
        let (context, notify) = (Context(receive.context), state.rx.wants(receive.report));
        let request = RecvRequest { pattern, buffer: receive.buffer, multi_min_free: None, notify, context };
        let found = transport.recv_claimed(request);
        state.end_pause();
        if found { Ok(()) } else { Err(Errno(FI_EINVAL)) }
    }

    /// Drops what a peek with the same context has claimed.
    pub fn discard_claimed(&self, context: u64) -> Outcome<()> {
        let mut guard = self.state()?;
        let Some(transport) = &mut guard.transport else { return Err(Errno(FI_EOPBADSTATE)) };
        let found = transport.discard_claimed(Context(context));
        guard.end_pause();
        if found { Ok(()) } else { Err(Errno(FI_EINVAL)) }
    }

    /// Cancels a receive, if it has not matched yet. Its completion tells whether it was cancelled.
    pub fn cancel(&self, context: u64) -> Outcome<()> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let context = state.contexts.find(context);
        let Some(transport) = &mut state.transport else { return Err(Errno(FI_EOPBADSTATE)) };
        transport.cancel(context);
        state.end_pause();
        Ok(())
    }
}

impl State {
    #[cold]
    fn resolve(&mut self, index: u64) -> Outcome<VcId> {
        let vector = self.addresses.as_ref().ok_or(Errno(FI_ENOAV))?;
        let transport = self.transport.as_mut().ok_or(Errno(FI_EOPBADSTATE))?;
        self.peers.resolve(index, vector, transport)
    }

    /// The virtual channel to the peer at an index of the address vector.
    #[inline]
    pub fn peer(&mut self, index: u64) -> Outcome<VcId> {
        match self.peers.known(index) {
            Some(vc) => Ok(vc),
            None => self.resolve(index),
        }
    }

    #[inline]
    fn source(&mut self, index: u64) -> Outcome<Option<VcId>> {
        if index == FI_ADDR_UNSPEC || !self.directed {
            return Ok(None);
        }
        self.peer(index).map(Some)
    }
}

/// The error number for an operation that was not posted.
#[cold]
pub fn post_errno(error: PostError) -> Errno {
    match error {
        PostError::Again => Errno(FI_EAGAIN),
        PostError::TooLong | PostError::Mismatch => Errno(FI_EINVAL),
        PostError::Failed(Failure::PeerLost(text)) => {
            // The call can only return a number, on which MPI aborts the job: print the cause.
            error_report::report_if_new(&text);
            Errno(FI_ECONNRESET)
        }
        PostError::Failed(_) => Errno(FI_EIO),
    }
}

/// Whether to inject a send although the MPI does not: it would, if [`USUAL_INJECT_SIZE`](crate::info::USUAL_INJECT_SIZE) were not
/// chosen for peers that share memory.
fn is_better_injected(transport: &Transport, vc: VcId, len: u64) -> bool {
    len > USUAL_INJECT_SIZE as u64 && len <= INJECT_SIZE && !transport.shares_memory(vc)
}
