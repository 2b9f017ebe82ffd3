//! Lists of message sizes, as the benchmark programs take them.

use anyhow::{Context, Result, ensure};

/// Largest size of a message, in bytes, as in the benchmark programs.
const MAX_BYTES: u64 = i32::MAX as u64;

/// `1,64,1K,4M`, `1:4M` (doubling), `0,1:64K`.
///
/// # Errors
/// When a part is no size or range.
pub fn parse(list: &str) -> Result<Vec<u64>> {
    let mut sizes = Vec::new();
    for part in list.split(',') {
        let (first, last) = match part.split_once(':') {
            Some((first, last)) => (size(first)?, size(last)?),
            None => (size(part)?, size(part)?),
        };
        ensure!(first <= last, "--sizes: the range {part} ends before it begins");
        ensure!(first > 0 || last == 0, "--sizes: a range that doubles cannot begin with 0");
        sizes.extend(doubling(first, last));
    }
    Ok(sizes)
}

/// From `first` to `last`, each twice the one before.
pub fn doubling(first: u64, last: u64) -> Vec<u64> {
    let next = |size: &u64| Some(size * 2).filter(|next| *next <= last && *next > 0);
    std::iter::successors(Some(first), next).collect()
}

fn size(text: &str) -> Result<u64> {
    let factor = match text.chars().last() {
        Some('K' | 'k') => 1 << 10,
        Some('M' | 'm') => 1 << 20,
        Some('G' | 'g') => 1 << 30,
        _ => 1,
    };
    let digits = if factor == 1 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits.parse().with_context(|| format!("--sizes: {text:?} is no size"))?;
    let bytes = number.saturating_mul(factor);
    ensure!(bytes <= MAX_BYTES, "--sizes: {text} is more than {MAX_BYTES} bytes");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        assert_eq!(parse("1,64,1K,1m").unwrap(), [1, 64, 1024, 1 << 20]);
        assert_eq!(parse("0,1:8").unwrap(), [0, 1, 2, 4, 8]);
        for (list, message) in
            [("x", "is no size"), ("8:4", "ends before"), ("0:8", "cannot begin with 0"), ("4G", "more than")]
        {
            let error = format!("{:#}", parse(list).unwrap_err());
            assert!(error.contains(message), "{error}");
        }
    }
}
