//! Random headers, good enough to get far.

use std::collections::BTreeSet;

use fishplate_engine::wire::{Access, Body, Header, ReceiveRef, Refusal, SendRef};
use fishplate_engine::{
    Atomic, AtomicOperation, Context, Datatype, Envelope, Instant, MessageSeq, Pattern, PeekAction, PeekRequest,
    ProtocolViolation,
};

use super::victim::{ANNOUNCED, GRANT, KEY, MEMORY_LEN, Victim, Wanted};
use crate::support::rng::Rng;

struct Attacker {
    rng: Rng,
    victim: Victim,
    seqs: BTreeSet<u32>,
    /// What comes of messages before the CTS: position, next byte, end.
    early: Vec<(MessageSeq, u64, u64)>,
    /// Requests that are overtaken by pieces.
    late: Vec<Body>,
    accesses: u64,
    /// Numbers of atomic operations that were sent.
    atomics: u64,
    spent: u32,
    acked: Vec<u32>,
    credit: u32,
    /// In a thousand values, how many are nonsense.
    nonsense: u64,
}

/// One attack, as `rng` chooses: how many headers were taken, and how it ended.
pub fn attack(mut rng: Rng) -> (u64, Option<ProtocolViolation>) {
    let subchannels = rng.range(1, 4) as usize;
    let nonsense = *rng.pick(&[0, 2, 10, 100]);
    let victim = Victim::new(subchannels);
    let mut attacker = Attacker {
        rng,
        victim,
        seqs: BTreeSet::new(),
        early: Vec::new(),
        late: Vec::new(),
        accesses: 0,
        atomics: 0,
        spent: 0,
        acked: vec![0; subchannels],
        credit: 0,
        nonsense,
    };
    for taken in 0..400 {
        if let Err(end) = attacker.turn() {
            assert!(nonsense > 0, "{end}, although everything made sense");
            attacker.victim.lose();
            return (taken, Some(end));
        }
    }
    attacker.victim.lose();
    (400, None)
}

impl Attacker {
    fn turn(&mut self) -> Result<(), ProtocolViolation> {
        self.user();
        let subchannels = self.victim.subchannels.len();
        for at in 0..subchannels {
            if self.rng.percent(50) {
                self.victim.place(at);
            }
            let budget = self.rng.below(3_000);
            self.victim.engine.writable(self.victim.subchannels[at], budget);
        }
        self.victim.now += self.rng.below(30_000);
        self.victim.engine.handle_timeout(Instant(self.victim.now));
        self.victim.pump();
        let at = self.rng.below(subchannels as u64) as usize;
        if self.victim.placing[at].is_some() {
            self.victim.place(at);
        }
        let header = self.header(at);
        let answer = self.victim.header(at, &header);
        if self.rng.percent(70) {
            self.victim.pump();
        }
        answer
    }

    /// What the user of the attacked endpoint does meanwhile.
    fn user(&mut self) {
        let pattern = if self.rng.percent(50) { Pattern::MESSAGE } else { Pattern::tagged(1) };
        let pattern = Pattern { source: self.rng.percent(30).then_some(self.victim.vc), ..pattern };
        match self.rng.below(13) {
            0..3 => {
                let len = self.rng.below(3_000);
                self.victim.recv(pattern, len, None);
            }
            3 => {
                let len = self.rng.range(1, 20_000);
                self.victim.recv(pattern, len, Some(500));
            }
            4..6 => {
                let len = *self.rng.pick(&[0, 10, 1000, 5_000]);
                self.victim.send(Envelope::Tagged(2), len);
            }
            6 => {
                let then = *self.rng.pick(&[PeekAction::Leave, PeekAction::Discard]);
                self.victim.engine.peek(PeekRequest { pattern, then, context: Context(0) });
            }
            7 => {
                let len = self.rng.below(3_000);
                self.victim.write(len);
            }
            8 => {
                let len = self.rng.range(1, 3_000);
                self.victim.read(len);
            }
            9 if self.rng.percent(20) => self.victim.switch_memory(),
            10 => {
                let what = self.what();
                self.victim.atomic(what);
            }
            _ => {}
        }
    }

    fn number(&mut self, sensible: u64) -> u64 {
        if self.rng.below(1000) >= self.nonsense {
            return sensible;
        }
        match self.rng.below(4) {
            0 => self.rng.next(),
            1 => u64::MAX - self.rng.below(3),
            2 => sensible.wrapping_add(1),
            _ => sensible.wrapping_sub(1),
        }
    }

