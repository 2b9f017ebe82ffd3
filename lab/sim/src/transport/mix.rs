//! The mix of commands that users draw from.

use crate::events::{Duration, Random};

/// How commands are mixed: relative frequencies, and sizes. By default users do nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// All together.
    pub commands: u64,
    /// How often each is drawn: sends,
    pub sends: u64,
    /// receives,
    pub receives: u64,
    /// receives that take several messages,
    pub multi_receives: u64,
    /// looks at what has come,
    pub peeks: u64,
    /// receives of what was claimed by a look,
    pub claims: u64,
    /// cancellations of receives,
    pub cancels: u64,
    /// reads and writes of remote memory,
    pub accesses: u64,
    /// ends of registered memory.
    pub ends: u64,
    /// In a hundred, to the own host.
    pub to_self: u64,
    /// Length of the longest message, in bytes.
    pub longest: u64,
    /// Longest time from one command of a host to its next.
    pub pause: Duration,
}

/// A kind of command.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Send,
    Receive,
    MultiReceive,
    Peek,
    Claim,
    Cancel,
    Access,
    End,
}

impl Mix {
    /// Some mix: each kind may be frequent, rare, or not there at all.
    pub fn draw(random: &mut Random) -> Mix {
        let mut frequency = |usual: u64| usual * random.pick(&[0, 1, 1, 1, 2, 5]);
        let (multi_receives, peeks, claims) = (frequency(3), frequency(5), frequency(4));
        let (cancels, accesses, ends) = (frequency(4), frequency(12), frequency(3));
        let balance = random.pick(&[20, 32, 32, 44]);
        let longest = random.pick(&[300, 20_000, 200_000, 200_000, 5 << 20]);
        Mix {
            commands: if longest > 1 << 20 { random.range(50, 200) } else { random.range(100, 600) },
            sends: 64 - balance,
            receives: balance,
            multi_receives,
            peeks,
            claims,
            cancels,
            accesses,
            ends,
            to_self: random.pick(&[0, 8]),
            longest,
            pause: random.pick(&[Duration::us(2), Duration::us(40), Duration::us(40), Duration::ms(2)]),
        }
    }

    pub(super) fn kind(&self, random: &mut Random) -> Kind {
        let kinds = [
            (Kind::Send, self.sends),
            (Kind::Receive, self.receives),
            (Kind::MultiReceive, self.multi_receives),
            (Kind::Peek, self.peeks),
            (Kind::Claim, self.claims),
            (Kind::Cancel, self.cancels),
            (Kind::Access, self.accesses),
            (Kind::End, self.ends),
        ];
        let mut dice = random.below(kinds.iter().map(|(_, frequency)| frequency).sum());
        for (kind, frequency) in kinds {
            if dice < frequency {
                return kind;
            }
            dice -= frequency;
        }
        Kind::Send
    }
}

/// The users' operations on counters.
pub(super) struct Counting {
    pub random: Random,
    /// Number of counter operations per hundred commands.
    pub percent: u64,
}

impl Counting {
    /// Nobody counts where there is no remote memory access.
    pub fn new(seed: u64, has_accesses: bool) -> Counting {
        let mut random = Random::stream(seed, "counting");
        let percent = if has_accesses { random.pick(&[0, 20, 100]) } else { 0 };
        Counting { random, percent }
    }
}
