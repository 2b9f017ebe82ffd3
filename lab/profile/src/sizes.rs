//! Classes of message sizes.

/// Number of classes: 0 bytes, and each power of two up to 2^63.
pub const CLASSES: usize = 65;

/// The class of a size: 0 for no bytes, else 1 + k where 2^k <= size < 2^(k+1).
pub fn class(bytes: u64) -> usize {
    (u64::BITS - bytes.leading_zeros()) as usize
}

/// Lower bound of a class, in bytes.
pub fn least(class: usize) -> u64 {
    match class {
        0 => 0,
        class => 1 << (class - 1).min(63),
    }
}

/// Bounds of the classes in the literature (endapps-2006, table 1): below 2 KiB, 16 KiB, 1 MiB, and all above.
pub const PAPER_BOUNDS: [u64; 3] = [2 << 10, 16 << 10, 1 << 20];

/// Index of the class of [`PAPER_BOUNDS`] that contains a size class; the bounds are powers of two.
pub fn paper_class(class: usize) -> usize {
    PAPER_BOUNDS.iter().filter(|bound| least(class) >= **bound).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 1023, 1024].map(class), [0, 1, 2, 2, 3, 10, 11]);
        assert_eq!(class(u64::MAX), CLASSES - 1);
        for class_of_sizes in 0..CLASSES {
            assert_eq!(class(least(class_of_sizes)), class_of_sizes);
        }
    }

    #[test]
    fn classes_of_the_papers() {
        let of = |bytes| paper_class(class(bytes));
        assert_eq!([0, 2047, 2048, 16383, 16384, (1 << 20) - 1, 1 << 20].map(of), [0, 0, 1, 1, 2, 2, 3]);
    }
}