    fn header(&mut self, at: usize) -> Header {
        let acked = self.acked[at] + self.rng.below(u64::from(self.victim.sent[at] - self.acked[at]) + 1) as u32;
        self.acked[at] = acked;
        let spare = u64::from(self.victim.used - self.credit) + 1;
        self.credit += self.rng.below(spare) as u32;
        let ack = self.number(u64::from(acked)) as u32;
        let credit = self.number(u64::from(self.credit)) as u32;
        Header { ack, credit, ..Header::without_acknowledgement(self.body()) }
    }

    /// A name that the victim may have given to an operation of which it has not said anything yet.
    fn guess(&mut self) -> ReceiveRef {
        let newest = self.victim.named >> 32;
        ReceiveRef((newest + self.rng.range(1, 4)) << 32 | self.rng.below(8))
    }

    fn is_sloppy(&mut self) -> bool {
        self.rng.below(1000) < self.nonsense
    }

    /// The next sequence number, or one a little ahead.
    fn seq(&mut self) -> MessageSeq {
        let early = if self.rng.percent(20) { self.rng.below(4) as usize } else { 0 };
        let free = (0..).filter(|seq| !self.seqs.contains(seq));
        let seq = free.skip(early).find(|_| true).unwrap_or(0);
        self.seqs.insert(seq);
        MessageSeq(self.number(u64::from(seq)) as u32)
    }

    /// Whether `most` bytes allow a message of `len`.
    fn spend(&mut self, len: u32, most: u64) -> bool {
        let lasts = u64::from(self.spent.saturating_sub(self.victim.told) + len + 128) <= most || self.is_sloppy();
        if lasts {
            self.spent += len + 128;
        }
        lasts
    }

    fn body(&mut self) -> Body {
        let envelope = if self.rng.percent(50) { Envelope::Message } else { Envelope::Tagged(1) };
        let len = *self.rng.pick(&[0, 1, 200, 1000, 5_000]);
        match self.rng.below(25) {
            0..4 if self.spend(len, GRANT) => {
                let (len, prompt) = (self.number(u64::from(len)) as u32, self.rng.percent(50));
                Body::Eager { seq: self.seq(), envelope, data: None, len, prompt }
            }
            4..6 if self.spend(0, GRANT + ANNOUNCED * 128) => {
                let total = *self.rng.pick(&[0, 1, 2_000, GRANT, u64::MAX]);
                let send = SendRef(self.rng.next());
                Body::RequestToSend { seq: self.seq(), envelope, data: Some(1), total, early: 0, send }
            }
            17 if self.spend(len, GRANT) => self.request_with_early_data(envelope, len),
            18 if !self.late.is_empty() => self.late.swap_remove(0),
            19..22 if !self.early.is_empty() => self.piece(),
            6..8 if !self.victim.sends.is_empty() => self.clear(),
            8..11 if !self.victim.receives.is_empty() => self.stripe(),
            11 if self.nonsense > 50 => Body::Bye,
            12..14 => self.write(),
            14..16 if self.spend(0, GRANT + ANNOUNCED * 128) => self.read(),
            16 => self.refused(),
            _ if self.nonsense > 50 && self.is_sloppy() => self.unasked(),
            22..24 => self.atomic(),
            24 if !self.victim.applications.is_empty() => {
                let operation = self.victim.applications.swap_remove(0);
                Body::Applied { operation: ReceiveRef(self.number(operation.0)) }
            }
            _ if self.nonsense > 0 && self.is_sloppy() => Body::Relinquish { total: *self.rng.pick(&[0, 1, GRANT]) },
            _ => Body::Ack,
        }
    }

    /// A message of which `len` bytes come before the CTS, perhaps before it is announced.
    fn request_with_early_data(&mut self, envelope: Envelope, len: u32) -> Body {
        let (seq, send) = (self.seq(), SendRef(self.rng.next()));
        let total = u64::from(len) + *self.rng.pick(&[0, 0, 1, 2_000]);
        let early = self.number(u64::from(len)) as u32;
        self.victim.early.insert(send.0, u64::from(early));
        let request = Body::RequestToSend { seq, envelope, data: None, total, early, send };
        if len > 0 {
            self.early.push((seq, 0, u64::from(len)));
            if self.rng.percent(50) {
                self.late.push(request);
                return self.piece();
            }
        }
        request
    }

    fn piece(&mut self) -> Body {
        let at = self.rng.below(self.early.len() as u64) as usize;
        let (seq, from, end) = self.early[at];
        let len = if self.rng.percent(50) { end - from } else { (end - from).div_ceil(2) };
        if !self.is_sloppy() {
            self.early[at].1 += len;
        }
        if from + len >= end {
            self.early.swap_remove(at);
        }
        let seq = MessageSeq(self.number(u64::from(seq.0)) as u32);
        Body::EarlyData { seq, offset: self.number(from), len: self.number(len) as u32 }
    }

