//! What a rank of the job that runs other code can fill of another rank's memory: docs/guide/security.md has the sum.

use fishplate_engine::limits::MIN_GRANT;
use fishplate_engine::wire::{Body, Header, ReceiveRef, SendRef};
use fishplate_engine::{Config, Engine, Envelope, Instant, MessageSeq, RailId, SubchannelId};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const NOW: Instant = Instant(0);
const MIB: usize = 1 << 20;
/// What one peer may leave here of everything together, payloads included.
const MAX_BYTES: usize = 512 * MIB;

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

/// How many of a kind were taken, and the bytes.
fn told(name: &str, body: impl Fn(u32) -> Body) -> usize {
    let (taken, bytes) = flood(body);
    println!("{name}: {taken} taken, {:.1} MiB", bytes as f64 / MIB as f64);
    bytes
}

#[test]
fn all_that_a_rank_can_leave_is_bounded() {
    let (envelope, seq) = (Envelope::Tagged(1), MessageSeq);
    let announcement = |at: u32, name: u32, early| Body::RequestToSend {
        seq: seq(at),
        envelope,
        data: None,
        total: 1 << 30,
        early,
        send: SendRef(name.into()),
    };
    // These share a grant.
    let messages = [
        told("empty messages", |at| Body::Eager { seq: seq(at), envelope, data: None, len: 0, prompt: false }),
        told("long messages", |at| Body::Eager { seq: seq(at), envelope, data: None, len: 60_000, prompt: false }),
        told("announcements", |at| announcement(at, at, 0)),
        told("announcements with early data", |at| match at % 2 {
            0 => announcement(at / 2, at, 60_000),
            _ => Body::EarlyData { seq: seq(at / 2), offset: 0, len: 60_000 },
        }),
        told("announcements with a byte of early data", |at| match at % 2 {
            0 => announcement(at / 2, at, 1),
            _ => Body::EarlyData { seq: seq(at / 2), offset: 0, len: 1 },
        }),
        told("bytes of early data", |at| Body::EarlyData { seq: seq(at), offset: 0, len: 1 }),
    ];
    let answers = told("reads", |at| Body::Read {
        number: u64::from(at) + 1,
        receive: ReceiveRef(7),
        key: 1,
        address: 0,
        len: 1,
    });
    let refusals = told("refused writes", |at| Body::Write {
        write: SendRef(7),
        key: 1,
        address: 0,
        data: None,
        number: u64::from(at) + 1,
        len: 0,
    });
    let all = messages.into_iter().max().unwrap_or(0) + answers + refusals;
    println!("all: {:.1} MiB", all as f64 / MIB as f64);
    assert!(all <= MAX_BYTES, "{all} bytes");
}
