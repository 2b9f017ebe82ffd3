//! Scales of charts: where a value is, and which values have a line and a name.

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From 0.
    Linear,
    /// Powers of this base have equal distances.
    Logarithmic(Base),
}

/// Bases of round numbers on a logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Sizes.
    Two,
    /// All else.
    Ten,
}

/// An axis of a chart.
#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    least: f64,
    greatest: f64,
    /// Position of 0 on a logarithmic axis: a step before the least positive value.
    zero: Option<f64>,
}

impl Axis {
    /// A horizontal axis that holds these places exactly: linear without a base, otherwise logarithmic where they span
    /// enough.
    pub fn along(places: &[f64], base: Option<Base>) -> Axis {
        let Some(base) = base else { return Axis::linear(places) };
        let positive = places.iter().copied().filter(|place| *place > 0.0);
        let (least, greatest) = bounds(positive).unwrap_or((1.0, 1.0));
        let zero = places.contains(&0.0).then(|| if base == Base::Two { least / 2.0 } else { least / 10.0 });
        let spans = greatest / least >= 8.0 || zero.is_some() && greatest > least;
        if !spans {
            return Axis::linear(places);
        }
        Axis { scale: Scale::Logarithmic(base), least: zero.unwrap_or(least), greatest, zero }
    }

    fn linear(places: &[f64]) -> Axis {
        let (least, greatest) = bounds(places.iter().copied()).unwrap_or((0.0, 1.0));
        Axis { scale: Scale::Linear, least, greatest, zero: None }
    }

    /// A logarithmic vertical axis with some room. It spans a factor of two at least, so that noise looks like noise.
    pub fn logarithmic(values: &[f64]) -> Axis {
        let (least, greatest) = bounds(values.iter().copied().filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        let widen = (2.0 / (greatest / least)).max(1.0).sqrt() * 1.12;
        Axis { scale: Scale::Logarithmic(Base::Ten), least: least / widen, greatest: greatest * widen, zero: None }
    }

    /// A vertical axis from 0, with some room.
    pub fn from_zero(values: &[f64]) -> Axis {
        let greatest = bounds(values.iter().copied()).map_or(1.0, |(_, greatest)| greatest.max(f64::MIN_POSITIVE));
        Axis { scale: Scale::Linear, least: 0.0, greatest: greatest * 1.12, zero: None }
    }

    /// Position of a value: 0 at the axis' beginning, 1 at its end.
    pub fn at(&self, value: f64) -> f64 {
        let (least, greatest) = (self.map(self.least), self.map(self.greatest));
        if greatest > least { (self.map(self.place(value)) - least) / (greatest - least) } else { 0.5 }
    }

    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic(_) if value > 0.0 => value,
            Scale::Logarithmic(_) => self.zero.unwrap_or(self.least),
        }
    }

    fn map(&self, value: f64) -> f64 {
        if self.scale == Scale::Linear { value } else { value.ln() }
    }

    /// Round values along the axis, `most` at the most.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let base = match self.scale {
            Scale::Linear => return self.linear_ticks(most),
            Scale::Logarithmic(base) => base,
        };
        let least = if self.zero.is_some() { self.least * 1.01 } else { self.least };
        let mut ticks = match base {
            Base::Two => (1..=20).map(|step| powers(2.0, step, least, self.greatest)).find(|t| t.len() <= most),
            Base::Ten => Some(self.decimal_ticks(least, most)),
        }
        .unwrap_or_default();
        if self.zero.is_some() {
            ticks.insert(0, 0.0);
        }
        ticks
    }

    /// The places themselves where they are few and far enough apart, otherwise round values.
    pub fn ticks_at(&self, places: &[f64], most: usize) -> Vec<f64> {
        let apart = places.windows(2).all(|pair| self.at(pair[1]) - self.at(pair[0]) >= 0.9 / most as f64);
        if places.len() <= most && apart { places.to_vec() } else { self.ticks(most) }
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let step = round_step((self.greatest - self.least) / most as f64);
        let first = (self.least / step - 1e-9).ceil() as i64;
        (first..).map(|n| n as f64 * step).take_while(|value| *value <= self.greatest * (1.0 + 1e-9)).take(50).collect()
    }

    /// Finest first: linear steps over a small span, some of each decade, then decades further and further apart.
    fn decimal_ticks(&self, least: f64, most: usize) -> Vec<f64> {
        if self.greatest / least < 2.5 {
            return Axis { least, scale: Scale::Linear, ..self.clone() }.linear_ticks(most);
        }
        let fine = |factors: &[f64]| -> Vec<f64> {
            let decades = powers(10.0, 1, least / 10.0, self.greatest);
            let all = decades.iter().flat_map(|decade| factors.iter().map(move |factor| decade * factor));
            all.filter(|value| (least..=self.greatest).contains(value)).collect()
        };
        let fits = |ticks: &Vec<f64>| ticks.len() <= most;
        let decades = (1..=20).map(|step| powers(10.0, step, least, self.greatest));
        let finest = fine(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]);
        [finest, fine(&[1.0, 2.0, 3.0, 5.0]), fine(&[1.0, 2.0, 5.0]), fine(&[1.0, 3.0])]
            .into_iter()
            .chain(decades)
            .find(fits)
            .unwrap_or_default()
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |found, value| {
        let (least, greatest) = found.unwrap_or((value, value));
        Some((least.min(value), greatest.max(value)))
    })
}