    /// Mostly where the victim has memory.
    fn place(&mut self) -> (u64, u64, u64) {
        let len = self.rng.range(1, 2_000);
        let address = self.rng.below(MEMORY_LEN - len + 1);
        let key = if self.rng.percent(90) { KEY } else { self.rng.next() };
        (key, self.number(address), self.number(len))
    }

    fn access(&mut self) -> u64 {
        self.accesses += 1;
        self.number(self.accesses)
    }

    fn write(&mut self) -> Body {
        let (key, address, len) = self.place();
        let write = SendRef(self.rng.next());
        let data = self.rng.percent(50).then_some(3);
        Body::Write { write, key, address, data, number: self.access(), len: len as u32 }
    }

    fn what(&mut self) -> Atomic {
        loop {
            let (operation, datatype) = (*self.rng.pick(&AtomicOperation::ALL), *self.rng.pick(&Datatype::ALL));
            let most = *self.rng.pick(&[1, 1, 20, u64::from(Atomic::most(datatype))]);
            let (fetches, count) = (self.rng.percent(50), self.rng.range(1, most + 1) as u32);
            if let Some(what) = Atomic::new(operation, datatype, fetches, count) {
                return what;
            }
        }
    }

    /// Mostly the next one, now and then one again.
    fn atomic(&mut self) -> Body {
        let what = self.what();
        let address = self.rng.below(MEMORY_LEN) / 8 * 8;
        let key = if self.rng.percent(90) { KEY } else { self.rng.next() };
        let again = self.atomics > 0 && self.rng.percent(10);
        let number = if again { self.rng.range(1, self.atomics + 1) } else { self.atomics + 1 };
        self.atomics = self.atomics.max(number);
        let operation = ReceiveRef(self.rng.next());
        Body::Atomic { number: self.number(number), operation, key, address: self.number(address), what }
    }

    fn read(&mut self) -> Body {
        let (key, address, len) = self.place();
        let receive = ReceiveRef(self.rng.next());
        Body::Read { number: self.access(), receive, key, address, len: len.max(1) }
    }

    /// Refuses what the victim wanted. Only a read that has got nothing can be refused for sure.
    fn refused(&mut self) -> Body {
        let why = *self.rng.pick(&[Refusal::Key, Refusal::Bounds, Refusal::Rights]);
        let what = if self.rng.percent(50) && !self.victim.reads.is_empty() {
            let (receive, _) = self.victim.reads.swap_remove(0);
            self.victim.receives.retain(|wanted| wanted.receive != receive);
            Access::Read(ReceiveRef(self.number(receive.0)))
        } else if self.nonsense > 0 && self.rng.percent(5) && !self.victim.writes.is_empty() {
            let write = *self.rng.pick(&self.victim.writes);
            Access::Write(SendRef(self.number(write.0)))
        } else {
            return Body::Ack;
        };
        Body::Refused { what, why }
    }

    /// Answers what was not asked for.
    fn unasked(&mut self) -> Body {
        let guess = self.guess();
        match self.rng.below(3) {
            0 => Body::Applied { operation: guess },
            1 => Body::Refused { what: Access::Read(guess), why: Refusal::Key },
            _ => Body::Stripe { receive: guess, offset: 0, len: *self.rng.pick(&[1, 8, 100]) },
        }
    }

    fn clear(&mut self) -> Body {
        let at = self.rng.below(self.victim.sends.len() as u64) as usize;
        let (send, total) = self.victim.sends[at];
        if !self.is_sloppy() {
            self.victim.sends.swap_remove(at);
        }
        let len = self.rng.below(total + 1);
        let send = SendRef(self.number(send.0));
        let any = ReceiveRef(self.rng.next());
        let receive = *self.rng.pick(&[ReceiveRef::NONE, ReceiveRef::EARLY, any]);
        Body::ClearToSend { send, receive, len: self.number(len) }
    }

    /// The front of a wanted range.
    fn stripe(&mut self) -> Body {
        let at = self.rng.below(self.victim.receives.len() as u64) as usize;
        let Wanted { receive, from, end } = self.victim.receives[at];
        let receive = ReceiveRef(self.number(receive.0));
        let len = if self.rng.percent(50) { end - from } else { (end - from).div_ceil(2) };
        if !self.is_sloppy() {
            self.victim.receives[at].from += len;
        }
        if from + len >= end {
            self.victim.receives.swap_remove(at);
        }
        Body::Stripe { receive, offset: self.number(from), len: self.number(len) as u32 }
    }
}
