//! Atomic operations: which there are, and what each makes of a value. Numbers are libfabric's (`fi_atomic`(3)), and those
//! of the wire.
//!
//! The owner of the memory applies them: [`Atomic::combine`] is a function of values, and knows no memory.

mod value;

use value::{Complex, combine};

/// Longest array of one operation, in bytes: with what it is compared with, an operation fits into an injected message.
pub const MAX_ATOMIC_LEN: u64 = crate::limits::INJECT_SIZE / 2;

/// Operation on each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AtomicOperation {
    /// The less of both.
    Min = 0,
    /// The greater of both.
    Max = 1,
    /// The sum; integers wrap.
    Sum = 2,
    /// The product; integers wrap.
    Product = 3,
    /// 1 if either is not 0.
    LogicalOr = 4,
    /// 1 if neither is 0.
    LogicalAnd = 5,
    /// Bits of either.
    BitOr = 6,
    /// Bits of both.
    BitAnd = 7,
    /// 1 if just one is not 0.
    LogicalXor = 8,
    /// Bits of just one.
    BitXor = 9,
    /// No operation; the result is the old value.
    Read = 10,
    /// It is replaced.
    Write = 11,
    /// It is replaced if it equals the comparand.
    SwapIfEqual = 12,
    /// It is replaced unless it equals the comparand.
    SwapUnlessEqual = 13,
    /// It is replaced if the comparand is less or equal.
    SwapIfLessOrEqual = 14,
    /// It is replaced if the comparand is less.
    SwapIfLess = 15,
    /// It is replaced if the comparand is greater or equal.
    SwapIfGreaterOrEqual = 16,
    /// It is replaced if the comparand is greater.
    SwapIfGreater = 17,
    /// The bits that are set in the comparand are replaced.
    MaskedSwap = 18,
}

impl AtomicOperation {
    /// All of them, by number.
    pub const ALL: [AtomicOperation; 19] = {
        use AtomicOperation::*;
        [
            Min,
            Max,
            Sum,
            Product,
            LogicalOr,
            LogicalAnd,
            BitOr,
            BitAnd,
            LogicalXor,
            BitXor,
            Read,
            Write,
            SwapIfEqual,
            SwapUnlessEqual,
            SwapIfLessOrEqual,
            SwapIfLess,
            SwapIfGreaterOrEqual,
            SwapIfGreater,
            MaskedSwap,
        ]
    };

    /// Whether it has a comparand beside its operand.
    pub fn compares(self) -> bool {
        self as u8 >= AtomicOperation::SwapIfEqual as u8
    }
}

/// The type of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Datatype {
    /// `i8`
    Int8 = 0,
    /// `u8`
    Uint8 = 1,
    /// `i16`
    Int16 = 2,
    /// `u16`
    Uint16 = 3,
    /// `i32`
    Int32 = 4,
    /// `u32`
    Uint32 = 5,
    /// `i64`
    Int64 = 6,
    /// `u64`
    Uint64 = 7,
    /// `f32`
    Float = 8,
    /// `f64`
    Double = 9,
    /// Two `f32`: real and imaginary part.
    FloatComplex = 10,
    /// Two `f64`: real and imaginary part.
    DoubleComplex = 11,
    /// `i128`
    Int128 = 14,
    /// `u128`
    Uint128 = 15,
}

impl Datatype {
    /// All of them, in the order of their numbers. There are no long doubles, which have no type in Rust.
    pub const ALL: [Datatype; 14] = {
        use Datatype::*;
        [
            Int8,
            Uint8,
            Int16,
            Uint16,
            Int32,
            Uint32,
            Int64,
            Uint64,
            Float,
            Double,
            FloatComplex,
            DoubleComplex,
            Int128,
            Uint128,
        ]
    };

    /// Length in bytes.
    pub fn size(self) -> u64 {
        use Datatype::*;
        match self {
            Int8 | Uint8 => 1,
            Int16 | Uint16 => 2,
            Int32 | Uint32 | Float => 4,
            Int64 | Uint64 | Double | FloatComplex => 8,
            DoubleComplex | Int128 | Uint128 => 16,
        }
    }

    /// Its address is a multiple of this, in bytes.
    pub fn alignment(self) -> u64 {
        if self.is_complex() { self.size() / 2 } else { self.size() }
    }

    fn is_complex(self) -> bool {
        matches!(self, Datatype::FloatComplex | Datatype::DoubleComplex)
    }

