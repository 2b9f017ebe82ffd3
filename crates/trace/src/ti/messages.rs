//! What a message is to both of its ranks, where time-independent traces have only a tag: its communicator, and whether its
//! sender waits until it is received.
//!
//! They have no synchronous sends. A receiver of one says that it is ready, by an empty message, when it posts the receive,
//! and the sender waits for that: so neither waits for more than in MPI.

use std::collections::{BTreeMap, BTreeSet};

use crate::operation::{Mode, Operation, Receive, Send};
use crate::read::{RankTrace, Trace};

/// Messages that match in the order in which they are posted: context, sender, receiver, tag.
type Stream = (u64, u32, u32, i32);

/// The messages of all ranks.
#[derive(Default)]
pub struct Messages {
    /// Places in their streams of those that are sent synchronously.
    synchronous: BTreeMap<Stream, BTreeSet<usize>>,
    /// New tags, by context, tag, and whether it is that of a ready receiver; none: tags are as they were.
    tags: BTreeMap<(u64, i32, bool), i32>,
}

/// Those of one rank, in order.
pub struct OfRank<'a> {
    all: &'a Messages,
    rank: u32,
    contexts: BTreeMap<u32, u64>,
    received: BTreeMap<Stream, usize>,
}

/// How a message is written.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Its tag.
    pub tag: i32,
    /// The tag by which its receiver says that it is ready, if the sender is to wait for that.
    pub ready: Option<i32>,
}

impl Messages {
    /// Those of a trace.
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

    /// Looks at what a rank sends.
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

    /// Those of one rank.
    pub fn of_rank(&self, rank: u32) -> OfRank<'_> {
        OfRank { all: self, rank, contexts: BTreeMap::new(), received: BTreeMap::new() }
    }

    fn tag(&self, context: u64, tag: i32, is_ready: bool) -> i32 {
        self.tags.get(&(context, tag, is_ready)).copied().unwrap_or(tag)
    }
}

impl OfRank<'_> {
    /// A communicator has this number from here on.
    pub fn define(&mut self, number: u32, context: u64) {
        self.contexts.insert(number, context);
    }

    /// A message that the rank sends.
    pub fn sent(&self, send: &Send) -> Words {
        let context = self.context(send.communicator);
        self.words(context, send.tag, send.mode == Mode::Synchronous)
    }

    /// The next message that the rank receives; nothing if it is not known from whom.
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

/// The place of the next message of a stream.
fn next(places: &mut BTreeMap<Stream, usize>, stream: Stream) -> usize {
    let next = places.entry(stream).or_default();
    *next += 1;
    *next - 1
}
