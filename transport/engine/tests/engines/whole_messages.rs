//! Messages that a driver has read whole, over a rail: they are in place in one call, or take the way of all others.

use fishplate_engine::wire::Header;
use fishplate_engine::{
    Config, Context, Engine, Envelope, Extent, Instant, Operation, Pattern, Payload, Placement, RailId, RecvRequest,
    Region, SendRequest, Space, SubchannelId,
};

const NOW: Instant = Instant(1000);

struct Pair {
    engines: [Engine; 2],
    rails: [SubchannelId; 2],
}

impl Pair {
    fn new() -> Pair {
        let mut engines = [(); 2].map(|()| Engine::new(Config::default()));
        let rails = engines.each_mut().map(|engine| {
            let vc = engine.open();
            let rail = engine.subchannel_up(vc, RailId(0), None, 1 << 20).unwrap();
            engine.writable(rail, 1 << 20);
            rail
        });
        while engines.iter_mut().any(|engine| engine.poll_transmit(NOW).is_some()) {}
        Pair { engines, rails }
    }

    /// The header of a message from the first to the second.
    fn send(&mut self, tag: u64, len: u64) -> Header {
        let (vc, envelope, payload) = (self.rails[0].vc, Envelope::Tagged(tag), place(tag, len));
        let send =
            SendRequest { vc, envelope, data: Some(7), payload, inject: false, notify: true, context: Context(tag) };
        self.engines[0].post_send(send).unwrap();
        self.engines[0].poll_transmit(NOW).unwrap().header
    }

    fn post(&mut self, tag: u64, len: u64) {
        let pattern = Pattern { space: Space::Tagged { tag, ignore: 0 }, source: None };
        let (buffer, context) = (place(100 + tag, len), Context(tag));
        self.engines[1].post_recv(RecvRequest { pattern, buffer, multi_min_free: None, notify: true, context });
    }

    /// Where the payload goes, if it is taken whole.
    fn receive(&mut self, header: &Header) -> Option<Payload> {
        let mut placed = None;
        let taken = self.engines[1].receive_whole(NOW, self.rails[1], header, |to| placed = Some(to.clone()));
        taken.unwrap().then(|| placed.unwrap_or(Payload::EMPTY))
    }
}

fn place(region: u64, len: u64) -> Payload {
    Payload::One(Extent { region: Region(region), offset: 0, len })
}

#[test]
fn a_message_with_a_receive_is_in_place_at_once_and_acknowledged_as_all_others() {
    let mut pair = Pair::new();
    for (count, len) in [(1, 8), (2, 0)] {
        pair.post(3, 10);
        let header = pair.send(3, len);
        assert_eq!(pair.receive(&header), Some(if len > 0 { place(103, 10) } else { Payload::EMPTY }));
        let got = pair.engines[1].poll_completion().unwrap();
        assert_eq!((got.operation, got.len, got.data, got.result), (Operation::Recv, len, Some(7), Ok(())));
        assert!(pair.engines[1].has_pending_acks(), "the sender waits for it");
        let due = pair.engines[1].poll_timeout().unwrap();
        pair.engines[1].handle_timeout(due);
        let answer = pair.engines[1].poll_transmit(due).unwrap().header;
        assert_eq!(answer.ack, count);
        pair.engines[0].handle_header(due, pair.rails[0], &answer).unwrap();
        let sent = pair.engines[0].poll_completion().unwrap();
        assert_eq!((sent.operation, sent.context, sent.result), (Operation::Send, Context(3), Ok(())));
        assert!(pair.engines[0].is_quiet());
    }
}

#[test]
fn whole_messages_without_a_receive_or_out_of_order_or_behind_a_payload_take_the_general_path() {
    let mut pair = Pair::new();
    pair.post(4, 10);
    let (first, second) = (pair.send(3, 8), pair.send(4, 8));
    assert_eq!(pair.receive(&first), None, "no receive");
    assert_eq!(pair.receive(&second), None, "it is not next");
    let placement = pair.engines[1].handle_header(NOW, pair.rails[1], &first).unwrap();
    assert!(matches!(placement, Placement::Bounce(_)));
    assert_eq!(pair.receive(&second), None, "the payload before it is not in place");
    pair.engines[1].payload_placed(NOW, pair.rails[1]);
    assert_eq!(pair.receive(&second), Some(place(104, 10)));
    assert_eq!(pair.engines[1].poll_completion().unwrap().context, Context(4));
}
