//! Bytes by sender and receiver.

use maud::{Markup, html};
use serde::Serialize;

use super::arrays::{Arrays, Place};
use crate::output::text;
use crate::profile::schema::World;

/// Most rows: more ranks are put together.
const MAX_ROWS: usize = 512;
/// Pairs that have a row in the table.
const PAIRS: usize = 10;

/// Data for the page's script.
#[derive(Debug, Serialize)]
pub struct Matrix {
    /// Number of rows and columns.
    rows: usize,
    /// Ranks in a row.
    ranks_each: usize,
    bytes: Place,
    messages: Place,
}

/// Puts the matrix into `arrays`. `None` if there are no messages between two ranks.
pub fn of(world: &World, arrays: &mut Arrays) -> Option<Matrix> {
    let ranks_each = world.size.div_ceil(MAX_ROWS).max(1);
    let rows = world.size.div_ceil(ranks_each);
    let (mut bytes, mut messages) = (vec![0.0; rows * rows], vec![0.0; rows * rows]);
    for (from, to, sent, sent_bytes) in pairs(world) {
        let at = from / ranks_each * rows + to / ranks_each;
        messages[at] += sent as f64;
        bytes[at] += sent_bytes as f64;
    }
    let any = messages.iter().any(|count| *count > 0.0);
    any.then(|| {
        let bytes = arrays.amounts(bytes.into_iter());
        Matrix { rows, ranks_each, bytes, messages: arrays.amounts(messages.into_iter()) }
    })
}

/// Sender, receiver, messages, bytes. Messages recorded only by the receiver count too.
fn pairs(world: &World) -> Vec<(usize, usize, u64, u64)> {
    let recorded: Vec<usize> = world.ranks.iter().map(|rank| rank.rank).collect();
    let mut pairs = Vec::new();
    for rank in &world.ranks {
        for peer in rank.peers.iter().filter(|peer| peer.rank < world.size) {
            let traffic = &peer.traffic;
            if traffic.sent > 0 {
                pairs.push((rank.rank, peer.rank, traffic.sent, traffic.sent_bytes));
            }
            if traffic.received > 0 && recorded.binary_search(&peer.rank).is_err() {
                pairs.push((peer.rank, rank.rank, traffic.received, traffic.received_bytes));
            }
        }
    }
    pairs
}

/// The element in which the script draws it, and the pairs with most bytes.
pub fn markup(world: &World, number: usize) -> Markup {
    let mut pairs = pairs(world);
    pairs.sort_by_key(|(.., bytes)| std::cmp::Reverse(*bytes));
    html! {
        section .matrix data-world=(number) {
            h2 { "Messages between ranks" }
            p .note { "Messages from one rank to another, without collective operations. A row is a sender, a column a receiver; the scale is logarithmic." }
            @if pairs.is_empty() {
                p { "There were no such messages." }
            } @else {
                div .grid2 {
                    figure { figcaption { label { "show " select data-select="matrix" { option value="bytes" { "bytes" } option value="messages" { "messages" } } } span .scale { "none, least " i {} " most" } } canvas data-panel="matrix" {} }
                    figure { div .scroll { table {
                        thead { tr { th { "from" } th { "to" } th .number { "messages" } th .number { "bytes" } } }
                        tbody { @for (from, to, messages, bytes) in pairs.iter().take(PAIRS) {
                            tr { td { "rank " (from) } td { "rank " (to) } td .number { (text::thousands(*messages)) } td .number { (text::bytes(*bytes)) } }
                        } }
                    } } }
                }
            }
        }
    }
}
