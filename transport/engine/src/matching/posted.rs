//! Receives that wait for a message.

use arrayvec::ArrayVec;

use super::chains::{Chains, List, Long, MAX_SEARCHED, hash};
use super::class::Class;
use super::receive::{MatchedReceive, Posted};
use crate::envelope::Envelope;
use crate::generational_slab::{GenerationalSlab, Key};
use crate::ids::{Context, VcId};
use crate::request::RecvRequest;

/// Classes of receives with a hash of their own, in one matching space. MPI libraries use four: messages of one sender and of
/// any, one tag and any. Receives of further classes share one hash.
const MAX_CLASSES: usize = 8;

/// The receives of one matching space that wait for messages, by slot.
#[derive(Default)]
struct Waiting {
    in_order: List,
    /// Has all receives if `is_indexed`, and none otherwise.
    index: Index,
    is_indexed: bool,
}

/// Receives, each by its hash in its class.
#[derive(Default)]
struct Index {
    chains: Chains,
    classes: ArrayVec<ClassInUse, MAX_CLASSES>,
}

struct ClassInUse {
    class: Class,
    receives: u32,
}

impl Index {
    #[inline(never)]
    fn push(&mut self, slot: u32, posted: &mut Posted) {
        let pattern = &posted.request.pattern;
        let wanted = Class::of(pattern);
        let known = self.classes.iter().position(|known| known.class == wanted);
        let at = known.unwrap_or_else(|| self.add_class(wanted));
        let ClassInUse { class, receives } = &mut self.classes[at];
        *receives += 1;
        self.chains.push(slot, class.hash_of(pattern));
        posted.class = at as u8;
    }

    /// Adds a class and returns its position; that of [`Class::ANY`] if there is no room.
    fn add_class(&mut self, class: Class) -> usize {
        let unused = self.classes.iter().position(|known| known.receives == 0);
        let at = unused.unwrap_or(self.classes.len()).min(MAX_CLASSES - 1);
        let class = if at == MAX_CLASSES - 1 { Class::ANY } else { class };
        match self.classes.get_mut(at) {
            Some(known) => known.class = class,
            None => self.classes.push(ClassInUse { class, receives: 0 }),
        }
        at
    }

    #[inline(never)]
    fn remove(&mut self, slot: u32, posted: &Posted) {
        self.classes[usize::from(posted.class)].receives -= 1;
        self.chains.remove(slot);
    }

    /// The oldest receive that accepts the message.
    #[inline(never)]
    fn find(&self, table: &GenerationalSlab<Posted>, source: VcId, envelope: Envelope) -> Option<u32> {
        let accepts = |slot: u32| accepts(table, slot, source, envelope);
        let in_use = self.classes.iter().filter(|known| known.receives > 0);
        let found = in_use.filter_map(|known| self.chains.find(known.class.hash(source, envelope.tag()), accepts));
        found.min_by_key(|slot| table.at(*slot).map(|(_, posted)| posted.number))
    }
}

#[inline]
fn accepts(table: &GenerationalSlab<Posted>, slot: u32, source: VcId, envelope: Envelope) -> bool {
    table.at(slot).is_some_and(|(_, posted)| posted.request.pattern.accepts(source, envelope))
}

impl Waiting {
    #[inline]
    fn push(&mut self, slot: u32, table: &mut GenerationalSlab<Posted>) {
        self.in_order.push(slot);
        if self.is_indexed {
            table.at_mut(slot).into_iter().for_each(|posted| self.index.push(slot, posted));
        }
    }

    #[inline]
    fn remove(&mut self, slot: u32, table: &GenerationalSlab<Posted>) {
        self.in_order.remove(slot);
        if self.is_indexed {
            table.at(slot).into_iter().for_each(|(_, posted)| self.index.remove(slot, posted));
            self.is_indexed = !self.in_order.is_empty();
        }
    }

