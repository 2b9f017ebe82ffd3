//! Two engines, and the messages of the first to the second.

use fishplate_engine::wire::Header;
use fishplate_engine::{Config, Context, Engine, Envelope, Instant, Pattern, Payload, RailId, RecvRequest};
use fishplate_engine::{SendRequest, SubchannelId};

use super::place;

pub const NOW: Instant = Instant(1000);

pub struct Pair {
    pub engines: [Engine; 2],
    /// The subchannel over a rail, which has the same name at both ends.
    pub rail: SubchannelId,
    /// That of the messages: in memory, if there is one, or else over the rail.
    pub used: SubchannelId,
}

impl Pair {
    pub fn over_rail() -> Pair {
        Pair::connected(&Config::default(), false)
    }

    pub fn in_memory(config: &Config) -> Pair {
        Pair::connected(config, true)
    }

    fn connected(config: &Config, shares_memory: bool) -> Pair {
        let mut engines = [(); 2].map(|()| Engine::new(config.clone()));
        let [(rail, used), _] = engines.each_mut().map(|engine| {
            let vc = engine.open();
            let rail = engine.subchannel_up(vc, RailId(0), None, 1 << 20).unwrap();
            let memory = shares_memory.then(|| engine.subchannel_up(vc, RailId(1), None, 0).unwrap());
            memory.into_iter().for_each(|memory| engine.prefer(memory));
            let used = memory.unwrap_or(rail);
            [rail, used].iter().for_each(|subchannel| engine.writable(*subchannel, 1 << 20));
            (rail, used)
        });
        while engines.iter_mut().any(|engine| engine.poll_transmit(NOW).is_some()) {}
        Pair { engines, rail, used }
    }

    /// The message from region `tag` of the first.
    pub fn message(&self, tag: u64, len: u64) -> SendRequest {
        let message = SendRequest::new(self.rail.vc, Envelope::Tagged(tag), place(tag, len), Context(tag));
        SendRequest { data: Some(7), ..message }
    }

    /// The second posts a receive into its region `100 + tag`.
    pub fn post(&mut self, tag: u64, len: u64) {
        let buffer = place(100 + tag, len);
        self.engines[1].post_recv(RecvRequest::new(Pattern::tagged(tag), buffer, Context(tag)));
    }

    /// Where the payload goes at the second, if the message is taken whole.
    pub fn receive(&mut self, header: &Header) -> Option<Payload> {
        let mut placed = None;
        let taken = self.engines[1].receive_whole(NOW, self.used, header, |place| placed = Some(place.clone()));
        taken.unwrap().then(|| placed.unwrap_or(Payload::EMPTY))
    }
}
