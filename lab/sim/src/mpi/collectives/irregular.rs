//! Operations whose parts have lengths of their own, as MPI libraries do them: lengths are by position.

use super::{Group, around};
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
    around(mpi, group, |position| lens[position as usize], tag).await;
}

/// Each position sends its part to position 0, which knows all lengths; the others know only their own.
pub async fn gather(mpi: &Mpi, group: &Group, mine: u64, lens: Option<&[u64]>, tag: Tag) {
    let Some(lens) = lens else { return mpi.send(group.rank(0), tag, mine).await };
    mpi.exchange(group.after(0).map(|from| (group.rank(from), tag, lens[from as usize])), []).await;
}

/// Each position receives its part from position 0, which knows all lengths; the others know only their own.
pub async fn scatter(mpi: &Mpi, group: &Group, mine: u64, lens: Option<&[u64]>, tag: Tag) {
    let Some(lens) = lens else { return mpi.recv(group.rank(0), tag, mine).await };
    mpi.exchange([], group.after(0).map(|to| (group.rank(to), tag, lens[to as usize]))).await;
}

/// Each sends to each: what this rank sends, and what it gets. The libraries send to themselves first, and copy at once.
pub async fn alltoall(mpi: &Mpi, group: &Group, sent: &[u64], received: &[u64], tag: Tag) {
    let me = group.me(mpi);
    mpi.copy_own_part(sent[me as usize]).await;
    let receives = group.after(me).map(|from| (group.rank(from), tag, received[from as usize]));
    let sends = group.after(me).map(|to| (group.rank(to), tag, sent[to as usize]));
    mpi.exchange(receives, sends).await;
}
