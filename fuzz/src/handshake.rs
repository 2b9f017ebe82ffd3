//! Handshakes with somebody in between who keeps, changes, repeats and mixes up what passes, and makes messages of his own.

use fishplate_rails::Address;
use fishplate_rails::address::{EndpointId, Token};
use fishplate_rails::handshake::{
    Acceptor, HandshakeError, Initiator, MAX_MESSAGE_LEN, Offer, Party, Proven, Refusal, Step, Terms, refuse,
};

use crate::support::rng::Rng;

/// How inputs end.
pub const ENDS: &[&str] = &["nobody is proven", "the acceptor is proven", "both are proven"];

/// Deliveries of one input.
const TURNS: usize = 24;
/// Initiators and acceptors of one input. The first two initiators know the token.
const SIDES: usize = 3;
const HONEST: usize = 2;

const SERVER: EndpointId = EndpointId(9);
const TOKEN: Token = Token([42; 16]);
const OFFER: Offer = Offer { rail: 3, stream: 1, class: 0, grant: 1 << 22 };

/// A side, and what it has seen.
struct Side<T> {
    state: T,
    /// What was delivered and not taken.
    received: Vec<u8>,
    /// All that was delivered.
    fed: Vec<u8>,
    /// All that it sent.
    sent: Vec<u8>,
    is_proven: bool,
    is_over: bool,
}

impl<T> Side<T> {
    fn new(state: T, sent: Vec<u8>) -> Self {
        Side { state, received: Vec::new(), fed: Vec::new(), sent, is_proven: false, is_over: false }
    }

    /// Delivers `bytes` and lets the side take its steps; what it sends is returned.
    fn deliver<D>(
        &mut self,
        bytes: &[u8],
        advance: impl Fn(&mut T, &mut Vec<u8>) -> Result<Step<D>, HandshakeError>,
    ) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for part in bytes.chunks(MAX_MESSAGE_LEN) {
            if self.is_over {
                break;
            }
            self.received.extend_from_slice(part);
            self.fed.extend_from_slice(part);
            loop {
                match advance(&mut self.state, &mut self.received) {
                    Ok(Step::Wait) => break,
                    Ok(Step::Send(message)) => {
                        self.sent.extend_from_slice(&message);
                        messages.push(message);
                    }
                    Ok(Step::Done(_)) => {
                        (self.is_proven, self.is_over) = (true, true);
                        break;
                    }
                    Err(_) => {
                        self.is_over = true;
                        break;
                    }
                }
            }
            assert!(self.is_over || self.received.len() < MAX_MESSAGE_LEN, "more is kept than a message has");
        }
        messages
    }
}

/// Several handshakes at once, and what is done to them as `bytes` choose.
pub fn run(bytes: &[u8]) -> &'static str {
    let mut rng = Rng::over(bytes);
    let mut initiators: Vec<Side<Initiator>> = (0..SIDES).map(initiator).collect();
    let mut acceptors: Vec<Side<Acceptor>> = (0..SIDES).map(acceptor).collect();
    let mut seen: Vec<Vec<u8>> = initiators.iter().map(|side| side.sent.clone()).collect();
    for _ in 0..TURNS {
        let message = message(&mut rng, &seen);
        let at = rng.below(SIDES as u64) as usize;
        if rng.percent(50) {
            let was_proven = acceptors[at].is_proven;
            let advance = |acceptor: &mut Acceptor, received: &mut Vec<u8>| advance(acceptor, received, at == 0);
            seen.extend(acceptors[at].deliver(&message, advance));
            if acceptors[at].is_proven && !was_proven {
                seen.push(acceptors[at].state.accept(rng.next()));
            }
        } else {
            seen.extend(initiators[at].deliver(&message, Initiator::advance));
        }
    }
    check(&initiators, &acceptors);
    match (initiators.iter().any(|side| side.is_proven), acceptors.iter().any(|side| side.is_proven)) {
        (false, false) => ENDS[0],
        (false, true) => ENDS[1],
        (true, _) => ENDS[2],
    }
}

