//! Barriers.

use super::Group;
use crate::mpi::program::Mpi;

/// Dissemination: after step k each rank has heard from 2^(k+1).
pub async fn barrier(mpi: &Mpi, group: &Group, tag: u32) {
    let (me, len) = (group.me(mpi), group.len());
    let mut distance = 1;
    while distance < len {
        mpi.sendrecv(group.rank(me + distance), 0, group.rank(me + len - distance), 0, tag).await;
        distance <<= 1;
    }
}
