//! Handshakes of honest endpoints, and the attacks of a stranger who carries their messages, by what he has seen and knows.

use std::rc::Rc;

use crate::address::{EndpointId, Token};
use crate::handshake::acceptor::{Acceptor, Proven};
use crate::handshake::error::{HandshakeError, refusal_for};
use crate::handshake::initiator::Initiator;
use crate::handshake::message::prove;
use crate::handshake::tests::{address, party};
use crate::handshake::{Offer, Party, Step, Terms};
use crate::secret::TokenKey;

/// An endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    Anna = 5,
    Bob = 9,
    /// Nobody of the job.
    Stranger = 13,
}

impl Name {
    pub fn id(self) -> EndpointId {
        EndpointId(self as u64)
    }

    pub fn token(self) -> Token {
        Token([self as u8; 16])
    }

    fn of(id: EndpointId) -> Option<Name> {
        [Name::Anna, Name::Bob].into_iter().find(|name| name.id() == id)
    }
}

/// An honest endpoint's part in one handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It connects. `demands`: the other must know its token.
    Initiator { me: Name, peer: Name, demands: bool },
    /// It is connected to.
    Acceptor { me: Name },
}

impl Role {
    pub fn me(self) -> Name {
        match self {
            Role::Initiator { me, .. } | Role::Acceptor { me } => me,
        }
    }
}

/// The handshakes, and the knowledge of each side.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub roles: Vec<Role>,
    pub terms: Terms,
    /// Acceptors know the tokens of the others.
    pub are_acquainted: bool,
    /// Owners of the keys that the stranger has.
    pub stolen: Vec<Name>,
}

impl Scenario {
    /// Whether the stranger has the key of proofs of this endpoint's token.
    pub fn is_stolen(&self, name: Name) -> bool {
        name == Name::Stranger || self.stolen.contains(&name)
    }

    pub fn key(&self, name: Name) -> TokenKey {
        TokenKey::of(&name.token(), self.terms.secret.as_ref())
    }

    pub fn party(&self, name: Name) -> Party {
        party(name as u8, self.terms)
    }

    fn token_known_to_acceptors(&self, id: EndpointId) -> Option<Token> {
        Name::of(id).filter(|_| self.are_acquainted).map(Name::token)
    }
}

/// Parts of a message of the stranger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Fixed(Vec<u8>),
    /// Bytes of a message that an honest side has sent.
    Seen {
        side: usize,
        message: usize,
        from: usize,
        len: usize,
    },
    /// A proof with a key that he has.
    Proof {
        key: Name,
        purpose: &'static [u8],
        of: Vec<Part>,
    },
    Xor(Box<[Part; 2]>),
}

/// A message of the stranger's.
pub type Recipe = Vec<Part>;

/// How a handshake ended for a side.
pub type End = Result<Option<Proven>, HandshakeError>;

enum Machine {
    Initiator(Box<Initiator>),
    Acceptor(Box<Acceptor>),
}

/// An honest side.
pub struct Side {
    pub role: Role,
    machine: Machine,
    pub offer: Offer,
    pub received: Vec<Vec<u8>>,
    pub sent: Vec<Vec<u8>>,
    /// The grant that an initiator has received, or an acceptor has sent.
    pub grant: u64,
    pub end: Option<End>,
}

/// All of them.
pub struct World<'a> {
    pub scenario: &'a Scenario,
    pub sides: Vec<Rc<Side>>,
}

/// Possible continuations depend on the first message to each side, its own messages by kind and code, and its end. What else
/// a side has received, and in which order, does not change them.
pub type State = Vec<(Option<Recipe>, Vec<[u8; 2]>, bool)>;

impl<'a> World<'a> {
    /// After these deliveries, each to a side.
    pub fn after(scenario: &'a Scenario, deliveries: &[(usize, Recipe)]) -> World<'a> {
        let sides = (0..scenario.roles.len()).map(|at| Rc::new(Side::new(scenario, at))).collect();
        let mut world = World { scenario, sides };
        for (side, recipe) in deliveries {
            let bytes = world.bytes(recipe);
            Rc::get_mut(&mut world.sides[*side]).expect("nobody else has it").deliver(scenario, bytes);
        }
        world
    }

    /// After these, the last of which is one more, to the side `to`.
    pub fn with(&self, to: usize, deliveries: &[(usize, Recipe)]) -> World<'a> {
        // Shares are random: what was made of those of before is nothing now.
        if self.scenario.terms.encryption {
            return World::after(self.scenario, deliveries);
        }
        let mut side = Side::new(self.scenario, to);
        let last = deliveries.last().map(|(_, recipe)| self.bytes(recipe));
        let told = self.sides[to].received.iter().cloned().chain(last);
        told.for_each(|bytes| side.deliver(self.scenario, bytes));
        let mut sides = self.sides.clone();
        sides[to] = Rc::new(side);
        World { scenario: self.scenario, sides }
    }

