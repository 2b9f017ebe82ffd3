//! Operations whose parts have lengths of their own, as MPI libraries do them: lengths are by position.

use super::Group;
use crate::mpi::program::{Mpi, Tag};

/// To each what it adds for it, pair by pair (MPICH's reduce-scatter of long, commutative operands).
pub async fn reduce_scatter(mpi: &Mpi, group: &Group, lens: &[u64], tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    for step in 1..len {
        let (to, from) = ((me + step) % len, (me + len - step) % len);
        mpi.sendrecv(group.rank(to), lens[to as usize], group.rank(from), lens[me as usize], tag).await;
    }
}

/// Each part goes around.
pub async fn allgather(mpi: &Mpi, group: &Group, lens: &[u64], tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    let of = |position: u32| lens[(position % len) as usize];
    for step in 0..len - 1 {
        let (sent, received) = (of(me + len - step), of(me + 2 * len - step - 1));
        mpi.sendrecv(group.rank(me + 1), sent, group.rank(me + len - 1), received, tag).await;
    }
}

/// Each position sends its part to position 0, which knows all lengths; the others know only their own.
pub async fn gather(mpi: &Mpi, group: &Group, mine: u64, lens: Option<&[u64]>, tag: Tag) {
    let Some(lens) = lens else { return mpi.send(group.rank(0), tag, mine).await };
    let mut requests = Vec::new();
    for position in 1..group.len() {
        requests.push(mpi.irecv(group.rank(position), tag, lens[position as usize]).await);
    }
    mpi.wait_all(&requests).await;
}

/// Each position receives its part from position 0, which knows all lengths; the others know only their own.
pub async fn scatter(mpi: &Mpi, group: &Group, mine: u64, lens: Option<&[u64]>, tag: Tag) {
    let Some(lens) = lens else { return mpi.recv(group.rank(0), tag, mine).await };
    let mut requests = Vec::new();
    for position in 1..group.len() {
        requests.push(mpi.isend(group.rank(position), tag, lens[position as usize]).await);
    }
    mpi.wait_all(&requests).await;
}

/// Each sends to each: what this rank sends, and what it gets. The libraries send to themselves first, and copy at once.
pub async fn alltoall(mpi: &Mpi, group: &Group, sent: &[u64], received: &[u64], tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    mpi.copy_own_part(sent[me as usize]).await;
    let mut requests = Vec::new();
    for step in 1..len {
        let from = (me + step) % len;
        requests.push(mpi.irecv(group.rank(from), tag, received[from as usize]).await);
    }
    for step in 1..len {
        let to = (me + step) % len;
        requests.push(mpi.isend(group.rank(to), tag, sent[to as usize]).await);
    }
    mpi.wait_all(&requests).await;
}
