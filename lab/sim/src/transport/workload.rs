//! The workload: commands of users, at random.

use fishplate_engine::{Context, Envelope, INJECT_SIZE, Pattern, PeekAction, Refusal, Space};

use super::commands::{Exposure, Outgoing};
use super::ids::HostId;
use super::ledger::{Command, Target, vc};
use super::mix::Kind;
use super::world::World;

/// Tags in use: few, so that there is something to match.
const TAGS: u64 = 4;
/// Bits above the tag, which receives may ignore.
const IGNORED: u64 = 0xff00;
/// Where the limit of eager messages is looked for if it is automatic, in bytes.
const USUAL_LIMIT: u64 = 65_536;
const ANY_TAG: Space = Space::Tagged { tag: 0, ignore: u64::MAX };

impl World {
    /// The user of `host` does something.
    pub(super) fn command(&mut self, host: HostId) {
        self.count_now_and_then(host);
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
        let notify = !inject && self.random.percent(90);
        // Every other command.
        let may_be_buffered = self.ledger.next().0.is_multiple_of(2);
        Outgoing { to, envelope, len, inject, notify, may_be_buffered }
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
        // A read of zero bytes sends no request.
        let wrong = wrong.filter(|_| is_write || len > 0 || to == host);
        let with_data = is_write && self.random.percent(30);
        let notify = self.random.percent(90);
        self.access(host, Exposure { to, len, is_write, wrong }, (inject, notify, with_data));
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
