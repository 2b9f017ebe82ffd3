//! Faults that tests plant into proofs, to see whether they are found.

use std::cell::Cell;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Proofs for this purpose do not cover their part of this number.
    LeftOut(&'static [u8], usize),
    /// Proofs for this purpose are not looked at.
    Unchecked(&'static [u8]),
    /// Proofs do not cover their purpose.
    WithoutPurpose,
}

thread_local! {
    static PLANTED: Cell<&'static [Fault]> = const { Cell::new(&[]) };
}

/// Does `what` with these faults.
pub fn with<T>(faults: &'static [Fault], what: impl FnOnce() -> T) -> T {
    PLANTED.set(faults);
    let done = what();
    PLANTED.set(&[]);
    done
}

/// The bytes that a proof for `purpose` of these parts covers.
pub fn covered<'a>(purpose: &'a [u8], parts: &[&'a [u8]]) -> (&'a [u8], Vec<&'a [u8]>) {
    let faults = PLANTED.get();
    let is_left_out = |at: usize| {
        faults.iter().any(|fault| matches!(fault, Fault::LeftOut(of, part) if *of == purpose && *part == at))
    };
    let parts = parts.iter().enumerate().filter(|(at, _)| !is_left_out(*at)).map(|(_, part)| *part).collect();
    (if faults.contains(&Fault::WithoutPurpose) { b"" } else { purpose }, parts)
}

/// Whether proofs for `purpose` are not looked at.
pub fn is_unchecked(purpose: &[u8]) -> bool {
    PLANTED.get().iter().any(|fault| matches!(fault, Fault::Unchecked(of) if *of == purpose))
}
