//! A trace call by call.

use fishplate_trace::{Epoch, Mode, Operation, RankTrace, Receive, Send, Sizes, Step};

/// Most numbers of a list that are shown.
const MAX_SHOWN: usize = 8;

/// A line for each call: computation before it in microseconds (processor time, idle time), and what it does.
pub fn lines(rank: &RankTrace) -> impl Iterator<Item = String> + '_ {
    rank.steps.iter().map(|step| line(rank, step))
}

fn line(rank: &RankTrace, step: &Step) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    let what = describe(&rank.operations[step.operation as usize]);
    format!("{:>6} {:>14.2} {:>12.2}  {what}", rank.header.rank, us(step.processor_ns), us(step.idle_ns))
}

/// Describes the operation of a call.
pub fn describe(operation: &Operation) -> String {
    match operation {
        Operation::Communicator { number, members, .. } => {
            format!("communicator {number} is {}", list(members.iter().map(|rank| i64::from(*rank as i32))))
        }
        Operation::Send(one) => send(one),
        Operation::Receive(one) => receive(one),
        Operation::Exchange(one, other) => format!("{} and {}", send(one), receive(other)),
        Operation::Wait(completed) => {
            format!("wait for requests {}", list(completed.iter().map(|one| i64::from(one.request))))
        }
        Operation::Collective(one) => {
            let root = one.root.map_or(String::new(), |root| format!(", root {root}"));
            let (sent, received) = (sizes(&one.sent), sizes(&one.received));
            let request = request(one.request);
            let kind = format!("{:?}", one.kind).to_lowercase();
            format!("{kind} on {}{root}: sends {sent}, receives {received}{request}", one.communicator)
        }
        Operation::OneSided { window, target, written, read, request: slot } => {
            format!("window {window} of rank {target}: writes {written} B, reads {read} B{}", request(*slot))
        }
        Operation::Epoch { window, kind } => match kind {
            Epoch::Fence => format!("fence of window {window}"),
            Epoch::Flush(None) => format!("flush of window {window}"),
            Epoch::Flush(Some(target)) => format!("flush of window {window} at rank {target}"),
        },
        Operation::Thread { number, .. } => format!("thread {number}"),
        Operation::Flush => "wait for buffered sends".into(),
        Operation::FlushCommunicator { communicator } => format!("wait for buffered sends on {communicator}"),
        Operation::End => "end".into(),
    }
}

fn send(send: &Send) -> String {
    let how = match send.mode {
        Mode::Standard => "send",
        Mode::Buffered => "buffered send",
        Mode::Synchronous => "synchronous send",
    };
    let Send { communicator, to, tag, bytes, .. } = send;
    format!("{how} of {bytes} B to {to} on {communicator}, tag {tag}{}{}", gaps(send.has_gaps), request(send.request))
}

fn receive(receive: &Receive) -> String {
    let or_any = |number: Option<i64>| number.map_or("any".into(), |number| number.to_string());
    let (from, tag) = (or_any(receive.from.map(i64::from)), or_any(receive.tag.map(i64::from)));
    let (bytes, on) = (receive.bytes, receive.communicator);
    let (gaps, request) = (gaps(receive.has_gaps), request(receive.request));
    format!("receive of {bytes} B from {from} on {on}, tag {tag}{gaps}{request}")
}

fn gaps(has_gaps: bool) -> &'static str {
    if has_gaps { ", with gaps" } else { "" }
}

fn request(slot: Option<u32>) -> String {
    slot.map_or(String::new(), |slot| format!(", request {slot}"))
}

fn sizes(sizes: &Sizes) -> String {
    match sizes {
        Sizes::Each(bytes) => format!("{bytes} B"),
        Sizes::Of(bytes) => format!("{} B", list(bytes.iter().map(|bytes| *bytes as i64))),
    }
}

fn list(numbers: impl ExactSizeIterator<Item = i64>) -> String {
    let count = numbers.len();
    let shown: Vec<String> = numbers.take(MAX_SHOWN).map(|number| number.to_string()).collect();
    let more = if count > MAX_SHOWN { format!(", ... ({count})") } else { String::new() };
    format!("[{}{more}]", shown.join(", "))
}
