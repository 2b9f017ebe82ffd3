//! What a rank of the job that runs other code can fill of another rank's memory: docs/guide/security.md has the sum.

use fishplate_engine::limits::{MAX_ANNOUNCED, MIN_GRANT};
use fishplate_engine::wire::{Body, Header, ReceiveRef, SendRef};
use fishplate_engine::{Config, Engine, Envelope, Instant, MessageSeq, RailId, SubchannelId};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const NOW: Instant = Instant(0);
const MIB: usize = 1 << 20;
/// What one peer may leave here of everything together, payloads included.
const MOST: usize = 512 * MIB;

/// An engine in whose memory a peer, which was named, may leave as much as any ever may.
fn victim() -> (Engine, SubchannelId) {
    let config = Config::default();
    let mut engine = Engine::new(Config { grant: config.max_grant, ..config });
    let vc = engine.open();
    let subchannel = engine.subchannel_up(vc, RailId(0), None, MIN_GRANT).unwrap();
    (engine, subchannel)
}

/// Sends headers of one kind until the engine takes no more: how many it has taken, and the memory that it keeps for them, with
/// their payloads, which the driver keeps. The peer takes answers and never acknowledges one.
fn flood(body: impl Fn(u32) -> Body) -> (u64, usize) {
    let (mut engine, subchannel) = victim();
    let before = MEMORY.current_usage();
    let mut payloads = 0;
    for number in 0..=u32::MAX {
        let header = Header::without_acknowledgement(body(number));
        if engine.handle_header(NOW, subchannel, &header).is_err() {
            return (number.into(), MEMORY.current_usage() - before + payloads);
        }
        let len = header.body.payload_len();
        if len > 0 {
            payloads += len as usize;
            engine.payload_placed(NOW, subchannel);
        }
        engine.writable(subchannel, 1 << 20);
        while engine.poll_transmit(NOW).is_some() {}
    }
    unreachable!("a peer has no bound");
}

#[test]
fn all_that_a_rank_can_leave_is_bounded() {
    let envelope = Envelope::Tagged(1);
    let seq = MessageSeq;
    let kinds: [(&str, &dyn Fn(u32) -> Body); 6] = [
        ("empty messages", &|at| Body::Eager { seq: seq(at), envelope, data: None, len: 0, prompt: false }),
        ("long messages", &|at| Body::Eager { seq: seq(at), envelope, data: None, len: 60_000, prompt: false }),
        ("announcements", &|at| Body::RequestToSend {
            seq: seq(at),
            envelope,
            data: None,
            total: 1 << 30,
            early: 0,
            send: SendRef(at.into()),
        }),
        ("early data", &|at| {
            // Each announcement, then its data.
            let (seq, early) = (seq(at / 2), 60_000);
            match at % 2 {
                0 => Body::RequestToSend { seq, envelope, data: None, total: 1 << 30, early, send: SendRef(at.into()) },
                _ => Body::EarlyData { seq, offset: 0, len: early },
            }
        }),
        ("reads", &|at| Body::Read { number: u64::from(at) + 1, receive: ReceiveRef(7), key: 1, address: 0, len: 1 }),
        ("writes", &|at| {
            let (number, write) = (u64::from(at) + 1, SendRef(7));
            Body::Write { write, key: 1, address: 0, data: None, number, len: 0 }
        }),
    ];
    let mut all = 0;
    for (name, body) in kinds {
        let (taken, bytes) = flood(body);
        println!("{name}: {taken} taken, {:.1} MiB", bytes as f64 / MIB as f64);
        assert!(taken <= MAX_ANNOUNCED + (Config::default().max_grant / 128), "{name}: {taken}");
        all += bytes;
    }
    println!("all: {:.1} MiB", all as f64 / MIB as f64);
    assert!(all <= MOST, "{all} bytes");
}
