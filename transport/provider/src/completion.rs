//! Converts the engine's completions to entries of a completion queue.

use std::sync::Arc;

use fishplate_engine::{Completion, Envelope, Extent, Failure, Operation, Refusal, VcId};
use ofi_abi::{
    FI_ATOMIC, FI_EACCES, FI_ECANCELED, FI_ECONNRESET, FI_EINVAL, FI_EKEYREJECTED, FI_ENOMSG, FI_ETRUNC, FI_MSG,
    FI_MULTI_RECV, FI_READ, FI_RECV, FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE, FI_RMA, FI_SEND, FI_TAGGED, FI_WRITE,
};

/// A completed operation, with the fields of all formats of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The application's context.
    pub context: u64,
    /// libfabric's flags of the operation.
    pub flags: u64,
    /// Length in bytes.
    pub len: u64,
    /// Address of the first byte received, 0 where there is none.
    pub buffer: u64,
    /// Remote completion queue data, 0 where there is none.
    pub data: u64,
    /// Tag, 0 for untagged messages.
    pub tag: u64,
    pub source: Option<Source>,
}

/// Sender of a message. Its address is looked up only if the application asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    pub endpoint: u32,
    /// The endpoint's virtual channel that it came over.
    pub channel: VcId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedEntry {
    pub entry: Entry,
    /// libfabric's number for the cause.
    pub errno: i32,
    /// Bytes that did not fit.
    pub excess: u64,
    /// Explanation of the cause, where there is one.
    pub text: Option<Arc<str>>,
}

/// The entry for `completion`, received by `endpoint`, of the application's operation `context`.
#[inline]
pub fn entry(completion: &Completion, endpoint: u32, context: u64) -> Entry {
    let (direction, access) = match completion.operation {
        Operation::Send => (FI_SEND, None),
        Operation::Recv | Operation::Peek => (FI_RECV, None),
        Operation::Write => (FI_WRITE, Some(FI_RMA)),
        Operation::Read => (FI_READ, Some(FI_RMA)),
        Operation::Atomic => (FI_WRITE, Some(FI_ATOMIC)),
        Operation::FetchAtomic => (FI_READ, Some(FI_ATOMIC)),
        Operation::RemoteWrite => (FI_REMOTE_WRITE, Some(FI_RMA)),
    };
    let (kind, tag) = match (access, completion.envelope) {
        (Some(access), _) => (access, 0),
        (None, Envelope::Message) => (FI_MSG, 0),
        (None, Envelope::Tagged(tag)) => (FI_TAGGED, tag),
    };
    let comes_in = matches!(direction, FI_RECV | FI_REMOTE_WRITE);
    let remote_data = if comes_in && completion.data.is_some() { FI_REMOTE_CQ_DATA } else { 0 };
    let released = if completion.buffer_released { FI_MULTI_RECV } else { 0 };
    Entry {
        context,
        flags: direction | kind | remote_data | released,
        len: completion.len,
        buffer: completion.placed.map_or(0, |Extent { region, offset, .. }| region.0 + offset),
        data: completion.data.unwrap_or(0),
        tag,
        source: completion.source.map(|channel| Source { endpoint, channel }),
    }
}

#[cold]
pub fn failed_entry(entry: Entry, failure: Failure) -> FailedEntry {
    let (errno, excess, text) = match failure {
        Failure::Truncated { excess } => (FI_ETRUNC, excess, None),
        Failure::Cancelled => (FI_ECANCELED, 0, None),
        Failure::NoMessage => (FI_ENOMSG, 0, None),
        Failure::PeerLost(text) => (FI_ECONNRESET, 0, Some(text)),
        Failure::Refused(why @ Refusal::Key) => (FI_EKEYREJECTED, 0, Some(why.to_string().into())),
        Failure::Refused(why @ Refusal::Alignment) => (FI_EINVAL, 0, Some(why.to_string().into())),
        Failure::Refused(why) => (FI_EACCES, 0, Some(why.to_string().into())),
    };
    FailedEntry { entry, errno, excess, text }
}

#[cfg(test)]
mod tests {
    use fishplate_engine::{Context, Region};

    use super::*;

    fn completion() -> Completion {
        Completion {
            context: Context(9),
            operation: Operation::Recv,
            envelope: Envelope::Tagged(77),
            data: Some(5),
            len: 12,
            source: Some(VcId(3)),
            placed: Some(Extent { region: Region(1000), offset: 24, len: 12 }),
            buffer_released: false,
            result: Ok(()),
        }
    }

    #[test]
    fn a_tagged_receive() {
        let entry = entry(&completion(), 4, 9);
        assert_eq!(entry.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
        assert_eq!((entry.context, entry.len, entry.buffer, entry.data, entry.tag), (9, 12, 1024, 5, 77));
        assert_eq!(entry.source, Some(Source { endpoint: 4, channel: VcId(3) }));
    }

    #[test]
    fn a_send_has_no_remote_data() {
        let send = Completion { operation: Operation::Send, envelope: Envelope::Message, ..completion() };
        assert_eq!(entry(&send, 4, 9).flags, FI_SEND | FI_MSG);
    }

    #[test]
    fn remote_memory_access_reports_its_kind() {
        let flags = |operation| entry(&Completion { operation, ..completion() }, 4, 9).flags;
        assert_eq!(flags(Operation::Write), FI_RMA | FI_WRITE);
        assert_eq!(flags(Operation::Read), FI_RMA | FI_READ);
        assert_eq!(flags(Operation::Atomic), FI_ATOMIC | FI_WRITE);
        assert_eq!(flags(Operation::FetchAtomic), FI_ATOMIC | FI_READ);
        assert_eq!(flags(Operation::RemoteWrite), FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
    }

    #[test]
    fn the_last_message_of_a_multi_receive_buffer_releases_it() {
        let last = Completion { buffer_released: true, data: None, envelope: Envelope::Message, ..completion() };
        assert_eq!(entry(&last, 4, 9).flags, FI_RECV | FI_MSG | FI_MULTI_RECV);
    }

    #[test]
    fn failures_have_their_numbers() {
        let entry = entry(&completion(), 4, 9);
        let truncated = failed_entry(entry, Failure::Truncated { excess: 8 });
        assert_eq!((truncated.errno, truncated.excess), (FI_ETRUNC, 8));
        assert_eq!(failed_entry(entry, Failure::Cancelled).errno, FI_ECANCELED);
        assert_eq!(failed_entry(entry, Failure::NoMessage).errno, FI_ENOMSG);
        let lost = failed_entry(entry, Failure::PeerLost("gone".into()));
        let refused = failed_entry(entry, Failure::Refused(Refusal::Key));
        assert_eq!((refused.errno, refused.text.is_some()), (FI_EKEYREJECTED, true));
        assert_eq!((lost.errno, lost.text.as_deref()), (FI_ECONNRESET, Some("gone")));
    }
}
