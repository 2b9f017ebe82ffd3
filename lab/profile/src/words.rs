//! Files that consist of 64-bit words, and text in them.

use std::sync::atomic::{AtomicU64, Ordering};

const BYTES: usize = size_of::<u64>();

/// Stores a text, truncated to the length of `words`; unused bytes are set to zero.
pub fn store_text(words: &[AtomicU64], text: &str) {
    let mut bytes = text.bytes();
    for word in words {
        let mut piece = [0; BYTES];
        piece.iter_mut().zip(&mut bytes).for_each(|(place, byte)| *place = byte);
        word.store(u64::from_ne_bytes(piece), Ordering::Relaxed);
    }
}

/// Loads a text stored by [`store_text`]. Invalid UTF-8 becomes replacement characters.
pub fn load_text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The words of a file; an incomplete word at its end is dropped.
pub fn from_bytes(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().copied().map(u64::from_ne_bytes).collect()
}

/// The bytes of a file of these words.
#[cfg(test)]
pub fn to_bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_the_end_of_its_place() {
        let words: [AtomicU64; 2] = Default::default();
        let load = || load_text(&words.each_ref().map(|word| word.load(Ordering::Relaxed)));
        store_text(&words, "node17");
        assert_eq!(load(), "node17");
        store_text(&words, "0123456789abcdefgh");
        assert_eq!(load(), "0123456789abcdef");
        store_text(&words, "");
        assert_eq!(load(), "");
    }
}
