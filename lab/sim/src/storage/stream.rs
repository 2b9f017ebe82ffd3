//! Data in the stream of a socket, a flow's length at a time.

use super::layout::cut;
use super::requests::{FileSystem, Message, tag};
use crate::mpi::program::Mpi;
use crate::mpi::rank::Request;

/// Lengths of the messages that carry a head and `bytes`: for each flow's length, one message for each rail.
fn messages(system: &FileSystem, head: u64, bytes: u64) -> Vec<Vec<u64>> {
    let flow = system.storage().flow_bytes.value as u64;
    let count = bytes.div_ceil(flow).max(1);
    let of_flow = |number: u64| {
        let head = if number == 0 { head } else { 0 };
        let length = head + flow.min(bytes - number * flow);
        cut(length, length.div_ceil(system.ways()).max(1)).collect()
    };
    (0..count).map(of_flow).collect()
}

/// Sends a head and `bytes` of a request; `before` is done for each flow's length before it goes.
pub(super) async fn send(
    mpi: &Mpi,
    system: &FileSystem,
    (to, credit): (u32, u32),
    (head, bytes): (u64, u64),
    before: impl AsyncFn(u64),
) {
    let mut requests: Vec<Request> = Vec::new();
    for flow in messages(system, head, bytes) {
        before(flow.iter().sum()).await;
        for message in flow {
            requests.push(mpi.isend(to, tag(credit, Message::Data), message).await);
        }
    }
    mpi.wait_all(&requests).await;
}

/// Receives such messages; `after` is called after each of them.
pub(super) async fn receive(
    mpi: &Mpi,
    system: &FileSystem,
    (from, credit): (u32, u32),
    (head, bytes): (u64, u64),
    after: impl AsyncFn(u64),
) {
    let mut flows: Vec<(Vec<Request>, u64)> = Vec::new();
    for flow in messages(system, head, bytes) {
        let mut requests = Vec::new();
        for message in &flow {
            requests.push(mpi.irecv(from, tag(credit, Message::Data), *message).await);
        }
        flows.push((requests, flow.iter().sum()));
    }
    for (requests, bytes) in flows {
        mpi.wait_all(&requests).await;
        after(bytes).await;
    }
}
