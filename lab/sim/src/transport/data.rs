//! Contents of memory and rails: real bytes, or the origin of each byte.

/// How contents are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Every byte.
    Bytes,
    /// For every run of bytes, whose and which they are: terabytes take no room.
    Origins,
}

/// Where bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Fresh memory.
    Blank,
    /// The payload of an operation.
    Operation(u64),
    /// A number, its low end first: 8 bytes or less.
    Number(u64),
}

/// Bytes that follow each other in their origin too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    origin: Origin,
    offset: u64,
    len: u64,
}

impl Run {
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let Run { origin, offset, len } = *self;
        (offset..offset + len).map(move |at| match origin {
            Origin::Blank => BLANK,
            Origin::Operation(id) => byte(id, at),
            Origin::Number(number) => number.to_le_bytes()[at as usize % 8],
        })
    }
}

#[derive(Clone, Debug)]
pub enum Data {
    Bytes(Vec<u8>),
    /// As runs, none empty, none that could be one with its neighbour.
    Runs(Runs),
}

/// See [`Data::Runs`].
#[derive(Clone, Debug, Default)]
pub struct Runs(Vec<Run>);

/// Contents of fresh memory.
const BLANK: u8 = 0xee;

/// Byte `offset` of the payload of operation `id`: different payloads, and different offsets of one, soon differ.
fn byte(id: u64, offset: u64) -> u8 {
    let mixed = (id << 40 ^ offset).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).to_be_bytes()[0]
}

impl Data {
    /// `len` bytes of fresh memory.
    pub fn blank(contents: Contents, len: u64) -> Data {
        match contents {
            Contents::Bytes => Data::Bytes(vec![BLANK; len as usize]),
            Contents::Origins => Data::Runs(Runs::one(Origin::Blank, 0, len)),
        }
    }

    /// Bytes `[0, len)` of the payload of operation `id`.
    pub fn payload(contents: Contents, id: u64, len: u64) -> Data {
        match contents {
            Contents::Bytes => Data::Bytes((0..len).map(|offset| byte(id, offset)).collect()),
            Contents::Origins => Data::Runs(Runs::one(Origin::Operation(id), 0, len)),
        }
    }

    pub fn of_bytes(contents: Contents, bytes: &[u8]) -> Data {
        match contents {
            Contents::Bytes => Data::Bytes(bytes.to_vec()),
            Contents::Origins => {
                let mut runs = Runs::default();
                for chunk in bytes.chunks(8) {
                    let mut number = [0; 8];
                    number[..chunk.len()].copy_from_slice(chunk);
                    let origin = Origin::Number(u64::from_le_bytes(number));
                    runs.push(Run { origin, offset: 0, len: chunk.len() as u64 });
                }
                Data::Runs(runs)
            }
        }
    }

    /// As bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Data::Bytes(bytes) => bytes.clone(),
            Data::Runs(runs) => runs.0.iter().flat_map(Run::bytes).collect(),
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Data::Bytes(bytes) => bytes.len() as u64,
            Data::Runs(runs) => runs.len(),
        }
    }

    /// Bytes `[from, from + len)`, clamped to the end.
    pub fn slice(&self, from: u64, len: u64) -> Data {
        match self {
            Data::Bytes(bytes) => {
                let from = (from as usize).min(bytes.len());
                Data::Bytes(bytes[from..from.saturating_add(len as usize).min(bytes.len())].to_vec())
            }
            Data::Runs(runs) => Data::Runs(runs.slice(from, len)),
        }
    }

    /// Puts `more` behind.
    pub fn append(&mut self, more: &Data) {
        match (self, more) {
            (Data::Bytes(bytes), Data::Bytes(more)) => bytes.extend_from_slice(more),
            (Data::Runs(runs), Data::Runs(more)) => runs.append(more),
            _ => unreachable!("a simulation keeps all contents in one way"),
        }
    }

    /// Puts `new` in place of what was at `at`.
    pub fn overwrite(&mut self, at: u64, new: &Data) {
        match (self, new) {
            (Data::Bytes(bytes), Data::Bytes(new)) => bytes[at as usize..][..new.len()].copy_from_slice(new),
            (Data::Runs(runs), Data::Runs(new)) => {
                let mut result = runs.slice(0, at);
                result.append(new);
                result.append(&runs.slice(at + new.len(), u64::MAX));
                *runs = result;
            }
            _ => unreachable!("a simulation keeps all contents in one way"),
        }
    }

    /// Whether these are the first bytes of the payload of operation `id`.
    pub fn is_payload(&self, id: u64) -> bool {
        match self {
            Data::Bytes(bytes) => bytes.iter().zip(0..).all(|(found, offset)| *found == byte(id, offset)),
            Data::Runs(runs) => runs.is_from(Origin::Operation(id)),
        }
    }

    /// Whether it was never written.
    pub fn is_blank(&self) -> bool {
        match self {
            Data::Bytes(bytes) => bytes.iter().all(|byte| *byte == BLANK),
            Data::Runs(runs) => runs.is_from(Origin::Blank),
        }
    }
}

impl Runs {
    fn one(origin: Origin, offset: u64, len: u64) -> Runs {
        Runs(if len == 0 { Vec::new() } else { vec![Run { origin, offset, len }] })
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|run| run.len).sum()
    }

    fn slice(&self, from: u64, len: u64) -> Runs {
        let (mut skip, mut left) = (from, len);
        let mut slice = Runs::default();
        for run in &self.0 {
            let skipped = skip.min(run.len);
            let len = (run.len - skipped).min(left);
            slice.push(Run { origin: run.origin, offset: run.offset + skipped, len });
            skip -= skipped;
            left -= len;
        }
        slice
    }

    fn append(&mut self, more: &Runs) {
        more.0.iter().for_each(|run| self.push(*run));
    }

    fn push(&mut self, run: Run) {
        if run.len == 0 {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.origin == run.origin && continues(last, &run) => last.len += run.len,
            _ => self.0.push(run),
        }
    }

    fn is_from(&self, origin: Origin) -> bool {
        match self.0.as_slice() {
            [] => true,
            [run] => run.origin == origin && (run.offset == 0 || origin == Origin::Blank),
            _ => false,
        }
    }
}

fn continues(last: &Run, run: &Run) -> bool {
    run.origin == Origin::Blank || last.offset + last.len == run.offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Random;

    #[test]
    fn bytes_and_origins_tell_the_same() {
        let mut random = Random::stream(3, "data");
        for _ in 0..300 {
            let mut both = [Contents::Bytes, Contents::Origins].map(|contents| Data::blank(contents, 100));
            let in_order = random.percent(50);
            for step in 0..4 {
                let (at, len) = if in_order { (step * 25, 25) } else { (random.below(60), random.below(40)) };
                let from = if in_order { at } else { random.below(60) };
                for (data, contents) in both.iter_mut().zip([Contents::Bytes, Contents::Origins]) {
                    data.overwrite(at, &Data::payload(contents, 5, 100).slice(from, len));
                }
            }
            let [bytes, origins] = &both;
            assert_eq!((bytes.len(), origins.len()), (100, 100));
            assert_eq!(bytes.is_payload(5), origins.is_payload(5));
            assert_eq!(bytes.is_payload(5), in_order);
            assert!(!bytes.is_payload(6) && !origins.is_payload(6));
            for at in [0, 50, 90] {
                assert_eq!(bytes.slice(at, 10).is_blank(), origins.slice(at, 10).is_blank());
            }
        }
    }
}
