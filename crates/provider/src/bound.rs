//! What the objects that an endpoint is bound to (queues, counters, address vector, domain) ask of it.

use fishplate_engine::{Registration, VcId};
use fishplate_rails::Address;

use crate::errno::Outcome;
use crate::reader::Reader;

/// An endpoint, as what it is bound to sees it.
pub trait Bound: Send + Sync {
    /// Names it in the entries of completion queues.
    fn id(&self) -> u32;

    /// Moves data and hands out completions, to `reader` first. True if there was anything to do.
    fn progress(&self, reader: &mut Reader<'_>) -> Outcome<bool>;

    /// The address vector index of the peer behind `channel`.
    fn address_of(&self, channel: VcId) -> u64;

    /// The address at `index` has been removed.
    fn forget(&self, index: u64) -> Outcome<()>;

    /// There is a peer at `address`.
    fn meet(&self, address: &Address);

    /// Lets peers access registered memory.
    fn expose(&self, registration: Registration) -> Outcome<()>;

    /// Ends that: afterwards the memory under `key` is not touched any more.
    fn withdraw(&self, key: u64);
}
