//! Alltoall.

use super::Context;
use super::packing::{Packing, in_a_row};
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, LocalRank, Rank};
use crate::operation::Exchange;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// Each rank sends to every rank of the other clusters; inside, the cluster's own alltoall.
///
/// In round k a rank sends to the one k ranks after it and receives from the one k ranks before it, so no rank receives
/// from all at once. A send waits for a message of an earlier round, the one before the last `window` messages, so
/// there is no deadlock.
pub fn direct(context: &Context, exchange: &Exchange, window: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let outgoing = Outgoing::of(context, &mut schedule, exchange);
    let rounds = rounds(context);
    let mut receive = |from| schedule.receive(from, incoming(context, exchange, from), Tag(0), &outgoing.ready);
    let received: Vec<(usize, StepId)> =
        rounds.clone().filter_map(|round| Some((round.number, receive(round.from?)))).collect();
    for (number, to) in rounds.filter_map(|round| Some((round.number, round.to?))) {
        let earlier = received.partition_point(|(round, _)| *round < number);
        let mut after = outgoing.ready.clone();
        after.extend(received[..earlier.saturating_sub(usize::from(window))].last().map(|(_, step)| *step));
        schedule.send(to, outgoing.blocks[to.0], Tag(0), &after);
    }
    alltoall_inside(context, &mut schedule, exchange, &outgoing);
    schedule
}

/// Partners of a rank in a round, where they are in other clusters.
struct Round {
    number: usize,
    to: Option<Rank>,
    from: Option<Rank>,
}

fn rounds<'a>(context: &'a Context) -> impl Iterator<Item = Round> + Clone + use<'a> {
    let ranks = context.map.ranks();
    let far = move |rank| Some(Rank(rank % ranks)).filter(|rank| context.map.cluster_of(*rank) != context.cluster());
    (1..ranks).map(move |number| Round {
        number,
        to: far(context.rank.0 + number),
        from: far(context.rank.0 + ranks - number),
    })
}

/// The data of a cluster for another cross in one message between their coordinators, which gather and scatter inside.
pub fn coordinators(context: &Context, exchange: &Exchange) -> Schedule {
    let mut schedule = Schedule::default();
    let outgoing = Outgoing::of(context, &mut schedule, exchange);
    for cluster in context.others() {
        collect(context, &mut schedule, exchange, &outgoing, cluster);
    }
    alltoall_inside(context, &mut schedule, exchange, &outgoing);
    for cluster in context.others() {
        distribute(context, &mut schedule, exchange, &outgoing, cluster);
    }
    schedule
}

/// What this rank has for each, and from when on `Receive` may be written and this may be sent.
struct Outgoing {
    blocks: Vec<Slice>,
    ready: Vec<StepId>,
}

impl Outgoing {
    fn of(context: &Context, schedule: &mut Schedule, exchange: &Exchange) -> Outgoing {
        let ranks = (0..context.map.ranks()).map(Rank);
        if !context.in_place {
            let block = |to| Slice::new(Buffer::Send, exchange.send_start(to), exchange.len(context.rank, to));
            return Outgoing { blocks: ranks.map(block).collect(), ready: Vec::new() };
        }
        // In place, what goes to a rank is where that rank's goes, and is as long.
        let places = ranks.map(|to| incoming(context, exchange, to)).collect();
        let saved = Packing::temporary(schedule, places);
        let ready = saved.pack(schedule, &[]);
        Outgoing { blocks: saved.blocks, ready }
    }
}

/// Where the block of a rank goes.
fn incoming(context: &Context, exchange: &Exchange, from: Rank) -> Slice {
    Slice::new(Buffer::Receive, exchange.receive_start(from), exchange.len(from, context.rank))
}

fn alltoall_inside(context: &Context, schedule: &mut Schedule, exchange: &Exchange, outgoing: &Outgoing) {
    let from = context.members().iter().map(|peer| outgoing.blocks[peer.0]).collect();
    let into = context.members().iter().map(|peer| incoming(context, exchange, *peer)).collect();
    schedule.local(Local::Alltoall { from, into }, &outgoing.ready);
}

/// Gathers what this cluster has for another, and sends it.
fn collect(context: &Context, schedule: &mut Schedule, exchange: &Exchange, outgoing: &Outgoing, cluster: Cluster) {
    let peers = context.map.members(cluster);
    let mine = Packing::of(schedule, peers.iter().map(|peer| outgoing.blocks[peer.0]).collect());
    let mut packed = mine.pack(schedule, &outgoing.ready);
    packed.extend(&outgoing.ready);
    let coordinator = context.map.coordinator(context.cluster());
    let mut gather = Local::Gather { root: LocalRank(0), from: mine.whole, blocks: None };
    if context.rank != coordinator {
        schedule.local(gather, &packed);
        return;
    }
    let lens: Vec<usize> = context.members().iter().map(|from| total(exchange, &[*from], peers)).collect();
    let (whole, parts) = in_a_row(schedule, &lens);
    if let Local::Gather { blocks, .. } = &mut gather {
        *blocks = Some(parts);
    }
    let gathered = schedule.local(gather, &packed);
    schedule.send(context.map.coordinator(cluster), whole, Tag(0), &[gathered]);
}

/// Receives what another cluster has for this one, and scatters it.
fn distribute(context: &Context, schedule: &mut Schedule, exchange: &Exchange, outgoing: &Outgoing, cluster: Cluster) {
    let peers = context.map.members(cluster);
    let mine = Packing::of(schedule, peers.iter().map(|peer| incoming(context, exchange, *peer)).collect());
    let (blocks, mut here) = match context.rank == context.map.coordinator(context.cluster()) {
        true => {
            let (blocks, ready) = turned(context, schedule, exchange, cluster);
            (Some(blocks), ready)
        }
        false => (None, Vec::new()),
    };
    here.extend(&outgoing.ready);
    let scattered = schedule.local(Local::Scatter { root: LocalRank(0), blocks, into: mine.whole }, &here);
    mine.unpack(schedule, &[scattered]);
}

/// Receives a cluster's blocks, which come sender by sender, and puts them receiver by receiver.
fn turned(
    context: &Context,
    schedule: &mut Schedule,
    exchange: &Exchange,
    cluster: Cluster,
) -> (Vec<Slice>, Vec<StepId>) {
    let peers = context.map.members(cluster);
    let arrived = schedule.temporary(total(exchange, peers, context.members()));
    let received = schedule.receive(context.map.coordinator(cluster), arrived, Tag(0), &[]);
    let lens: Vec<usize> = context.members().iter().map(|to| total(exchange, peers, &[*to])).collect();
    let (_, blocks) = in_a_row(schedule, &lens);
    let mut ready = vec![received];
    let mut filled = vec![0; blocks.len()];
    let mut start = 0;
    for from in peers {
        for (index, to) in context.members().iter().enumerate() {
            let len = exchange.len(*from, *to);
            let into = blocks[index].part(filled[index], len);
            ready.extend(schedule.copy(arrived.part(start, len), into, &[received]));
            filled[index] += len;
            start += len;
        }
    }
    (blocks, ready)
}

/// Elements from some ranks to others.
fn total(exchange: &Exchange, from: &[Rank], to: &[Rank]) -> usize {
    from.iter().flat_map(|from| to.iter().map(|to| exchange.len(*from, *to))).sum()
}
