//! Matching, by hash in the engine, against plain lists that are searched in order.

mod lists;
mod run;

use std::ops::Range;

use fishplate_engine::{
    Config, Context, Engine, Envelope, Pattern, Payload, PeekAction, PeekRequest, RecvRequest, SendRequest, Space, VcId,
};

use crate::support::rng::Rng;

/// `FISHPLATE_TEST_SEEDS=from-end` tries others.
fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("FISHPLATE_TEST_SEEDS") else { return usual };
    let (from, end) = text.split_once('-').expect("FISHPLATE_TEST_SEEDS is from-end");
    from.parse().unwrap()..end.parse().unwrap()
}

#[test]
fn receives_and_messages_match_as_in_lists_that_are_searched_in_order() {
    let mut longest = 0;
    for seed in seeds(0..3000) {
        println!("seed {seed}");
        longest = longest.max(run::run(Rng(seed)));
    }
    assert!(longest > 200, "nothing was searched for among many: {longest}");
}

/// An engine with a channel to itself, and many messages or receives that wait: a search through all of them for each would
/// take minutes.
struct Crowd {
    engine: Engine,
    vc: VcId,
}

const MANY: u64 = 100_000;

impl Crowd {
    fn new() -> Crowd {
        let mut engine = Engine::new(Config::default());
        let vc = engine.open_loopback();
        Crowd { engine, vc }
    }

    fn send(&mut self, tag: u64) {
        let message = SendRequest::new(self.vc, Envelope::Tagged(tag), Payload::EMPTY, Context(0));
        self.engine.post_send(SendRequest { inject: true, notify: false, ..message }).unwrap();
    }

    /// Every second receive takes any source, every third any of 16 tags.
    fn receive(&mut self, tag: u64, context: u64) -> RecvRequest {
        let source = context.is_multiple_of(2).then_some(self.vc);
        let ignore = if context.is_multiple_of(3) { 15 } else { 0 };
        let pattern = Pattern { space: Space::Tagged { tag, ignore }, source };
        RecvRequest::new(pattern, Payload::EMPTY, Context(context))
    }

    fn assert_completed(&mut self, context: u64, is_ok: bool) {
        let completion = self.engine.poll_completion().expect("nothing has completed");
        assert_eq!((completion.context, completion.result.is_ok()), (Context(context), is_ok));
    }
}

#[test]
fn among_many_receives_that_of_a_message_is_found() {
    let mut crowd = Crowd::new();
    for at in 0..MANY {
        let request = crowd.receive(16 * at, at);
        crowd.engine.post_recv(request);
    }
    for at in (0..MANY).rev() {
        crowd.send(16 * at);
        crowd.assert_completed(at, true);
    }
}

#[test]
fn among_many_messages_that_of_a_receive_is_found() {
    let mut crowd = Crowd::new();
    (0..MANY).for_each(|at| crowd.send(16 * at));
    for at in (0..MANY).rev() {
        let request = crowd.receive(16 * at, at);
        crowd.engine.post_recv(request);
        crowd.assert_completed(at, true);
    }
}

#[test]
fn among_many_receives_one_is_cancelled() {
    let mut crowd = Crowd::new();
    for at in 0..MANY {
        let request = crowd.receive(16 * at, at);
        crowd.engine.post_recv(request);
    }
    for at in (0..MANY).rev() {
        assert!(crowd.engine.cancel(Context(at)));
        crowd.assert_completed(at, false);
        assert!(!crowd.engine.cancel(Context(at)));
    }
}

#[test]
fn among_many_claims_one_is_received() {
    let mut crowd = Crowd::new();
    (0..MANY).for_each(|at| crowd.send(16 * at));
    for at in (0..MANY).rev() {
        let RecvRequest { pattern, context, .. } = crowd.receive(16 * at, at);
        crowd.engine.peek(PeekRequest { pattern, then: PeekAction::Claim, context });
        crowd.assert_completed(at, true);
    }
    for at in 0..MANY {
        let request = crowd.receive(16 * at, at);
        assert!(crowd.engine.recv_claimed(request));
        crowd.assert_completed(at, true);
    }
}
