//! A compressed block of calls. Loops of the program yield repeated byte sequences, which zstd finds; times, which vary, are
//! stored apart from the operations.
//!
//! Layout before compression: length of the definitions in bytes; the definitions, each preceded by its length; number of
//! calls; their operations; their processor times; their idle times. Numbers are LEB128.

use std::io;

use super::duration_code;

/// Compression level: a compromise of speed and size; a block takes about a millisecond.
const LEVEL: i32 = 3;
/// Limit of a block before compression, in bytes: protects against a wrong length in a damaged file.
const MAX_RAW_BYTES: usize = 64 << 20;

/// A call in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Index of its operation among the definitions.
    pub operation: u32,
    /// Duration code of the processor time before the call.
    pub processor: u16,
    /// Duration code of the time before the call in which the thread did not use the processor.
    pub idle: u16,
}

/// The contents of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Encoded operations that occur for the first time.
    pub definitions: Vec<Vec<u8>>,
    /// Calls.
    pub events: Vec<Event>,
}

/// Compresses a block.
///
/// # Errors
/// If memory is exhausted.
pub fn encode(block: &Block) -> io::Result<Vec<u8>> {
    let mut definitions = Vec::new();
    for definition in &block.definitions {
        write_number(definition.len() as u64, &mut definitions);
        definitions.extend(definition);
    }
    let mut raw = Vec::with_capacity(definitions.len() + block.events.len() * 4);
    write_number(definitions.len() as u64, &mut raw);
    raw.extend(definitions);
    write_number(block.events.len() as u64, &mut raw);
    block.events.iter().for_each(|event| write_number(event.operation.into(), &mut raw));
    block.events.iter().for_each(|event| duration_code::write(event.processor, &mut raw));
    block.events.iter().for_each(|event| duration_code::write(event.idle, &mut raw));
    zstd::bulk::compress(&raw, LEVEL)
}

/// Decodes the output of [`encode`]; `None` for other bytes.
pub fn decode(bytes: &[u8]) -> Option<Block> {
    let raw = zstd::bulk::decompress(bytes, MAX_RAW_BYTES).ok()?;
    let mut rest = &raw[..];
    let bytes = usize::try_from(read_number(&mut rest)?).ok()?;
    let (mut defined, mut rest) = rest.split_at_checked(bytes)?;
    let mut definitions = Vec::new();
    while !defined.is_empty() {
        let length = usize::try_from(read_number(&mut defined)?).ok()?;
        let (definition, further) = defined.split_at_checked(length)?;
        definitions.push(definition.to_vec());
        defined = further;
    }
    // Each call takes at least three bytes.
    let count = usize::try_from(read_number(&mut rest)?).ok().filter(|count| *count <= rest.len() / 3)?;
    let operations: Vec<u32> =
        (0..count).map(|_| u32::try_from(read_number(&mut rest)?).ok()).collect::<Option<_>>()?;
    let mut times = || (0..count).map(|_| duration_code::read(&mut rest)).collect::<Option<Vec<u16>>>();
    let (processor, idle) = (times()?, times()?);
    let event = |((operation, processor), idle)| Event { operation, processor, idle };
    let events = operations.into_iter().zip(processor).zip(idle).map(event).collect();
    rest.is_empty().then_some(Block { definitions, events })
}

fn write_number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn read_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn event() -> impl Strategy<Value = Event> {
        let code = || 0..16_576u16;
        (any::<u32>(), code(), code()).prop_map(|(operation, processor, idle)| Event { operation, processor, idle })
    }

    proptest! {
        #[test]
        fn blocks_come_back(definitions in vec(vec(any::<u8>(), 0..300), 0..9), events in vec(event(), 0..300)) {
            let block = Block { definitions, events };
            prop_assert_eq!(decode(&encode(&block).unwrap()), Some(block));
        }

        #[test]
        fn other_bytes_are_refused(bytes in vec(any::<u8>(), 0..200), inner in vec(any::<u8>(), 0..200)) {
            decode(&bytes);
            decode(&zstd::bulk::compress(&inner, 1).unwrap());
        }
    }

    #[test]
    fn loops_take_little_room() {
        let event = |at: u32| Event { operation: at % 37, processor: (at * 31 % 7) as u16, idle: 0 };
        let block = Block { definitions: Vec::new(), events: (0..50_000).map(event).collect() };
        assert!(encode(&block).unwrap().len() < 5_000);
    }
}
