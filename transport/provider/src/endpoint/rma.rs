//! Remote memory access of an endpoint.

use fishplate_engine::{Context, Payload, ReadRequest, Remote, VcId, WriteRequest};
use fishplate_rails::{Endpoint as Transport, PostError};
use ofi_abi::{FI_EOPBADSTATE, FI_INJECT};

use crate::endpoint::transfer::post_errno;
use crate::endpoint::{Endpoint, Report, State};
use crate::errno::{Errno, Outcome};

pub struct Access {
    /// Address vector index of the peer.
    pub peer: u64,
    /// Place in the peer's memory.
    pub remote: Remote,
    /// Remote completion queue data of a write.
    pub data: Option<u64>,
    pub local: Payload,
    /// The bytes of a write may be reused when the call returns.
    pub inject: bool,
    pub report: Report,
    /// The application's name for it.
    pub context: u64,
}

impl Endpoint {
    pub fn write(&self, access: Access) -> Outcome<()> {
        let mut state = self.state()?;
        let by_default = matches!(access.report, Report::Default) && state.tx.op_flags & FI_INJECT != 0;
        let counted = state.write_counter.is_some();
        state.post_access((access.peer, access.report, access.context), counted, |transport, (vc, context, notify)| {
            let Access { remote: to, data, local: payload, inject, .. } = access;
            let inject = inject || by_default;
            transport.write(WriteRequest { vc, to, data, payload, inject, notify, context })
        })
    }

    pub fn read(&self, access: Access) -> Outcome<()> {
        let mut state = self.state()?;
        let counted = state.read_counter.is_some();
        state.post_access((access.peer, access.report, access.context), counted, |transport, (vc, context, notify)| {
            let Access { remote: from, local: buffer, .. } = access;
            transport.read(ReadRequest { vc, from, buffer, notify, context })
        })
    }
}

impl State {
    /// Calls `post` with the channel, the engine's context, and whether to notify, to post an access.
    pub(super) fn post_access(
        &mut self,
        (peer, report, user): (u64, Report, u64),
        counted: bool,
        post: impl FnOnce(&mut Transport, (VcId, Context, bool)) -> Result<(), PostError>,
    ) -> Outcome<()> {
        let vc = self.peer(peer)?;
        let (context, notify) = self.contexts.open(user, self.tx.wants(report), counted, false);
        let Some(transport) = &mut self.transport else { return Err(Errno(FI_EOPBADSTATE)) };
        let posted = post(transport, (vc, context, notify));
        self.end_pause();
        self.wake_thread_if_needed();
        posted.map_err(|error| {
            self.contexts.abandon(context);
            post_errno(error)
        })
    }
}
