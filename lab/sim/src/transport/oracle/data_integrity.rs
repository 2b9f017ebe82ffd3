//! Invariant 3: each byte of a message is written to its place exactly as sent, and never after the receive has
//! completed.

use fishplate_engine::{Completion, Failure, Operation};

use super::{Observation, Scene, must};
use crate::transport::data::Data;
use crate::transport::ids::HostId;
use crate::transport::ledger::{Access, Command, MARGIN, Receive, Send, Target, is_loss};
use crate::transport::memory::InvalidAccess;

pub fn observe(observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
    match observation {
        Observation::InvalidAccess(host, InvalidAccess::Write(extent))
            if !scene.ledger.hostile_hosts.contains(&host) =>
        {
            Err(format!("{host} writes to memory that its user has back: {extent:?}"))
        }
        Observation::Completed(host, completion) => completed(host, completion, scene),
        Observation::Finished => finished(scene),
        _ => Ok(()),
    }
}

fn completed(host: HostId, completion: &Completion, scene: Scene<'_>) -> Result<(), String> {
    let ledger = scene.ledger;
    if completion.operation == Operation::RemoteWrite {
        let Some((id, access)) = completion.data.and_then(|id| Some((id, ledger.access(id)?))) else { return Ok(()) };
        let whole = !ledger.is_sound_source(host, completion) || is_written(id, access, scene);
        return must(whole, || format!("write {id} is reported before it has arrived"));
    }
    match ledger.get(completion.context) {
        Some(Command::Receive(receive)) => {
            let message = completion.data.and_then(|id| Some((id, ledger.send(id)?)));
            let Some((id, message)) = message else { return Ok(()) };
            if !ledger.is_sound_source(host, completion) || is_loss(&completion.result) {
                return Ok(());
            }
            received(id, message, receive, completion, scene)
        }
        Some(Command::Access(access)) if completion.result.is_ok() && ledger.is_sound(access.from, access.to) => {
            let id = completion.context.0;
            let read = || access.local.is_none_or(|local| scene.memories[access.from.0].contents(local).is_payload(id));
            let right = if access.is_write { is_written(id, access, scene) } else { read() };
            must(right, || format!("access {id} of {} bytes is damaged", access.len))
        }
        _ => Ok(()),
    }
}

fn received(
    id: u64,
    message: &Send,
    receive: &Receive,
    completion: &Completion,
    scene: Scene<'_>,
) -> Result<(), String> {
    let offset = completion.placed.filter(|_| receive.multi).map_or(0, |extent| extent.offset);
    let room = receive.len - offset;
    let excess = message.len.saturating_sub(room);
    let expected = if excess > 0 { Err(Failure::Truncated { excess }) } else { Ok(()) };
    let right = (completion.len, &completion.result) == (message.len.min(room), &expected);
    must(right, || format!("message {id} of {} bytes ends as {completion:?}", message.len))?;
    let landed = scene.memories[receive.host.0].contents(receive.region).slice(offset, completion.len);
    must(landed.is_payload(id), || format!("message {id} of {} bytes is damaged", message.len))
}

/// Whether the target's memory is as it must be after the write, also around it.
fn is_written(id: u64, access: &Access, scene: Scene<'_>) -> bool {
    let data: &Data = match &access.target {
        Target::Registered(region) => scene.memories[access.to.0].contents(*region),
        Target::Ended(data) => data,
    };
    let around = [data.slice(0, MARGIN), data.slice(MARGIN + access.len, MARGIN)];
    data.slice(MARGIN, access.len).is_payload(id) && around.iter().all(Data::is_blank)
}

/// Checks that the rest of each lent buffer was not written.
fn finished(scene: Scene<'_>) -> Result<(), String> {
    for (context, access) in scene.ledger.accesses() {
        // A long write that goes out of bounds is refused piece by piece.
        if let (true, None, Target::Ended(data)) = (access.is_write, access.wrong, &access.target)
            && scene.ledger.is_sound(access.from, access.to)
        {
            let around = [data.slice(0, MARGIN), data.slice(MARGIN + access.len, MARGIN)];
            let right = around.iter().all(Data::is_blank);
            must(right, || format!("around the {} bytes of write {} something is written", access.len, context.0))?;
        }
    }
    Ok(())
}
