//! Invariant 2: messages of one sender match in the order posted, whatever the rails do.

use std::collections::BTreeMap;

use fishplate_engine::{Completion, Context, Envelope, Operation, Pattern};

use super::{Observation, Scene, must};
use crate::transport::ids::HostId;
use crate::transport::ledger::{Command, Ledger, Send, accepts, is_loss, peer};

#[derive(Default)]
pub struct Order {
    /// By receiver and sender: the last untagged message that was reported of a multi-receive buffer.
    reported: BTreeMap<(HostId, HostId), u64>,
}

impl Order {
    pub fn observe(&mut self, observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
        match observation {
            Observation::Completed(host, completion) if completion.operation == Operation::Recv => {
                self.received(host, completion, scene.ledger)
            }
            Observation::Settled => settled(scene.ledger),
            _ => Ok(()),
        }
    }

    fn received(&mut self, host: HostId, completion: &Completion, ledger: &Ledger) -> Result<(), String> {
        let Some(Command::Receive(receive)) = ledger.get(completion.context) else { return Ok(()) };
        let Some((id, message)) = completion.data.and_then(|id| Some((id, ledger.send(id)?))) else { return Ok(()) };
        if !ledger.is_sound_source(host, completion) {
            return Ok(());
        }
        let from = completion.source.map(peer);
        let right = from == Some(message.from) && host == message.to && completion.envelope == message.envelope;
        must(right, || format!("message {id} arrives as another"))?;
        let accepted = accepts(&receive.pattern, message.from, message.envelope);
        must(accepted, || format!("receive {} takes message {id}, which it must not", completion.context.0))?;
        if receive.multi && !is_loss(&completion.result) && message.envelope == Envelope::Message {
            let before = self.reported.insert((host, message.from), id);
            must(before < Some(id), || format!("message {id} is reported of its buffer after {before:?}"))?;
        }
        Ok(())
    }
}

/// Of two messages of one sender that a receive accepts, it or an earlier one has taken the earlier message.
fn settled(ledger: &Ledger) -> Result<(), String> {
    let mut pairs: BTreeMap<(HostId, HostId), Vec<(Context, &Send)>> = BTreeMap::new();
    for (context, send) in ledger.sends() {
        let is_whole = ledger.is_sound(send.from, send.to) && !ledger.may_lose_each_other(send.from, send.to);
        if is_whole {
            pairs.entry((send.from, send.to)).or_default().push((context, send));
        }
    }
    for messages in pairs.values() {
        for (at, (later_id, later)) in messages.iter().enumerate() {
            let Some(taken) = later.taken else { continue };
            let Some(pattern) = pattern(ledger, taken) else { continue };
            for (id, earlier) in &messages[..at] {
                let overtaken = earlier.taken.is_none_or(|earlier| earlier > taken);
                let passed = overtaken && accepts(pattern, earlier.from, earlier.envelope);
                must(!passed, || format!("message {} overtakes {} at {}", later_id.0, id.0, taken.0))?;
            }
        }
    }
    Ok(())
}

fn pattern(ledger: &Ledger, taker: Context) -> Option<&Pattern> {
    match ledger.get(taker)? {
        Command::Receive(receive) => Some(&receive.pattern),
        Command::Peek(peek) => Some(&peek.pattern),
        Command::Send(_) | Command::Access(_) | Command::Count(_) => None,
    }
}
