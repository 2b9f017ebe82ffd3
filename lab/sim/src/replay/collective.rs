//! Collective operations as MPI libraries expand them, MPICH in the first place: within hosts and between them where that
//! pays, short vectors by trees, long ones in parts.

use std::rc::Rc;

use fishplate_trace::{Collective, CollectiveKind, Sizes};

use super::communicators::{ByHost, Communicator, Members};
use crate::mpi::collectives::{
    Broadcast, Group, allreduce, alltoall, barrier, broadcast, irregular, rabenseifner, reduce, scan,
};
use crate::mpi::program::{Mpi, Tag, Task};

/// Longer vectors are reduced in parts (MPICH's MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE), in bytes.
const SHORT_REDUCTION: u64 = 2048;
/// Bytes of the messages with which ranks create a communicator.
const MADE: u64 = 8;

/// The operation of one rank.
pub fn task(mpi: &Mpi, communicator: &mut Communicator, operation: &Collective) -> Task {
    let (one, operation) = (One::new(mpi, communicator), operation.clone());
    // Between two groups a rank is in neither of what it knows: how that is done is not modelled, and takes no time.
    if !one.members.group.contains(mpi.rank()) {
        return Box::pin(std::future::ready(()));
    }
    Box::pin(async move { one.carry_out(&operation).await })
}

/// A barrier of the communicator.
pub fn barrier_task(mpi: &Mpi, communicator: &mut Communicator) -> Task {
    let one = One::new(mpi, communicator);
    Box::pin(async move { one.barrier().await })
}

struct One {
    mpi: Mpi,
    members: Rc<Members>,
    tag: Tag,
}

impl One {
    fn new(mpi: &Mpi, communicator: &mut Communicator) -> One {
        One { mpi: mpi.clone(), members: communicator.members().clone(), tag: communicator.next_collective() }
    }

    /// By host, where that matters.
    fn by_host(&self) -> Option<ByHost<'_>> {
        self.members.by_host(self.mpi.rank())
    }

    async fn carry_out(&self, operation: &Collective) {
        let (mpi, tag) = (&self.mpi, self.tag);
        let root = operation.root.unwrap_or(0);
        let rooted = self.members.group.rooted(root);
        let is_root = rooted.me(mpi) == 0;
        let (sent, received) = (&operation.sent, &operation.received);
        match operation.kind {
            CollectiveKind::Barrier => self.barrier().await,
            CollectiveKind::Broadcast => self.broadcast(root, sent.of(0).max(received.of(0))).await,
            CollectiveKind::Reduce => self.reduce(root, sent.of(0)).await,
            CollectiveKind::Allreduce => self.allreduce(sent.of(0)).await,
            CollectiveKind::Make => self.allreduce(MADE).await,
            CollectiveKind::Scan => scan(mpi, &self.members.group, sent.of(0), tag).await,
            CollectiveKind::Gather => {
                let lens = is_root.then(|| self.lens(received, root));
                irregular::gather(mpi, &rooted, sent.of(0), lens.as_deref(), tag).await;
            }
            CollectiveKind::Scatter => {
                let lens = is_root.then(|| self.lens(sent, root));
                irregular::scatter(mpi, &rooted, received.of(0), lens.as_deref(), tag).await;
            }
            CollectiveKind::Allgather => {
                irregular::allgather(mpi, &self.members.group, &self.lens(received, 0), tag).await
            }
            CollectiveKind::ReduceScatter => {
                irregular::reduce_scatter(mpi, &self.members.group, &self.lens(sent, 0), tag).await
            }
            CollectiveKind::Alltoall => match sent {
                Sizes::Each(bytes) => alltoall(mpi, &self.members.group, *bytes, tag).await,
                Sizes::Of(_) => {
                    let (sent, received) = (self.lens(sent, 0), self.lens(received, 0));
                    irregular::alltoall(mpi, &self.members.group, &sent, &received, tag).await;
                }
            },
            CollectiveKind::NeighborAllgather | CollectiveKind::NeighborAlltoall => self.neighbors(operation).await,
        }
    }

    /// Sizes by position, counted from `root` on.
    fn lens(&self, sizes: &Sizes, root: u32) -> Vec<u64> {
        let mut lens: Vec<u64> = (0..self.members.group.len() as usize).map(|rank| sizes.of(rank)).collect();
        lens.rotate_left(root as usize);
        lens
    }

    async fn barrier(&self) {
        let Some(ByHost { local, leaders, .. }) = self.by_host() else {
            return barrier(&self.mpi, &self.members.group, self.tag).await;
        };
        reduce(&self.mpi, local, 0, self.tag).await;
        if local.me(&self.mpi) == 0 {
            barrier(&self.mpi, leaders, self.tag).await;
        }
        broadcast(&self.mpi, local, Broadcast::Binomial, 0, self.tag).await;
    }

    async fn allreduce(&self, bytes: u64) {
        let Some(ByHost { local, leaders, .. }) = self.by_host() else {
            return self.allreduce_among(&self.members.group, bytes).await;
        };
        reduce(&self.mpi, local, bytes, self.tag).await;
        if local.me(&self.mpi) == 0 {
            self.allreduce_among(leaders, bytes).await;
        }
        broadcast(&self.mpi, local, Broadcast::Binomial, bytes, self.tag).await;
    }

    async fn allreduce_among(&self, group: &Group, bytes: u64) {
        if bytes > SHORT_REDUCTION && group.len().is_power_of_two() {
            rabenseifner(&self.mpi, group, bytes, self.tag).await;
        } else {
            allreduce(&self.mpi, group, bytes, self.tag).await;
        }
    }

    async fn broadcast(&self, root: u32, bytes: u64) {
        let Some(by_host) = self.by_host() else {
            return broadcast(&self.mpi, &self.members.group.rooted(root), Broadcast::Mpich, bytes, self.tag).await;
        };
        let (local, leaders) = by_host.rooted(self.members.group.rank(root));
        if local.me(&self.mpi) == 0 {
            broadcast(&self.mpi, &leaders, Broadcast::Mpich, bytes, self.tag).await;
        }
        broadcast(&self.mpi, &local, Broadcast::Binomial, bytes, self.tag).await;
    }

    async fn reduce(&self, root: u32, bytes: u64) {
        reduce(&self.mpi, &self.members.group.rooted(root), bytes, self.tag).await;
    }

    async fn neighbors(&self, operation: &Collective) {
        let Some((sources, destinations)) = &operation.neighbors else { return };
        let with =
            |(at, rank): (usize, &u32), sizes: &Sizes| (*rank != u32::MAX).then(|| (*rank, self.tag, sizes.of(at)));
        let receives = sources.iter().enumerate().filter_map(|source| with(source, &operation.received));
        let sends = destinations.iter().enumerate().filter_map(|destination| with(destination, &operation.sent));
        self.mpi.exchange(receives, sends).await;
    }
}
