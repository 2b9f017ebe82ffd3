//! Invariant 1: every operation completes exactly once, with success or an error that has a reason.

use fishplate_engine::{Completion, Failure, Operation};

use super::{Observation, Scene, must};
use crate::transport::ids::HostId;
use crate::transport::ledger::{Access, Command, Ledger, Peek, Receive, Send, Target, is_loss, peer};

pub fn observe(observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
    match observation {
        Observation::Completed(host, completion) => completed(host, completion, scene.ledger),
        Observation::Finished => finished(scene.ledger),
        _ => Ok(()),
    }
}

fn completed(host: HostId, completion: &Completion, ledger: &Ledger) -> Result<(), String> {
    let context = completion.context.0;
    if completion.operation == Operation::RemoteWrite {
        return notified(host, completion, ledger);
    }
    let command = ledger.get(completion.context).ok_or_else(|| format!("operation {context} was never posted"))?;
    match command {
        Command::Send(send) => sent(host, send, completion, ledger),
        Command::Receive(receive) => received(host, receive, completion, ledger),
        Command::Peek(peek) => peeked(host, peek, completion),
        Command::Access(access) => accessed(host, access, completion, ledger),
        // They have an oracle of their own.
        Command::Count(_) => Ok(()),
    }
}

fn sent(host: HostId, send: &Send, completion: &Completion, ledger: &Ledger) -> Result<(), String> {
    let context = completion.context.0;
    must(host == send.from && completion.operation == Operation::Send, || format!("send {context} ends as no send"))?;
    must(send.notify || completion.result.is_err(), || format!("the completion of send {context} was not requested"))?;
    must(!send.ended || !send.notify, || format!("send {context} ends twice"))?;
    let excused = is_loss(&completion.result) && ledger.may_lose_each_other(send.from, send.to);
    must(completion.result.is_ok() || excused, || format!("send {context} fails: {:?}", completion.result))
}

fn received(host: HostId, receive: &Receive, completion: &Completion, ledger: &Ledger) -> Result<(), String> {
    let context = completion.context.0;
    let right = host == receive.host && completion.operation == Operation::Recv;
    must(right, || format!("receive {context} ends as no receive"))?;
    must(!receive.ended, || format!("receive {context} ends twice"))?;
    let from = completion.source.or(receive.pattern.source).map(peer);
    let lost = from.is_some_and(|from| ledger.may_lose_each_other(host, from));
    let excused = match &completion.result {
        Ok(()) | Err(Failure::Truncated { .. }) => true,
        Err(Failure::Cancelled) => receive.cancelled,
        Err(Failure::PeerLost(_)) => lost,
        Err(_) => false,
    };
    must(excused, || format!("receive {context} fails: {:?}", completion.result))?;
    let sound = completion.source.is_some_and(|vc| ledger.is_sound(host, peer(vc)));
    let Some(message) = completion.data.filter(|_| sound).and_then(|id| ledger.send(id)) else { return Ok(()) };
    let free = message.taken.is_none() || message.claimed;
    must(free, || format!("message {:?} is received twice, by {context} now", completion.data))
}

fn peeked(host: HostId, peek: &Peek, completion: &Completion) -> Result<(), String> {
    let context = completion.context.0;
    must(host == peek.host, || format!("peek {context} ends elsewhere"))?;
    if completion.operation == Operation::Recv {
        // The end of a claim that was dropped.
        return must(peek.ended, || format!("claim {context} ends before its peek"));
    }
    must(!peek.ended, || format!("peek {context} ends twice"))?;
    let nothing = completion.result == Err(Failure::NoMessage);
    must(nothing || completion.result.is_ok(), || format!("peek {context} fails: {:?}", completion.result))
}

fn accessed(host: HostId, access: &Access, completion: &Completion, ledger: &Ledger) -> Result<(), String> {
    let context = completion.context.0;
    let expected = if access.is_write { Operation::Write } else { Operation::Read };
    must(host == access.from && completion.operation == expected, || format!("access {context} ends as another"))?;
    must(access.notify || completion.result.is_err(), || {
        format!("the completion of access {context} was not requested")
    })?;
    must(!access.ended || !access.notify, || format!("access {context} ends twice"))?;
    let sound = ledger.is_sound(access.from, access.to);
    let excused = match &completion.result {
        Ok(()) => access.wrong.is_none() || !sound,
        Err(Failure::Refused(why)) => {
            let ended = matches!(access.target, Target::Ended(_)) && *why == fishplate_engine::Refusal::Key;
            access.wrong == Some(*why) || ended || !sound
        }
        Err(Failure::PeerLost(_)) => ledger.may_lose_each_other(access.from, access.to),
        Err(_) => false,
    };
    must(excused, || format!("access {context} ends with {:?}", completion.result))
}

fn notified(host: HostId, completion: &Completion, ledger: &Ledger) -> Result<(), String> {
    if completion.source.is_some_and(|vc| !ledger.is_sound(host, peer(vc))) {
        return Ok(());
    }
    let access = completion.data.and_then(|id| ledger.access(id));
    let right = access.is_some_and(|access| access.with_data && !access.reported && access.to == host);
    must(right, || format!("{host} hears of write {:?}, or again", completion.data))
}

fn finished(ledger: &Ledger) -> Result<(), String> {
    for (context, command) in ledger.all() {
        let (host, ended) = match command {
            Command::Send(send) => (send.from, send.ended),
            Command::Receive(receive) => (receive.host, receive.ended),
            Command::Peek(peek) => (peek.host, peek.ended),
            Command::Count(count) => (count.from, count.ended),
            Command::Access(access) => {
                let whole = access.succeeded && access.with_data && ledger.is_sound(access.from, access.to);
                let reported = access.reported || !whole || ledger.may_lose_each_other(access.from, access.to);
                must(reported, || format!("{} is never notified of write {}", access.to, context.0))?;
                // One that keeps to no protocol may take what it has to refuse.
                let is_refused = access.notify || ledger.is_sound(access.from, access.to);
                (access.from, access.ended || !is_refused)
            }
        };
        must(ended || ledger.hostile_hosts.contains(&host) || ledger.closed.contains(&host), || {
            format!("operation {} never ends: {command:?}", context.0)
        })?;
    }
    Ok(())
}
