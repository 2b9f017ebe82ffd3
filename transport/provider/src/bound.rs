//! The interface of an endpoint for the objects that it is bound to: queues, counters, address vector, domain.

use fishplate_engine::{Registration, VcId};
use fishplate_rails::Address;

use crate::errno::Outcome;
use crate::reader::Reader;

/// An endpoint, for the objects that it is bound to.
pub trait Bound: Send + Sync {
    /// Its number in the entries of completion queues.
    fn id(&self) -> u32;

    /// Makes progress, and delivers completions, to `reader` first. True if there was anything to do.
    fn progress(&self, reader: &mut Reader<'_>) -> Outcome<bool>;

    /// The address vector index of the peer behind `channel`.
    fn address_of(&self, channel: VcId) -> u64;

    /// The address at `index` was removed.
    fn forget(&self, index: u64) -> Outcome<()>;

    /// A peer's `address` was inserted.
    fn meet(&self, address: &Address);

    /// Lets peers access registered memory.
    fn expose(&self, registration: Registration) -> Outcome<()>;

    /// Ends that: when it returns, the memory under `key` is not accessed any more.
    fn withdraw(&self, key: u64);
}
