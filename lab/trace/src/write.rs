//! Writes the file of a rank.
//!
//! New calls are appended to a [`Tail`] provided by the caller, which outlives the process if it is mapped to a file. A full
//! tail is written to the file as a block.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use super::block::{self, Block, Event};
use super::duration_code::Coder;
use super::operation::Operation;
use super::rank_file::{Header, MAGIC, chunk, tail};

/// Limit of the number of operations remembered; beyond it, numbering restarts at 0.
const MAX_OPERATIONS: usize = 1 << 18;

/// Memory for calls that are not in the file yet: [`tail::WORDS`] and [`tail::NUMBERS`] words.
pub trait Tail {
    /// Its words of 64 bits.
    fn words(&self) -> &[AtomicU64];
    /// Its words of 32 bits.
    fn numbers(&self) -> &[AtomicU32];
}

/// A [`Tail`] on the heap.
#[derive(Debug)]
pub struct OwnTail {
    words: Vec<AtomicU64>,
    numbers: Vec<AtomicU32>,
}

impl OwnTail {
    /// An empty tail.
    pub fn new() -> OwnTail {
        OwnTail {
            words: (0..tail::WORDS).map(|_| AtomicU64::new(0)).collect(),
            numbers: (0..tail::NUMBERS).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// From the contents of a file; `None` if they are too short.
    pub fn of_bytes(bytes: &[u8]) -> Option<OwnTail> {
        let (words, numbers) = bytes.split_at_checked(tail::WORDS * size_of::<u64>())?;
        let words = words.as_chunks().0.iter().map(|word| AtomicU64::new(u64::from_le_bytes(*word))).collect();
        let numbers: Vec<AtomicU32> =
            numbers.as_chunks().0.iter().map(|word| AtomicU32::new(u32::from_le_bytes(*word))).collect();
        (numbers.len() >= tail::NUMBERS).then_some(OwnTail { words, numbers })
    }

    /// The contents of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = self.words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
        words.chain(self.numbers.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())).collect()
    }
}

impl Default for OwnTail {
    fn default() -> Self {
        OwnTail::new()
    }
}

impl Tail for OwnTail {
    fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    fn numbers(&self) -> &[AtomicU32] {
        &self.numbers
    }
}

impl<T: Tail> Tail for &T {
    fn words(&self) -> &[AtomicU64] {
        T::words(self)
    }

    fn numbers(&self) -> &[AtomicU32] {
        T::numbers(self)
    }
}

/// Writes the file of a rank.
pub struct Writer<F: Write, T: Tail> {
    file: F,
    tail: T,
    known: FxHashMap<Operation, u32>,
    coders: [Coder; 2],
    blocks: u64,
    events: usize,
    definition_words: usize,
}

