//! What users ask for, at random.

use fishplate_engine::{Context, Envelope, INJECT_SIZE, Pattern, PeekAction, Refusal, Space};

use super::commands::{Exposure, Outgoing};
use super::ids::HostId;
use super::ledger::{Command, Target, vc};
use super::world::World;
use crate::events::{Duration, Random};

/// Tags in use: few, so that there is something to match.
const TAGS: u64 = 4;
/// Bits above the tag, which receives may ignore.
const IGNORED: u64 = 0xff00;
/// Where the limit of eager messages is looked for if it is automatic, in bytes.
const USUAL_LIMIT: u64 = 65_536;
/// Any tag.
const ANY_TAG: Space = Space::Tagged { tag: 0, ignore: u64::MAX };

/// How commands are mixed: relative frequencies, and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// All together.
    pub commands: u64,
    /// How often each is drawn: sends,
    pub sends: u64,
    /// receives,
    pub receives: u64,
    /// receives that take several messages,
    pub multi_receives: u64,
    /// looks at what has come,
    pub peeks: u64,
    /// receives of what was claimed by a look,
    pub claims: u64,
    /// cancellations of receives,
    pub cancels: u64,
    /// reads and writes of remote memory,
    pub accesses: u64,
    /// ends of registered memory.
    pub ends: u64,
    /// In a hundred, to the own host.
    pub to_self: u64,
    /// Length of the longest message, in bytes.
    pub longest: u64,
    /// Longest time from one command of a host to its next.
    pub pause: Duration,
}

/// A kind of command.
#[derive(Clone, Copy)]
enum Kind {
    Send,
    Receive,
    MultiReceive,
    Peek,
    Claim,
    Cancel,
    Access,
    End,
}

impl Mix {
    /// Users do nothing.
    pub const NOTHING: Mix = Mix {
        commands: 0,
        sends: 0,
        receives: 0,
        multi_receives: 0,
        peeks: 0,
        claims: 0,
        cancels: 0,
        accesses: 0,
        ends: 0,
        to_self: 0,
        longest: 0,
        pause: Duration::ZERO,
    };

    /// Some mix: each kind may be frequent, rare, or not there at all.
    pub fn draw(random: &mut Random) -> Mix {
        let mut frequency = |usual: u64| usual * random.pick(&[0, 1, 1, 1, 2, 5]);
        let (multi_receives, peeks, claims) = (frequency(3), frequency(5), frequency(4));
        let (cancels, accesses, ends) = (frequency(4), frequency(12), frequency(3));
        let balance = random.pick(&[20, 32, 32, 44]);
        let longest = random.pick(&[300, 20_000, 200_000, 200_000, 5 << 20]);
        Mix {
            commands: if longest > 1 << 20 { random.range(50, 200) } else { random.range(100, 600) },
            sends: 64 - balance,
            receives: balance,
            multi_receives,
            peeks,
            claims,
            cancels,
            accesses,
            ends,
            to_self: random.pick(&[0, 8]),
            longest,
            pause: random.pick(&[Duration::us(2), Duration::us(40), Duration::us(40), Duration::ms(2)]),
        }
    }

    fn kind(&self, random: &mut Random) -> Kind {
        let kinds = [
            (Kind::Send, self.sends),
            (Kind::Receive, self.receives),
            (Kind::MultiReceive, self.multi_receives),
            (Kind::Peek, self.peeks),
            (Kind::Claim, self.claims),
            (Kind::Cancel, self.cancels),
            (Kind::Access, self.accesses),
            (Kind::End, self.ends),
        ];
        let mut dice = random.below(kinds.iter().map(|(_, frequency)| frequency).sum());
        for (kind, frequency) in kinds {
            if dice < frequency {
                return kind;
            }
            dice -= frequency;
        }
        Kind::Send
    }
}