/// Every `step`-th power of a base between two values.
fn powers(base: f64, step: i32, least: f64, greatest: f64) -> Vec<f64> {
    let first = (least.log(base) - 1e-9).ceil() as i32;
    let last = (greatest.log(base) + 1e-9).floor() as i32;
    (first..=last).filter(|power| power.rem_euclid(step) == 0).map(|power| base.powi(power)).collect()
}

/// 1, 2, 2.5 or 5 times a power of ten, not below `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.max(f64::MIN_POSITIVE).log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(150.0 / 6.0), 25.0);
        assert_eq!(round_step(1.0 / 6.0), 0.2);
        assert_eq!(round_step(500.0), 500.0);
    }

    #[test]
    fn sizes_have_powers_of_two_and_zero_its_place() {
        let sizes: Vec<f64> = (0..=22).map(|power| f64::from(1 << power)).collect();
        let axis = Axis::along(&sizes, Some(Base::Two));
        assert_eq!(axis.ticks_at(&sizes, 7), [1.0, 16.0, 256.0, 4096.0, 65536.0, 1048576.0]);
        assert_eq!((axis.at(1.0), axis.at((1 << 22) as f64), axis.at(2048.0)), (0.0, 1.0, 0.5));
        let delays = [0.0, 10.0, 100.0, 1000.0, 10000.0];
        let axis = Axis::along(&delays, Some(Base::Ten));
        assert_eq!(axis.ticks_at(&delays, 7), delays);
        assert_eq!((axis.at(0.0), axis.at(10.0)), (0.0, 0.25));
    }

    #[test]
    fn few_places_close_together_are_linear() {
        let axis = Axis::along(&[1.0, 2.0, 4.0], Some(Base::Two));
        assert!((axis.at(2.0) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(Axis::along(&[5.0], Some(Base::Two)).at(5.0), 0.5);
    }

    #[test]
    fn without_a_base_an_axis_is_linear() {
        assert_eq!(Axis::along(&[1.0, 101.0], None).at(51.0), 0.5);
    }

    #[test]
    fn noise_does_not_fill_the_chart() {
        let axis = Axis::logarithmic(&[100.0, 101.0]);
        assert!(axis.at(101.0) - axis.at(100.0) < 0.02);
        assert!(axis.ticks(6).len() >= 3);
        assert_eq!(Axis::logarithmic(&[1.0, 1e6]).ticks(8), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        assert_eq!(Axis::from_zero(&[134.0]).ticks(6), [0.0, 25.0, 50.0, 75.0, 100.0, 125.0, 150.0]);
        assert!(Axis::logarithmic(&[]).ticks(5).len() > 1);
    }
}