    /// The slot of the oldest receive that accepts the message.
    #[inline]
    fn find(&mut self, table: &mut GenerationalSlab<Posted>, source: VcId, envelope: Envelope) -> Option<u32> {
        if !self.is_indexed {
            match self.in_order.search(|slot| accepts(table, slot, source, envelope)) {
                Ok(found) => return found,
                Err(Long) => self.add_all(table),
            }
        }
        self.index.find(table, source, envelope)
    }

    #[cold]
    fn add_all(&mut self, table: &mut GenerationalSlab<Posted>) {
        self.is_indexed = true;
        for slot in self.in_order.iter() {
            table.at_mut(slot).into_iter().for_each(|posted| self.index.push(slot, posted));
        }
    }
}

/// All posted receives.
#[derive(Default)]
pub struct PostedQueue {
    table: GenerationalSlab<Posted>,
    tagged: Waiting,
    untagged: Waiting,
    /// Number of receives posted so far.
    posted: u64,
    /// Index by context of the receives that take messages. Made when one of many receives is cancelled, and kept until none are
    /// left.
    by_context: Option<Chains>,
}

impl PostedQueue {
    /// Whether any tagged receive waits for a message.
    pub fn has_tagged(&self) -> bool {
        !self.tagged.in_order.is_empty()
    }

    /// Adds a receive behind all others.
    #[inline]
    pub fn post(&mut self, request: RecvRequest) {
        let (envelope, context) = (request.pattern.envelope(), request.context);
        let key = self.open(request);
        self.list(key.slot(), envelope, context);
    }

    /// Adds a multi-receive buffer, and returns its key. It gets messages by [`PostedQueue::take`] only, until
    /// [`PostedQueue::wait`].
    #[inline]
    pub fn open(&mut self, request: RecvRequest) -> Key<Posted> {
        self.posted += 1;
        let number = self.posted;
        self.table.insert(Posted { request, used: 0, in_progress: 0, closed: false, number, class: 0 })
    }

    /// Multi-receive buffer `key`, which was posted last, waits for messages behind all others.
    pub fn wait(&mut self, key: Key<Posted>) {
        let Some(posted) = self.table.get(key) else { return };
        let (envelope, context) = (posted.request.pattern.envelope(), posted.request.context);
        self.list(key.slot(), envelope, context);
    }

    #[inline]
    fn list(&mut self, slot: u32, envelope: Envelope, context: Context) {
        let waiting = match envelope {
            Envelope::Message => &mut self.untagged,
            Envelope::Tagged(_) => &mut self.tagged,
        };
        waiting.push(slot, &mut self.table);
        if self.by_context.is_some() {
            self.list_context(slot, context);
        }
    }

    #[cold]
    fn list_context(&mut self, slot: u32, context: Context) {
        self.by_context.iter_mut().for_each(|by_context| by_context.push(slot, hash(context.0)));
    }

    #[cold]
    fn unlist_context(&mut self, slot: u32) {
        self.by_context.iter_mut().for_each(|by_context| by_context.remove(slot));
        self.by_context.take_if(|by_context| by_context.is_empty());
    }

    /// The oldest receive that accepts the message takes it, unless it is a multi-receive buffer.
    #[inline]
    pub fn take_single(&mut self, source: VcId, envelope: Envelope) -> Option<MatchedReceive> {
        let slot = self.find(source, envelope)?;
        self.take_at(slot, envelope)
    }

    /// The oldest receive that accepts the message takes it.
    pub fn take_match(&mut self, source: VcId, envelope: Envelope, len: u64) -> Option<MatchedReceive> {
        let slot = self.find(source, envelope)?;
        if let Some(taken) = self.take_at(slot, envelope) {
            return Some(taken);
        }
        let (key, _) = self.table.at(slot)?;
        let taken = self.take(key, len)?;
        if !self.is_open(key) {
            self.unlist(slot, envelope);
        }
        Some(taken)
    }

    /// The receive in `slot` takes a message, unless it is a multi-receive buffer.
    #[inline]
    fn take_at(&mut self, slot: u32, envelope: Envelope) -> Option<MatchedReceive> {
        if self.table.at(slot)?.1.is_multi() {
            return None;
        }
        self.remove(slot, envelope).map(MatchedReceive::of)
    }

