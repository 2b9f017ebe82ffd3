//! Numbers for the page's script: small ones behind each other, deflated together, in base64.

use serde::Serialize;

use crate::profile::packed;

/// Bits of a number's fraction; the rest are its power of two.
const FRACTION_BITS: u32 = 10;

#[derive(Default)]
pub struct Arrays {
    bytes: Vec<u8>,
}

/// Position of an array.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// Its first byte.
    at: usize,
    length: usize,
    /// Bytes of an element.
    width: usize,
}

impl Arrays {
    /// Adds shares of a whole, 0 to 1, each in a byte.
    pub fn shares(&mut self, shares: impl Iterator<Item = f64>) -> Place {
        let at = self.bytes.len();
        self.bytes.extend(shares.map(|share| (share.clamp(0.0, 1.0) * 250.0).round() as u8));
        Place { at, length: self.bytes.len() - at, width: 1 }
    }

    /// Adds amounts, with three digits, each in two bytes.
    pub fn amounts(&mut self, amounts: impl Iterator<Item = f64>) -> Place {
        // The script reads them as an array of such numbers, which must begin at an even place.
        self.bytes.resize(self.bytes.len().next_multiple_of(2), 0);
        let at = self.bytes.len();
        self.bytes.extend(amounts.flat_map(|amount| small(amount).to_le_bytes()));
        Place { at, length: (self.bytes.len() - at) / 2, width: 2 }
    }

    pub fn packed(&self) -> String {
        packed::pack(&self.bytes)
    }
}

/// A number in 16 bits: 0, or exponent plus one and mantissa. Numbers below 1 become 0.
fn small(amount: f64) -> u16 {
    if !(1.0..9e18).contains(&amount) {
        return 0;
    }
    let rounded = (amount as u64).max(1);
    let power = rounded.ilog2();
    let fraction = (amount / 2f64.powi(power as i32) - 1.0) * f64::from(1 << FRACTION_BITS);
    ((power as u16 + 1) << FRACTION_BITS) + (fraction as u16).min((1 << FRACTION_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits() {
        assert_eq!((small(0.0), small(0.5), small(1.0), small(3.0)), (0, 0, 1 << 10, (2 << 10) + 512));
        for amount in [7.0, 1234.5, 9.87e9, 1e18] {
            let code = small(amount);
            let read = 2f64.powi(i32::from(code >> 10) - 1) * (1.0 + f64::from(code & 1023) / 1024.0);
            assert!((read / amount - 1.0).abs() < 0.001, "{amount}: {read}");
        }
    }

    #[test]
    fn arrays_know_where_they_are() {
        let mut arrays = Arrays::default();
        let first = arrays.shares([0.0, 0.5, 2.0].into_iter());
        let second = arrays.amounts([1.0].into_iter());
        assert_eq!((first.at, first.length, second.at, second.length), (0, 3, 4, 1));
        assert_eq!(arrays.bytes, [0, 125, 250, 0, 0, 4]);
    }
}
