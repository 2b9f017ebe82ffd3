//! Arithmetic of published statements: sums and products of numbers and names, `min`, `max` and `sum` of values, and `rpi`;
//! comparisons of two of them.

use std::collections::BTreeMap;

/// Measured values; those of one set begin with its name and a point.
pub type Names = BTreeMap<String, f64>;

/// How far a value may be from another one that it is compared with by `~`, as a part of that, unless `within` says.
const TOLERANCE: f64 = 0.1;
/// Minimum part of the base's time that the best network must save: otherwise the divisor of [`rpi`] is too small.
const MIN_GAIN: f64 = 0.05;

/// The value of an expression; NaN where it is not defined.
///
/// # Errors
/// When it is malformed, or has an unknown name.
pub fn value(text: &str, names: &Names) -> Result<f64, String> {
    let mut reader = Reader { rest: text, names };
    let value = reader.sum()?;
    reader.end()?;
    Ok(value)
}

/// Whether a comparison holds: `A < B`, `<=`, `>`, `>=`, `A ~ B` or `A ~ B within PART`. `None` where a side is not defined.
///
/// # Errors
/// When it is malformed, or has an unknown name.
pub fn holds(text: &str, names: &Names) -> Result<Option<bool>, String> {
    let mut reader = Reader { rest: text, names };
    let left = reader.sum()?;
    let sign = ["<=", ">=", "<", ">", "~"].into_iter().find(|sign| reader.take(sign));
    let right = reader.sum()?;
    let part = if reader.take("within") { reader.sum()? } else { TOLERANCE };
    reader.end()?;
    let holds = match sign {
        Some("<=") => left <= right,
        Some(">=") => left >= right,
        Some("<") => left < right,
        Some(">") => left > right,
        Some(_) => (left - right).abs() <= part * right,
        None => return Err(format!("`{text}` compares nothing")),
    };
    Ok((!left.is_nan() && !right.is_nan()).then_some(holds))
}

/// What is left of a text.
struct Reader<'a> {
    rest: &'a str,
    names: &'a Names,
}

impl<'a> Reader<'a> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(format!("`{sign}` is missing before `{}`", self.rest)) }
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.trim().is_empty() { Ok(()) } else { Err(format!("`{}` does not belong there", self.rest)) }
    }

    /// A number, or a name.
    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
        let (word, rest) = text.split_at(text.find(|letter| !is_part(letter)).unwrap_or(text.len()));
        self.rest = rest;
        word
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut sum = self.product()?;
        loop {
            if self.take("+") {
                sum += self.product()?;
            } else if self.take("-") {
                sum -= self.product()?;
            } else {
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut product = self.factor()?;
        loop {
            if self.take("*") {
                product *= self.factor()?;
            } else if self.take("/") {
                product /= self.factor()?;
            } else {
                return Ok(product);
            }
        }
    }

    fn factor(&mut self) -> Result<f64, String> {
        if self.take("(") {
            let inside = self.sum()?;
            self.expect(")")?;
            return Ok(inside);
        }
        let word = self.word();
        if self.take("(") {
            return self.call(word);
        }
        let known = self.names.get(word).copied().or_else(|| word.parse().ok());
        known.ok_or_else(|| format!("nothing is called \"{word}\""))
    }

    fn call(&mut self, name: &str) -> Result<f64, String> {
        let mut values = self.argument()?;
        while self.take(",") {
            values.extend(self.argument()?);
        }
        self.expect(")")?;
        match (name, values.as_slice()) {
            ("min", values) => Ok(values.iter().copied().fold(f64::INFINITY, f64::min)),
            ("max", values) => Ok(values.iter().copied().fold(0.0, f64::max)),
            ("sum", values) => Ok(values.iter().sum()),
            ("rpi", [base, own, best]) => Ok(rpi(*base, *own, *best)),
            _ => Err(format!("there is no {name} of {} values", values.len())),
        }
    }

    /// All values of a set, or one.
    fn argument(&mut self) -> Result<Vec<f64>, String> {
        let before = self.rest;
        let prefix = format!("{}.", self.word());
        let set = self.names.iter().filter(|(name, _)| name.starts_with(&prefix));
        let set: Vec<f64> = set.map(|(_, value)| *value).collect();
        if set.is_empty() {
            self.rest = before;
            return Ok(vec![self.sum()?]);
        }
        Ok(set)
    }
}

/// Relative performance improvement in percent, of times: which part of what the best network saves another one saves.
/// NaN where that is next to nothing.
fn rpi(base: f64, own: f64, best: f64) -> f64 {
    if base - best < MIN_GAIN * base { f64::NAN } else { 100.0 * (base - own) / (base - best) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        [("a.one", 8.0), ("a.two", 2.0), ("b", 3.0)].map(|(name, value)| (name.to_string(), value)).into()
    }

    #[test]
    fn arithmetic_is_that_of_schools() {
        let of = |text: &str| value(text, &names()).unwrap();
        assert_eq!((of("1 + 2 * b - 4 / a.two"), of("(1 + 2) * (b - 1)"), of("2 - 1 - 1")), (5.0, 6.0, 0.0));
        assert_eq!((of("min(a)"), of("max(a, 2 * b)"), of("sum(a) / b")), (2.0, 8.0, 10.0 / 3.0));
        assert_eq!(of("rpi(112, 94, 86)").round(), 69.0);
        assert!(of("rpi(100, 99, 98)").is_nan());
    }

    #[test]
    fn comparisons_have_a_tolerance_where_they_ask_for_one() {
        let of = |text: &str| holds(text, &names()).unwrap();
        assert_eq!((of("b ~ 3.2"), of("b ~ 4"), of("b ~ 4 within 1 / 4")), (Some(true), Some(false), Some(true)));
        assert_eq!(["b < 3", "b <= 3", "a.one > b", "b >= a.one"].map(of), [false, true, true, false].map(Some));
        assert_eq!(of("rpi(1, 1, 1) > 0"), None);
    }

    #[test]
    fn what_is_malformed_is_told() {
        for (text, message) in [
            ("b + c", "nothing is called \"c\""),
            ("(b", "`)` is missing"),
            ("b b", "` b` does not belong there"),
            ("rpi(1, 2)", "there is no rpi of 2 values"),
        ] {
            assert!(value(text, &names()).unwrap_err().starts_with(message), "{text}");
        }
        assert_eq!(holds("b", &names()).unwrap_err(), "nothing is called \"\"");
    }
}