    /// Multi-receive buffer `key` takes a message.
    pub fn take(&mut self, key: Key<Posted>, len: u64) -> Option<MatchedReceive> {
        let posted = self.table.get_mut(key)?;
        let place = posted.reserve(len);
        let (context, notify) = (posted.request.context, posted.request.notify);
        Some(MatchedReceive { place, context, notify, multi: Some(key) })
    }

    /// Whether receive `key` can take another message.
    pub fn is_open(&self, key: Key<Posted>) -> bool {
        self.table.get(key).is_some_and(|posted| !posted.closed)
    }

    /// A message into multi-receive buffer `key` is complete. True if that was its last.
    pub fn message_done(&mut self, key: Key<Posted>) -> bool {
        let Some(posted) = self.table.get_mut(key) else { return false };
        posted.in_progress -= 1;
        let done = posted.closed && posted.in_progress == 0;
        if done {
            self.table.remove(key);
        }
        done
    }

    /// Removes the receive posted under `context`. `None` if there is none, or if messages are on their way into it: it is then closed
    /// and ends with the last of them.
    pub fn cancel(&mut self, context: Context) -> Option<RecvRequest> {
        let slot = self.find_context(context)?;
        let posted = self.table.at_mut(slot)?;
        let envelope = posted.request.pattern.envelope();
        if posted.in_progress == 0 {
            return self.remove(slot, envelope);
        }
        posted.closed = true;
        self.unlist(slot, envelope);
        None
    }

    /// The slot of a receive posted under `context` that takes messages.
    fn find_context(&mut self, context: Context) -> Option<u32> {
        let is_wanted = |posted: &Posted| posted.request.context == context && !posted.closed;
        if self.by_context.is_none() {
            let mut all = self.table.iter();
            if let Some((key, _)) = all.by_ref().take(MAX_SEARCHED).find(|(_, posted)| is_wanted(posted)) {
                return Some(key.slot());
            }
            all.next()?;
        }
        let by_context = self.by_context.get_or_insert_with(|| {
            let mut by_context = Chains::default();
            for (key, posted) in self.table.iter().filter(|(_, posted)| !posted.closed) {
                by_context.push(key.slot(), hash(posted.request.context.0));
            }
            by_context
        });
        by_context.find(hash(context.0), |slot| self.table.at(slot).is_some_and(|(_, posted)| is_wanted(posted)))
    }

    /// Removes all receives that accept messages of `source` alone.
    pub fn take_directed(&mut self, source: VcId) -> Vec<RecvRequest> {
        let directed = |posted: &Posted| {
            posted.request.pattern.source == Some(source) && posted.in_progress == 0 && !posted.closed
        };
        let keys = self.table.keys_where(directed);
        let take = |key: Key<Posted>| {
            let envelope = self.table.get(key)?.request.pattern.envelope();
            self.remove(key.slot(), envelope)
        };
        keys.into_iter().filter_map(take).collect()
    }

    /// The slot of the oldest receive that accepts the message.
    #[inline]
    fn find(&mut self, source: VcId, envelope: Envelope) -> Option<u32> {
        let waiting = match envelope {
            Envelope::Message => &mut self.untagged,
            Envelope::Tagged(_) => &mut self.tagged,
        };
        waiting.find(&mut self.table, source, envelope)
    }

    /// Removes the receive in `slot`, which must be listed.
    #[inline]
    fn remove(&mut self, slot: u32, envelope: Envelope) -> Option<RecvRequest> {
        self.unlist(slot, envelope);
        self.table.remove_at(slot).map(|posted| posted.request)
    }

    /// The receive in `slot` takes no further message. A multi-receive buffer stays in the table until its messages are complete.
    #[inline]
    fn unlist(&mut self, slot: u32, envelope: Envelope) {
        let waiting = match envelope {
            Envelope::Message => &mut self.untagged,
            Envelope::Tagged(_) => &mut self.tagged,
        };
        waiting.remove(slot, &self.table);
        if self.by_context.is_some() {
            self.unlist_context(slot);
        }
    }
}
