//! Barriers.

use fishplate_collectives::{ClusterMap, Rank};

use super::Group;
use crate::mpi::program::{Mpi, Tag};

/// Dissemination: after step k each rank has heard from 2^(k+1).
pub async fn barrier(mpi: &Mpi, group: &Group, tag: Tag) {
    let ranks: Vec<u32> = (0..group.len()).map(|position| group.rank(position)).collect();
    disseminate(mpi, &ranks, group.me(mpi), tag).await;
}

/// As MPICH does it that knows hosts: to the first rank of each host, dissemination among these, and back.
pub async fn barrier_by_host(mpi: &Mpi, map: &ClusterMap, tag: Tag) {
    let host = |rank: u32| {
        let rank = Rank(rank as usize);
        (map.cluster_of(rank), map.host_of(rank))
    };
    let mine: Vec<u32> = (0..mpi.ranks()).filter(|rank| host(*rank) == host(mpi.rank())).collect();
    if mpi.rank() != mine[0] {
        mpi.send(mine[0], tag, 0).await;
        return mpi.recv(mine[0], tag, 0).await;
    }
    for other in &mine[1..] {
        mpi.recv(*other, tag, 0).await;
    }
    let is_first = |rank: &u32| (0..*rank).all(|before| host(before) != host(*rank));
    let leaders: Vec<u32> = (0..mpi.ranks()).filter(is_first).collect();
    let me = leaders.iter().position(|leader| *leader == mpi.rank()).unwrap_or(0);
    disseminate(mpi, &leaders, me as u32, tag).await;
    for other in &mine[1..] {
        mpi.send(*other, tag, 0).await;
    }
}

async fn disseminate(mpi: &Mpi, ranks: &[u32], me: u32, tag: Tag) {
    let len = ranks.len() as u32;
    let at = |position: u32| ranks[(position % len) as usize];
    let mut distance = 1;
    while distance < len {
        mpi.sendrecv(at(me + distance), 0, at(me + len - distance), 0, tag).await;
        distance <<= 1;
    }
}