fn initiator(at: usize) -> Side<Initiator> {
    let token = if at < HONEST { TOKEN } else { Token([43; 16]) };
    let server = Address { id: SERVER, token, port: 1, rails: Vec::new(), preferred: 0, has_more: false };
    let started = Initiator::start(&party(EndpointId(at as u64), token_of(at)), &server, [at as u8; 16], OFFER, false);
    let (state, hello) = started.expect("without encryption nothing is random");
    Side::new(state, hello)
}

fn acceptor(at: usize) -> Side<Acceptor> {
    Side::new(Acceptor::new(party(SERVER, TOKEN), [100 + at as u8; 16]), Vec::new())
}

fn party(id: EndpointId, token: Token) -> Party {
    Party { id, token, terms: Terms::default() }
}

/// That of an initiator.
fn token_of(at: usize) -> Token {
    Token([1 + at as u8; 16])
}

/// An acceptor takes its steps; it may know the tokens of all initiators. Whoever it takes for proven is who he says.
fn advance(acceptor: &mut Acceptor, received: &mut Vec<u8>, knows_all: bool) -> Result<Step<Proven>, HandshakeError> {
    let token = |id: EndpointId| token_of(id.0 as usize % SIDES);
    let step = acceptor.advance(received, |id| knows_all.then(|| token(id)))?;
    if let Step::Done(proven) = &step {
        assert!(proven.identity.is_of(&token(proven.peer), None), "somebody is not who he says");
    }
    Ok(step)
}

/// Something that passed before, mostly as it was; or something else.
fn message(rng: &mut Rng, seen: &[Vec<u8>]) -> Vec<u8> {
    let mut message = match rng.below(10) {
        0 => refuse(Refusal::Yield),
        1 => (0..rng.below(80)).map(|_| rng.below(256) as u8).collect(),
        // The newest are the likeliest to get anywhere.
        2..6 => seen[seen.len() - 1 - rng.below(seen.len().min(3) as u64) as usize].clone(),
        _ => rng.pick(seen).clone(),
    };
    if rng.percent(20) {
        let at = rng.below(message.len() as u64) as usize;
        message.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << rng.below(8));
    }
    if rng.percent(10) {
        message.truncate(rng.below(message.len() as u64 + 1) as usize);
    }
    message
}

/// Whoever is proven has talked to one who knows the token, and not a bit of that was changed.
fn check(initiators: &[Side<Initiator>], acceptors: &[Side<Acceptor>]) {
    let honest = &initiators[..HONEST];
    for acceptor in acceptors.iter().filter(|side| side.is_proven) {
        let talked = |initiator: &Side<Initiator>| {
            acceptor.fed.starts_with(&initiator.sent) && initiator.fed.starts_with(&acceptor.sent)
        };
        assert!(honest.iter().any(talked), "an acceptor takes somebody for proven who is not");
    }
    for initiator in initiators.iter().filter(|side| side.is_proven) {
        let talked = |acceptor: &Side<Acceptor>| {
            let hello = &initiator.sent[..initiator.sent.len().min(acceptor.fed.len()).min(HELLO_LEN)];
            acceptor.fed.starts_with(hello) && !acceptor.sent.is_empty() && initiator.fed.starts_with(&acceptor.sent)
        };
        assert!(acceptors.iter().any(talked), "an initiator takes somebody for proven who is not");
    }
    let accepted = acceptors.iter().any(|side| side.is_proven);
    assert!(accepted || initiators.iter().all(|side| !side.is_proven), "an initiator was accepted by nobody");
    assert!(initiators[HONEST..].iter().all(|side| !side.is_proven), "somebody is proven without the token");
}

/// Length in bytes of the first message (docs/internals/wire.md).
const HELLO_LEN: usize = 80;
