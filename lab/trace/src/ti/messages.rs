//! Tags of messages. In time-independent traces the tag is all that sender and receiver agree on: it also encodes the
//! communicator, and whether the send is synchronous.
//!
//! Time-independent traces have no synchronous sends. A synchronous send is written as follows: the receiver sends an empty
//! message when it posts the receive, and the sender waits for this message. So neither side waits longer than in MPI.

use std::collections::{BTreeMap, BTreeSet};

use crate::operation::{Mode, Operation, Receive, Send};
use crate::read::{RankTrace, Trace};

/// Key of messages that match in order: context, sender, receiver, tag.
type Stream = (u64, u32, u32, i32);

/// The messages of all ranks.
#[derive(Default)]
pub struct Messages {
    /// Indexes of the synchronous sends within each stream.
    synchronous: BTreeMap<Stream, BTreeSet<usize>>,
    /// New tags, by context, original tag, and whether the message is the empty one of a ready receiver. Empty map: tags are
    /// unchanged.
    tags: BTreeMap<(u64, i32, bool), i32>,
}

/// The messages of one rank, in order.
pub struct OfRank<'a> {
    all: &'a Messages,
    rank: u32,
    contexts: BTreeMap<u32, u64>,
    received: BTreeMap<Stream, usize>,
}

/// Tags with which a message is written.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Tag of the message.
    pub tag: i32,
    /// For a synchronous send: tag of the receiver's empty message, for which the sender waits.
    pub ready: Option<i32>,
}

impl Messages {
    /// The messages of a trace.
    pub fn of(trace: &Trace) -> Messages {
        let mut messages = Messages::default();
        let mut used = BTreeSet::new();
        for rank in &trace.ranks {
            messages.look(rank, &mut used);
        }
        let contexts: BTreeSet<u64> = used.iter().map(|(context, ..)| *context).collect();
        if contexts.len() > 1 || !messages.synchronous.is_empty() {
            messages.tags = used.into_iter().zip(0..).collect();
        }
        messages
    }

    /// Collects the sends of a rank.
    fn look(&mut self, rank: &RankTrace, used: &mut BTreeSet<(u64, i32, bool)>) {
        let (mut contexts, mut sent) = (BTreeMap::new(), BTreeMap::new());
        for step in &rank.steps {
            let send = match &rank.operations[step.operation as usize] {
                Operation::Communicator { number, context, .. } => {
                    contexts.insert(*number, *context);
                    continue;
                }
                Operation::Send(send) | Operation::Exchange(send, _) => send,
                _ => continue,
            };
            let context = contexts.get(&send.communicator).copied().unwrap_or(0);
            let stream = (context, rank.header.rank, send.to, send.tag);
            let place = next(&mut sent, stream);
            used.insert((context, send.tag, false));
            if send.mode == Mode::Synchronous {
                self.synchronous.entry(stream).or_default().insert(place);
                used.insert((context, send.tag, true));
            }
        }
    }

    /// The messages of one rank.
    pub fn of_rank(&self, rank: u32) -> OfRank<'_> {
        OfRank { all: self, rank, contexts: BTreeMap::new(), received: BTreeMap::new() }
    }

    fn tag(&self, context: u64, tag: i32, is_ready: bool) -> i32 {
        self.tags.get(&(context, tag, is_ready)).copied().unwrap_or(tag)
    }
}

impl OfRank<'_> {
    /// Defines the communicator of a number, from here on.
    pub fn define(&mut self, number: u32, context: u64) {
        self.contexts.insert(number, context);
    }

    /// Tags of a message that the rank sends.
    pub fn sent(&self, send: &Send) -> Words {
        let context = self.context(send.communicator);
        self.words(context, send.tag, send.mode == Mode::Synchronous)
    }

    /// Tags of the next message that the rank receives; `None` if its source is unknown.
    pub fn received(&mut self, receive: &Receive) -> Option<(u32, Words)> {
        let (from, tag) = (receive.from?, receive.tag?);
        let stream = (self.context(receive.communicator), from, self.rank, tag);
        let place = next(&mut self.received, stream);
        let is_synchronous = self.all.synchronous.get(&stream).is_some_and(|places| places.contains(&place));
        Some((from, self.words(stream.0, tag, is_synchronous)))
    }

    fn words(&self, context: u64, tag: i32, is_synchronous: bool) -> Words {
        let ready = is_synchronous.then(|| self.all.tag(context, tag, true));
        Words { tag: self.all.tag(context, tag, false), ready }
    }

    fn context(&self, communicator: u32) -> u64 {
        self.contexts.get(&communicator).copied().unwrap_or(0)
    }
}

/// Index of the next message of a stream.
fn next(places: &mut BTreeMap<Stream, usize>, stream: Stream) -> usize {
    let next = places.entry(stream).or_default();
    *next += 1;
    *next - 1
}
