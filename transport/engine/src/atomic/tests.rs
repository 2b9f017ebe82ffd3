use super::*;

fn one(operation: AtomicOperation, datatype: Datatype) -> Atomic {
    Atomic::new(operation, datatype, true, 1).unwrap()
}

fn of_int32(operation: AtomicOperation, old: i32, operand: i32, comparand: i32) -> i32 {
    let bits = |value: i32| u128::from(value as u32);
    one(operation, Datatype::Int32).combine(bits(old), bits(operand), bits(comparand)) as u32 as i32
}

#[test]
fn integers_are_combined_as_documented() {
    use AtomicOperation::*;
    let expected = [
        (Min, -7),
        (Max, 5),
        (Sum, -2),
        (Product, -35),
        (LogicalOr, 1),
        (LogicalAnd, 1),
        (BitOr, 5 | -7),
        (BitAnd, 5 & -7),
        (LogicalXor, 0),
        (BitXor, 5 ^ -7),
        (Read, 5),
        (Write, -7),
    ];
    for (operation, value) in expected {
        assert_eq!(of_int32(operation, 5, -7, 0), value, "{operation:?}");
    }
    // The comparand, and whether the value is replaced.
    let swaps = [
        (SwapIfEqual, [false, true, false]),
        (SwapUnlessEqual, [true, false, true]),
        (SwapIfLessOrEqual, [true, true, false]),
        (SwapIfLess, [true, false, false]),
        (SwapIfGreaterOrEqual, [false, true, true]),
        (SwapIfGreater, [false, false, true]),
    ];
    for (operation, replaced) in swaps {
        let all = [4, 5, 6].map(|comparand| of_int32(operation, 5, -7, comparand) == -7);
        assert_eq!(all, replaced, "{operation:?}");
    }
    assert_eq!(of_int32(MaskedSwap, 0x0ff0, 0x1234, 0x00ff), 0x0f34);
    assert_eq!(of_int32(Sum, i32::MAX, 1, 0), i32::MIN);
}

#[test]
fn signs_count_where_the_type_has_some() {
    let most = |datatype: Datatype| one(AtomicOperation::Max, datatype).combine(1, 0xff, 0);
    assert_eq!((most(Datatype::Int8), most(Datatype::Uint8)), (1, 0xff));
    let least = one(AtomicOperation::Min, Datatype::Int128).combine(0, (-1i128) as u128, 0);
    assert_eq!(least as i128, -1);
}

#[test]
fn reals_and_complex_numbers_have_their_arithmetic() {
    let bits = |value: f64| u128::from(value.to_bits());
    let sum = one(AtomicOperation::Sum, Datatype::Double).combine(bits(0.5), bits(0.25), 0);
    assert_eq!(sum, bits(0.75));
    let not_a_number = bits(f64::NAN);
    assert_eq!(one(AtomicOperation::Min, Datatype::Double).combine(bits(1.0), not_a_number, 0), bits(1.0));
    // (1 + 2i) * (3 + 4i) = -5 + 10i
    let complex = |real: f32, imaginary: f32| u128::from(real.to_bits()) | u128::from(imaginary.to_bits()) << 32;
    let product = one(AtomicOperation::Product, Datatype::FloatComplex);
    assert_eq!(product.combine(complex(1.0, 2.0), complex(3.0, 4.0), 0), complex(-5.0, 10.0));
    let or = one(AtomicOperation::LogicalOr, Datatype::FloatComplex);
    assert_eq!(or.combine(complex(0.0, 2.0), 0, 0), complex(1.0, 0.0));
}

#[test]
fn only_operations_that_there_are_have_a_number() {
    let mut valid = 0;
    for operation in AtomicOperation::ALL {
        for datatype in Datatype::ALL {
            for fetches in [false, true] {
                let Some(atomic) = Atomic::new(operation, datatype, fetches, 3) else { continue };
                assert_eq!(Atomic::of_word(atomic.word()), Some(atomic));
                assert!(fetches || !operation.compares());
                valid += 1;
            }
        }
    }
    assert!(valid > 300, "{valid}");
    let word = one(AtomicOperation::Sum, Datatype::Int64).word();
    for wrong in [word | 1 << 17, word & 0xffff_ffff, word | 31, word | 0xf000, word | 0xffff << 32] {
        assert_eq!(Atomic::of_word(wrong), None, "{wrong:#x}");
    }
    assert_eq!(Atomic::new(AtomicOperation::BitOr, Datatype::Float, true, 1), None);
    assert_eq!(Atomic::new(AtomicOperation::Min, Datatype::DoubleComplex, true, 1), None);
    assert!(Atomic::new(AtomicOperation::Sum, Datatype::Int8, false, Atomic::most(Datatype::Int8)).is_some());
    assert_eq!(Atomic::new(AtomicOperation::Sum, Datatype::Int8, false, Atomic::most(Datatype::Int8) + 1), None);
}
