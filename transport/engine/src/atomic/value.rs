//! Values of each type, and what operations make of them.

use std::cmp::Ordering;

use super::AtomicOperation;

/// A value of one of the types.
pub trait Value: Copy + PartialEq {
    fn of_bits(bits: u128) -> Self;
    fn bits(self) -> u128;
    /// Whether it is not 0.
    fn is_true(self) -> bool;
    /// 1 for true, 0 for false.
    fn truth(is_true: bool) -> Self;
    /// The sum; integers wrap.
    fn plus(self, other: Self) -> Self;
    /// The product; integers wrap.
    fn times(self, other: Self) -> Self;
    /// `None` for complex numbers and NaN, which have no order.
    fn order(self, other: Self) -> Option<Ordering>;
}

/// The new value of an element that was `old`.
pub fn combine<V: Value>(operation: AtomicOperation, old: u128, operand: u128, comparand: u128) -> u128 {
    use AtomicOperation::*;
    let (was, by, compared) = (V::of_bits(old), V::of_bits(operand), V::of_bits(comparand));
    let swap_if = |wanted: bool| if wanted { operand } else { old };
    let truth = |is_true: bool| V::truth(is_true).bits();
    let order = || compared.order(was);
    match operation {
        Min => swap_if(by.order(was) == Some(Ordering::Less)),
        Max => swap_if(by.order(was) == Some(Ordering::Greater)),
        Sum => was.plus(by).bits(),
        Product => was.times(by).bits(),
        LogicalOr => truth(was.is_true() || by.is_true()),
        LogicalAnd => truth(was.is_true() && by.is_true()),
        LogicalXor => truth(was.is_true() != by.is_true()),
        BitOr => old | operand,
        BitAnd => old & operand,
        BitXor => old ^ operand,
        Read => old,
        Write => operand,
        SwapIfEqual => swap_if(compared == was),
        SwapUnlessEqual => swap_if(compared != was),
        SwapIfLessOrEqual => swap_if(order().is_some_and(Ordering::is_le)),
        SwapIfLess => swap_if(order().is_some_and(Ordering::is_lt)),
        SwapIfGreaterOrEqual => swap_if(order().is_some_and(Ordering::is_ge)),
        SwapIfGreater => swap_if(order().is_some_and(Ordering::is_gt)),
        MaskedSwap => (operand & comparand) | (old & !comparand),
    }
}

macro_rules! integers {
    ($($type:ty, $bits:ty;)*) => {
        $(impl Value for $type {
            fn of_bits(bits: u128) -> Self {
                bits as $type
            }

            fn bits(self) -> u128 {
                self as $bits as u128
            }

            fn is_true(self) -> bool {
                self != 0
            }

            fn truth(is_true: bool) -> Self {
                is_true as $type
            }

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn order(self, other: Self) -> Option<Ordering> {
                Some(self.cmp(&other))
            }
        })*
    };
}

integers! {
    i8, u8; u8, u8; i16, u16; u16, u16; i32, u32; u32, u32; i64, u64; u64, u64; i128, u128; u128, u128;
}

macro_rules! reals {
    ($($type:ty, $bits:ty;)*) => {
        $(impl Value for $type {
            fn of_bits(bits: u128) -> Self {
                <$type>::from_bits(bits as $bits)
            }

            fn bits(self) -> u128 {
                self.to_bits().into()
            }

            fn is_true(self) -> bool {
                self != 0.0
            }

            fn truth(is_true: bool) -> Self {
                is_true.into()
            }

            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn times(self, other: Self) -> Self {
                self * other
            }

            fn order(self, other: Self) -> Option<Ordering> {
                self.partial_cmp(&other)
            }
        })*
    };
}

reals! { f32, u32; f64, u64; }

/// A complex number: its real part in the lower half of the bits.
#[derive(Clone, Copy, PartialEq)]
pub struct Complex<T> {
    real: T,
    imaginary: T,
}

macro_rules! complex_numbers {
    ($($part:ty, $bits:literal;)*) => {
        $(impl Value for Complex<$part> {
            fn of_bits(bits: u128) -> Self {
                Complex { real: Value::of_bits(bits), imaginary: Value::of_bits(bits >> $bits) }
            }

            fn bits(self) -> u128 {
                self.real.bits() | self.imaginary.bits() << $bits
            }

            fn is_true(self) -> bool {
                self.real != 0.0 || self.imaginary != 0.0
            }

            fn truth(is_true: bool) -> Self {
                Complex { real: is_true.into(), imaginary: 0.0 }
            }

            fn plus(self, other: Self) -> Self {
                Complex { real: self.real + other.real, imaginary: self.imaginary + other.imaginary }
            }

            fn times(self, other: Self) -> Self {
                let real = self.real * other.real - self.imaginary * other.imaginary;
                Complex { real, imaginary: self.real * other.imaginary + self.imaginary * other.real }
            }

            fn order(self, _: Self) -> Option<Ordering> {
                None
            }
        })*
    };
}

complex_numbers! { f32, 32; f64, 64; }