    pub fn state(&self, deliveries: &[(usize, Recipe)]) -> State {
        let first = |at| deliveries.iter().find(|(to, _)| *to == at).map(|(_, recipe)| recipe.clone());
        let of = |(at, side): (usize, &Rc<Side>)| {
            (first(at), side.sent.iter().map(|sent| [sent[6], sent[7]]).collect(), side.end.is_some())
        };
        self.sides.iter().enumerate().map(of).collect()
    }

    pub fn any(&self, is_it: impl Fn(&Side) -> bool) -> bool {
        self.sides.iter().any(|side| is_it(side))
    }

    pub fn bytes(&self, recipe: &[Part]) -> Vec<u8> {
        recipe.iter().flat_map(|part| self.part(part)).collect()
    }

    fn part(&self, part: &Part) -> Vec<u8> {
        match part {
            Part::Fixed(bytes) => bytes.clone(),
            Part::Seen { side, message, from, len } => self.sides[*side].sent[*message][*from..from + len].to_vec(),
            Part::Proof { key, purpose, of } => {
                let of: Vec<Vec<u8>> = of.iter().map(|part| self.part(part)).collect();
                self.prove(*key, purpose, &of)
            }
            Part::Xor(parts) => {
                let [one, other] = parts.each_ref().map(|part| self.part(part));
                one.iter().zip(other).map(|(one, other)| one ^ other).collect()
            }
        }
    }

    pub fn prove(&self, key: Name, purpose: &[u8], of: &[Vec<u8>]) -> Vec<u8> {
        let of: Vec<&[u8]> = of.iter().map(Vec::as_slice).collect();
        prove(&self.scenario.key(key), purpose, &of).as_ref().to_vec()
    }
}

impl Side {
    fn new(scenario: &Scenario, at: usize) -> Side {
        let (role, at) = (scenario.roles[at], at as u8);
        let offer = Offer { rail: at, stream: 1, class: 0, grant: 1 << 20 };
        let (machine, sent) = match role {
            Role::Initiator { me, peer, demands } => {
                let peer = address(peer as u8, peer as u8);
                let started = Initiator::start(&scenario.party(me), &peer, [at + 1; 16], offer, demands).unwrap();
                (Machine::Initiator(Box::new(started.0)), vec![started.1])
            }
            Role::Acceptor { me } => {
                (Machine::Acceptor(Box::new(Acceptor::new(scenario.party(me), [at + 1; 16]))), Vec::new())
            }
        };
        Side { role, machine, offer, received: Vec::new(), sent, grant: 0, end: None }
    }

    fn deliver(&mut self, scenario: &Scenario, bytes: Vec<u8>) {
        let mut received = bytes.clone();
        self.received.push(bytes);
        match &mut self.machine {
            Machine::Initiator(initiator) => match initiator.advance(&mut received) {
                Ok(Step::Send(message)) => self.sent.push(message),
                Ok(Step::Done(grant)) => (self.grant, self.end) = (grant, Some(Ok(None))),
                Ok(Step::Wait) => panic!("messages are whole"),
                Err(error) => self.end = Some(Err(error)),
            },
            Machine::Acceptor(acceptor) => {
                match acceptor.advance(&mut received, |id| scenario.token_known_to_acceptors(id)) {
                    Ok(Step::Send(message)) => self.sent.push(message),
                    Ok(Step::Done(proven)) => {
                        self.grant = 1000 + u64::from(self.offer.rail);
                        self.sent.push(acceptor.accept(self.grant));
                        self.end = Some(Ok(Some(proven)));
                    }
                    Ok(Step::Wait) => panic!("messages are whole"),
                    Err(error) => {
                        self.sent.extend(refusal_for(&error).map(|refusal| acceptor.refuse(refusal)));
                        self.end = Some(Err(error));
                    }
                }
            }
        }
    }
}