impl<F: Write, T: Tail> Writer<F, T> {
    /// Writes the header.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn begin(mut file: F, tail: T, header: &Header) -> io::Result<Writer<F, T>> {
        let bytes = postcard::to_stdvec(header).map_err(io::Error::other)?;
        file.write_all(&MAGIC)?;
        file.write_all(&chunk(super::rank_file::chunk::HEADER, &bytes))?;
        tail.words()[tail::MAGIC].store(tail::IS_TAIL, Ordering::Release);
        let (known, coders) = (FxHashMap::default(), Default::default());
        Ok(Writer { file, tail, known, coders, blocks: 0, events: 0, definition_words: 0 })
    }

    /// Appends a call, preceded by `processor` and `idle` nanoseconds of computation.
    ///
    /// # Errors
    /// If the file cannot be written. After an error nothing more may be appended.
    pub fn push(&mut self, operation: &Operation, [processor, idle]: [u64; 2]) -> io::Result<()> {
        let number = self.number(operation)?;
        let codes = [self.coders[0].encode(processor), self.coders[1].encode(idle)];
        self.push_event(number, codes)
    }

    /// Writes the tail and [`chunk::END`].
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.write_all(&chunk(super::rank_file::chunk::END, &[]))
    }

    fn push_event(&mut self, operation: u32, [processor, idle]: [u16; 2]) -> io::Result<()> {
        if self.events == tail::MAX_EVENTS {
            self.flush()?;
        }
        let at = tail::DEFINITION_WORDS + 2 * self.events;
        let numbers = self.tail.numbers();
        numbers[at].store(operation, Ordering::Relaxed);
        numbers[at + 1].store(u32::from(processor) | u32::from(idle) << 16, Ordering::Relaxed);
        self.events += 1;
        self.tail.words()[tail::EVENTS].store(self.events as u64, Ordering::Release);
        Ok(())
    }

    /// The number of an operation. Defines it if it is new.
    fn number(&mut self, operation: &Operation) -> io::Result<u32> {
        if let Some(number) = self.known.get(operation) {
            return Ok(*number);
        }
        if self.known.len() == MAX_OPERATIONS {
            self.flush()?;
            self.file.write_all(&chunk(super::rank_file::chunk::RESTART, &[]))?;
            self.known.clear();
        }
        let bytes = postcard::to_stdvec(operation).map_err(io::Error::other)?;
        let words = 1 + bytes.len().div_ceil(4);
        if self.definition_words + words > tail::DEFINITION_WORDS {
            self.flush()?;
        }
        if words > tail::DEFINITION_WORDS {
            // A definition longer than the tail (a vector of very many ranks) becomes a block of its own.
            self.append(&Block { definitions: vec![bytes], events: Vec::new() })?;
        } else {
            self.define(&bytes);
        }
        let number = self.known.len() as u32;
        self.known.insert(operation.clone(), number);
        Ok(number)
    }

    fn define(&mut self, bytes: &[u8]) {
        let numbers = &self.tail.numbers()[self.definition_words..];
        numbers[0].store(bytes.len() as u32, Ordering::Relaxed);
        for (at, part) in bytes.chunks(4).enumerate() {
            let mut word = [0; 4];
            word[..part.len()].copy_from_slice(part);
            numbers[1 + at].store(u32::from_le_bytes(word), Ordering::Relaxed);
        }
        self.definition_words += 1 + bytes.len().div_ceil(4);
        self.tail.words()[tail::DEFINITIONS].store(self.definition_words as u64, Ordering::Release);
    }

    /// Writes the contents of the tail as a block.
    fn flush(&mut self) -> io::Result<()> {
        if self.events == 0 && self.definition_words == 0 {
            return Ok(());
        }
        let block = contents(&self.tail, self.definition_words, self.events);
        (self.events, self.definition_words) = (0, 0);
        self.append(&block)
    }

    fn append(&mut self, block: &Block) -> io::Result<()> {
        self.file.write_all(&chunk(super::rank_file::chunk::BLOCK, &block::encode(block)?))?;
        self.blocks += 1;
        // The calls are now in the file and in the tail. A reader ignores a tail whose number is not that of the next block, so the
        // tail is emptied before it gets a new number.
        let words = self.tail.words();
        words[tail::EVENTS].store(0, Ordering::Release);
        words[tail::DEFINITIONS].store(0, Ordering::Release);
        words[tail::BLOCK].store(self.blocks, Ordering::Release);
        Ok(())
    }
}

/// The contents of a tail, if its number is `block`.
pub(super) fn left(tail: &impl Tail, block: u64) -> Option<Block> {
    let word = |at: usize| tail.words()[at].load(Ordering::Relaxed);
    if word(tail::MAGIC) != tail::IS_TAIL || word(tail::BLOCK) != block {
        return None;
    }
    let definitions = (word(tail::DEFINITIONS) as usize).min(tail::DEFINITION_WORDS);
    Some(contents(tail, definitions, (word(tail::EVENTS) as usize).min(tail::MAX_EVENTS)))
}

fn contents(tail: &impl Tail, definition_words: usize, events: usize) -> Block {
    let number = |at: usize| tail.numbers()[at].load(Ordering::Relaxed);
    let mut definitions = Vec::new();
    let mut at = 0;
    while at < definition_words {
        let length = number(at) as usize;
        let words = length.div_ceil(4);
        if at + 1 + words > definition_words {
            break;
        }
        let mut bytes: Vec<u8> = (0..words).flat_map(|word| number(at + 1 + word).to_le_bytes()).collect();
        bytes.truncate(length);
        definitions.push(bytes);
        at += 1 + words;
    }
    let event = |at: usize| {
        let (operation, codes) = (number(at), number(at + 1));
        Event { operation, processor: codes as u16, idle: (codes >> 16) as u16 }
    };
    let events = (0..events).map(|number| event(tail::DEFINITION_WORDS + 2 * number)).collect();
    Block { definitions, events }
}