    fn is_integer(self) -> bool {
        !matches!(self, Datatype::Float | Datatype::Double) && !self.is_complex()
    }
}

/// An operation on an array of elements, each of which is changed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atomic {
    operation: AtomicOperation,
    datatype: Datatype,
    /// The initiator gets the values from before the operation.
    fetches: bool,
    count: u32,
}

impl Atomic {
    /// `None`: the operation does not exist for this type, or `count` is 0 or above [`Atomic::most`]. Operations that compare,
    /// and reads, have a result whatever `fetches` says.
    pub fn new(operation: AtomicOperation, datatype: Datatype, fetches: bool, count: u32) -> Option<Atomic> {
        use AtomicOperation::*;
        let is_of_type = match operation {
            Sum | Product | LogicalOr | LogicalAnd | LogicalXor | Read | Write | SwapIfEqual | SwapUnlessEqual => true,
            BitOr | BitAnd | BitXor | MaskedSwap => datatype.is_integer(),
            Min | Max | SwapIfLessOrEqual | SwapIfLess | SwapIfGreaterOrEqual | SwapIfGreater => !datatype.is_complex(),
        };
        let must_fetch = operation.compares() || operation == Read;
        let fits = count > 0 && u64::from(count) * datatype.size() <= MAX_ATOMIC_LEN;
        (is_of_type && fits && (fetches || !must_fetch)).then_some(Atomic { operation, datatype, fetches, count })
    }

    /// Most elements of one operation on this type.
    pub fn most(datatype: Datatype) -> u32 {
        (MAX_ATOMIC_LEN / datatype.size()) as u32
    }

    /// As a number of the wire.
    pub fn word(&self) -> u64 {
        let Atomic { operation, datatype, fetches, count } = *self;
        operation as u64 | (datatype as u64) << 8 | u64::from(fetches) << 16 | u64::from(count) << 32
    }

    /// The operation that [`Atomic::word`] gave as `word`; `None` if there is none.
    pub fn of_word(word: u64) -> Option<Atomic> {
        let operation = *AtomicOperation::ALL.get((word & 0xff) as usize)?;
        let datatype = Datatype::ALL.into_iter().find(|datatype| *datatype as u64 == word >> 8 & 0xff)?;
        Atomic::new(operation, datatype, word >> 16 & 1 != 0, (word >> 32) as u32)
            .filter(|atomic| atomic.word() == word)
    }

    /// Operation on each element, with its operands.
    pub fn operation(&self) -> AtomicOperation {
        self.operation
    }

    /// Type of the elements.
    pub fn datatype(&self) -> Datatype {
        self.datatype
    }

    /// Whether the initiator gets the values from before the operation.
    pub fn fetches(&self) -> bool {
        self.fetches
    }

    /// Number of elements.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Length of the array that is changed, in bytes.
    pub fn target_len(&self) -> u64 {
        u64::from(self.count) * self.datatype.size()
    }

    /// Length of what it needs, in bytes: operands, and comparands behind these.
    pub fn operands_len(&self) -> u64 {
        match self.operation {
            AtomicOperation::Read => 0,
            operation if operation.compares() => 2 * self.target_len(),
            _ => self.target_len(),
        }
    }

    /// Length of the result, in bytes.
    pub fn result_len(&self) -> u64 {
        if self.fetches { self.target_len() } else { 0 }
    }

    /// The new value of an element that was `old`. Values are the bits of their type, in the low end.
    pub fn combine(&self, old: u128, operand: u128, comparand: u128) -> u128 {
        let combine = match self.datatype {
            Datatype::Int8 => combine::<i8>,
            Datatype::Uint8 => combine::<u8>,
            Datatype::Int16 => combine::<i16>,
            Datatype::Uint16 => combine::<u16>,
            Datatype::Int32 => combine::<i32>,
            Datatype::Uint32 => combine::<u32>,
            Datatype::Int64 => combine::<i64>,
            Datatype::Uint64 => combine::<u64>,
            Datatype::Float => combine::<f32>,
            Datatype::Double => combine::<f64>,
            Datatype::FloatComplex => combine::<Complex<f32>>,
            Datatype::DoubleComplex => combine::<Complex<f64>>,
            Datatype::Int128 => combine::<i128>,
            Datatype::Uint128 => combine::<u128>,
        };
        combine(self.operation, old, operand, comparand)
    }
}

#[cfg(test)]
mod tests;
