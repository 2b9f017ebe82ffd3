//! Random commands to an engine and to [`Lists`], whose reports have to be equal. The messages are of the engine to itself,
//! over several channels: so they arrive at once.

use fishplate_engine::{
    Completion, Config, Context, Engine, Envelope, Failure, Operation, Pattern, Payload, PeekAction, PeekRequest,
    RecvRequest, Region, SendRequest, Space, VcId,
};

use super::lists::{Lists, Message};
use crate::support::rng::Rng;

/// Commands of one run. As many again can follow from one that is repeated.
const COMMANDS: u64 = 120;
/// Most repetitions of a command: more than what engines look at one by one.
const MAX_REPEATED: u64 = 60;
/// What receives ignore of tags: with the two kinds of sources, more classes than there are indices for.
const IGNORED: [u64; 6] = [0, 0xf0, 0xf << 60, (0xf << 60) | 0xf0, 0xff, u64::MAX];

struct Run {
    rng: Rng,
    engine: Engine,
    vcs: Vec<VcId>,
    lists: Lists,
    commands: u64,
    /// Tags are below.
    tags: u64,
    /// In percent.
    wildcards: u64,
}

/// One run, as `rng` chooses. How many receives or messages were waiting at once.
pub fn run(rng: Rng) -> usize {
    let mut engine = Engine::new(Config::default());
    let vcs = (0..3).map(|_| engine.open_loopback()).collect();
    let mut run = Run { rng, engine, vcs, lists: Lists::default(), commands: 0, tags: 0, wildcards: 0 };
    run.tags = *run.rng.pick(&[1, 4, 64]);
    run.wildcards = *run.rng.pick(&[0, 10, 60]);
    let mut longest = 0;
    for _ in 0..run.rng.range(10, COMMANDS) {
        let dice = run.rng.below(100);
        let repeated = if run.rng.percent(20) { run.rng.below(MAX_REPEATED) } else { 1 };
        for _ in 0..repeated {
            run.command(dice);
            run.compare();
        }
        longest = longest.max(run.lists.longest());
    }
    run.end();
    longest
}

impl Run {
    fn command(&mut self, dice: u64) {
        self.commands += 1;
        match dice {
            0..36 => self.send(),
            36..72 => self.receive(),
            72..80 => self.peek(),
            80..86 => self.settle_claim(),
            86..99 => self.cancel(),
            _ => self.lose(),
        }
    }

    fn send(&mut self) {
        let (vc, id) = (*self.rng.pick(&self.vcs), self.commands);
        let tag = self.tag();
        let envelope = if self.rng.percent(30) { Envelope::Message } else { Envelope::Tagged(tag) };
        let len = *self.rng.pick(&[0, 1, 100, 5000]);
        let message = SendRequest::new(vc, envelope, Payload::whole(Region(0), len), Context(id));
        if self.engine.post_send(SendRequest { data: Some(id), notify: false, ..message }).is_ok() {
            self.lists.arrive(Message { id, vc, envelope, len });
        }
    }

    fn tag(&mut self) -> u64 {
        self.rng.below(self.tags) | (self.rng.below(2) << 4) | (self.rng.below(2) << 60)
    }

    fn pattern(&mut self) -> Pattern {
        let tag = self.tag();
        let wild = self.rng.percent(self.wildcards);
        let ignore = if wild { *self.rng.pick(&IGNORED) } else { 0 };
        let space = if self.rng.percent(25) { Space::Message } else { Space::Tagged { tag, ignore } };
        let source = *self.rng.pick(&self.vcs);
        Pattern { space, source: (!self.rng.percent(self.wildcards)).then_some(source) }
    }

    fn recv_request(&mut self, context: u64) -> RecvRequest {
        let len = *self.rng.pick(&[0, 100, 6000, 20_000]);
        RecvRequest::new(self.pattern(), Payload::whole(Region(context), len), Context(context))
    }

    fn receive(&mut self) {
        let mut request = self.recv_request(self.commands);
        request.multi_min_free = self.rng.percent(10).then(|| *self.rng.pick(&[0, 1, 1000]));
        self.engine.post_recv(request.clone());
        self.lists.receive(request);
    }

    fn peek(&mut self) {
        let then = *self.rng.pick(&[PeekAction::Leave, PeekAction::Claim, PeekAction::Discard]);
        let request = PeekRequest { pattern: self.pattern(), then, context: Context(self.commands) };
        self.engine.peek(request);
        self.lists.peek(request);
    }

    /// Mostly of a claim that there is.
    fn settle_claim(&mut self) {
        let claims: Vec<Context> = self.lists.claims().chain([Context(self.commands)]).collect();
        let context = *self.rng.pick(&claims);
        let (engine, lists) = if self.rng.percent(30) {
            (self.engine.discard_claimed(context), self.lists.discard_claimed(context))
        } else {
            let request = self.recv_request(context.0);
            (self.engine.recv_claimed(request.clone()), self.lists.receive_claimed(request))
        };
        assert_eq!(engine, lists, "claim {context:?}");
    }

    /// Mostly a receive that there is.
    fn cancel(&mut self) {
        let waiting: Vec<Context> = self.lists.waiting().chain([Context(self.commands)]).collect();
        let context = *self.rng.pick(&waiting);
        assert_eq!(self.engine.cancel(context), self.lists.cancel(context), "cancel {context:?}");
    }

    fn lose(&mut self) {
        let vc = *self.rng.pick(&self.vcs);
        self.engine.lose(vc, "");
        self.lists.lose(vc);
    }

    /// What both have reported.
    fn compare(&mut self) {
        while self.engine.poll_memory().is_some() {}
        let mut reported: Vec<Completion> = std::iter::from_fn(|| self.engine.poll_completion()).collect();
        let mut expected = std::mem::take(&mut self.lists.completions);
        if reported.len() > 1 && is_loss(&reported) {
            reported.sort_by_key(|completion| completion.context);
            expected.sort_by_key(|completion| completion.context);
        }
        assert_eq!(reported, expected);
    }

    /// Everything that waits is found.
    fn end(&mut self) {
        for context in self.lists.waiting().collect::<Vec<_>>() {
            assert!(self.engine.cancel(context) && self.lists.cancel(context));
        }
        self.compare();
        loop {
            self.commands += 1;
            let any_tagged = Pattern { space: Space::Tagged { tag: 0, ignore: u64::MAX }, source: None };
            let pattern = if self.commands.is_multiple_of(2) { Pattern::MESSAGE } else { any_tagged };
            let request = PeekRequest { pattern, then: PeekAction::Discard, context: Context(self.commands) };
            self.engine.peek(request);
            self.lists.peek(request);
            self.compare();
            if self.lists.longest() == 0 {
                return;
            }
        }
    }
}

/// Whether these are the ends of the receives of a lost peer.
fn is_loss(completions: &[Completion]) -> bool {
    let is_lost = |completion: &Completion| {
        completion.operation == Operation::Recv && matches!(completion.result, Err(Failure::PeerLost(_)))
    };
    completions.iter().all(is_lost)
}