impl World {
    /// The user of `host` does something.
    pub(super) fn command(&mut self, host: HostId) {
        let kind = self.setup.mix.kind(&mut self.random);
        match kind {
            Kind::Send => {
                let outgoing = self.outgoing(host);
                self.send(host, outgoing);
            }
            Kind::Receive => {
                let (pattern, len) = (self.pattern(), self.len());
                // Mostly there is room for anything.
                let len = if self.random.percent(70) { len.max(self.setup.mix.longest) } else { len };
                self.receive(host, pattern, len, None);
            }
            Kind::MultiReceive => {
                let (pattern, len) = (self.pattern(), 1 + self.random.of_any_size(300_000));
                let min_free = self.random.pick(&[0, 1, 1000, 16_384]);
                self.receive(host, pattern, len, Some(min_free));
            }
            Kind::Peek => {
                let pattern = self.pattern();
                let then = self.random.pick(&[PeekAction::Leave, PeekAction::Claim, PeekAction::Discard]);
                self.peek(host, pattern, then);
            }
            Kind::Claim => {
                let discard = self.random.percent(30);
                self.settle_claim(host, discard);
            }
            Kind::Cancel => self.cancel_any(host),
            Kind::Access => self.any_access(host),
            Kind::End => self.end_any_exposure(host),
        }
    }

    fn peer(&mut self, host: HostId) -> HostId {
        if self.random.percent(self.setup.mix.to_self) {
            return host;
        }
        let hosts = self.setup.hosts as u64;
        HostId(((host.0 as u64 + self.random.range(1, hosts)) % hosts) as usize)
    }

    fn tag(&mut self) -> u64 {
        self.random.below(TAGS) | (self.random.below(3) << 8)
    }

    fn outgoing(&mut self, host: HostId) -> Outgoing {
        let to = self.peer(host);
        let envelope = if self.random.percent(30) { Envelope::Message } else { Envelope::Tagged(self.tag()) };
        let inject = self.random.percent(30);
        let len = self.len();
        let len = if inject { len.min(INJECT_SIZE) } else { len };
        Outgoing { to, envelope, len, inject, notify: !inject && self.random.percent(90) }
    }

    fn pattern(&mut self) -> Pattern {
        let space = match self.random.below(10) {
            0..3 => Space::Message,
            3..7 => Space::Tagged { tag: self.tag(), ignore: 0 },
            7..9 => Space::Tagged { tag: self.random.below(TAGS) | 0x7700, ignore: IGNORED },
            _ => ANY_TAG,
        };
        let source = HostId(self.random.index(self.setup.hosts));
        Pattern { space, source: self.random.percent(50).then_some(vc(source)) }
    }

    /// Any size, and now and then just around the limit of eager messages.
    fn len(&mut self) -> u64 {
        let limit = self.setup.config.eager_limit.unwrap_or(USUAL_LIMIT);
        let len = match self.random.below(8) {
            0 => limit.saturating_sub(1) + self.random.below(3),
            1 => self.setup.mix.longest,
            _ => self.random.of_any_size(self.setup.mix.longest),
        };
        len.min(self.setup.mix.longest)
    }

    fn cancel_any(&mut self, host: HostId) {
        let waiting = self.ledger.receives().filter(|(_, receive)| receive.host == host && !receive.ended);
        let waiting: Vec<Context> = waiting.map(|(context, _)| context).collect();
        if !waiting.is_empty() {
            let context = self.random.pick(&waiting);
            self.cancel(host, context);
        }
    }

    fn any_access(&mut self, host: HostId) {
        let to = self.peer(host);
        let (is_write, inject) = (self.random.percent(50), self.random.percent(30));
        let inject = is_write && inject;
        let len = self.len();
        let len = if inject { len.min(INJECT_SIZE) } else { len };
        let wrong =
            self.random.percent(10).then(|| self.random.pick(&[Refusal::Key, Refusal::Bounds, Refusal::Rights]));
        // Nothing is asked of a peer for a read of no bytes.
        let wrong = wrong.filter(|_| is_write || len > 0 || to == host);
        let tells = is_write && self.random.percent(30);
        let notify = self.random.percent(90);
        self.access(host, Exposure { to, len, is_write, wrong }, (inject, notify, tells));
    }

    fn end_any_exposure(&mut self, host: HostId) {
        let is_open = |command: &Command| {
            matches!(command, Command::Access(access)
                if access.to == host && matches!(access.target, Target::Registered(_)))
        };
        let open: Vec<Context> =
            self.ledger.all().filter(|(_, command)| is_open(command)).map(|(context, _)| context).collect();
        if !open.is_empty() {
            let context = self.random.pick(&open);
            self.end_exposure(context);
        }
    }
}
