//! Statistics of values of several rounds: medians, ratios with confidence intervals, and significance.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure an interval is.
pub const CONFIDENCE: f64 = 0.95;

/// Median, least and greatest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

/// A ratio and its interval at [`CONFIDENCE`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Geometric mean of the ratios.
    pub mean: f64,
    /// Lower and upper end of the interval; `None` with less than two rounds.
    pub interval: Option<(f64, f64)>,
    /// Pairs behind it.
    pub pairs: usize,
}

/// The quotient of two means, with an interval at [`CONFIDENCE`] that knows how uncertain the denominator is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quotient {
    /// Mean of the numerators over mean of the denominators.
    pub value: f64,
    /// Where it may be.
    pub interval: Interval,
}

/// Where a quotient may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// A single pair has no spread.
    Unknown,
    /// From here to there.
    Within(f64, f64),
    /// Anywhere: the denominator may be 0.
    Unbounded,
}

/// Two independent groups of values compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Geometric mean of the second group over that of the first.
    pub ratio: f64,
    /// Interval of the ratio at [`CONFIDENCE`].
    pub interval: (f64, f64),
    /// p-value: probability of a ratio at least as far from 1 under the null hypothesis.
    pub p: f64,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] };
        Some(Spread { median, least, greatest })
    }
}

impl Ratio {
    /// From the logarithms of ratios, one a round: Student's t. `None` without any.
    pub fn of_logarithms(logarithms: &[f64]) -> Option<Ratio> {
        let (mean, variance) = mean_and_variance(logarithms)?;
        let pairs = logarithms.len();
        let interval = variance.and_then(|variance| {
            let half = quantile(pairs as f64 - 1.0)? * (variance / pairs as f64).sqrt();
            Some(((mean - half).exp(), (mean + half).exp()))
        });
        Some(Ratio { mean: mean.exp(), interval, pairs })
    }

    /// Whether the interval leaves no doubt that the ratio is above 1.
    pub fn is_above_one(&self) -> bool {
        self.interval.is_some_and(|(low, _)| low > 1.0)
    }
}

impl Quotient {
    /// From pairs of numerator and denominator, by E. C. Fieller's theorem. `None` without pairs, and where the mean
    /// denominator is 0.
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Option<Quotient> {
        let (above, below): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let ((a, variance_a), (b, variance_b)) = (mean_and_variance(&above)?, mean_and_variance(&below)?);
        if b == 0.0 {
            return None;
        }
        let value = a / b;
        let (Some(variance_a), Some(variance_b)) = (variance_a, variance_b) else {
            return Some(Quotient { value, interval: Interval::Unknown });
        };
        let count = pairs.len() as f64;
        let products: f64 = pairs.iter().map(|(above, below)| (above - a) * (below - b)).sum();
        // Variances and covariance of the means.
        let (aa, bb, ab) = (variance_a / count, variance_b / count, products / (count - 1.0) / count);
        let scale = (quantile(count - 1.0)? / b).powi(2);
        let g = scale * bb;
        if g >= 1.0 {
            return Some(Quotient { value, interval: Interval::Unbounded });
        }
        let root = aa - 2.0 * value * ab + value * value * bb - scale * (aa * bb - ab * ab);
        let half = (scale * root.max(0.0)).sqrt();
        let end = |half: f64| (value - scale * ab + half) / (1.0 - g);
        Some(Quotient { value, interval: Interval::Within(end(-half), end(half)) })
    }
}

impl Change {
    /// Welch's t test on the logarithms. `None` when either has less than two values.
    pub fn between(first: &[f64], second: &[f64]) -> Option<Change> {
        let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        let (mean_a, variance_a) = mean_and_variance(&logarithms(first))?;
        let (mean_b, variance_b) = mean_and_variance(&logarithms(second))?;
        let (a, b) = (variance_a? / first.len() as f64, variance_b? / second.len() as f64);
        let difference = mean_b - mean_a;
        let error = (a + b).sqrt();
        if error == 0.0 {
            let p = if difference == 0.0 { 1.0 } else { 0.0 };
            return Some(Change { ratio: difference.exp(), interval: (difference.exp(), difference.exp()), p });
        }
        // Welch and Satterthwaite's degrees of freedom.
        let freedom = (a + b).powi(2) / (a * a / (first.len() as f64 - 1.0) + b * b / (second.len() as f64 - 1.0));
        let half = quantile(freedom)? * error;
        let p = 2.0 * StudentsT::new(0.0, 1.0, freedom).ok()?.sf((difference / error).abs());
        Some(Change { ratio: difference.exp(), interval: ((difference - half).exp(), (difference + half).exp()), p })
    }
}

/// Which of these tests say that something is beyond noise, so that at most `rate` of those that do are expected to be
/// false (Benjamini and Hochberg 1995).
pub fn discoveries(p: &[f64], rate: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let count = p.len() as f64;
    let passes = |rank: usize| p[order[rank]] <= (rank + 1) as f64 / count * rate;
    let greatest = (0..order.len()).rev().find(|rank| passes(*rank)).map_or(0, |rank| rank + 1);
    let mut found = vec![false; p.len()];
    for index in &order[..greatest] {
        found[*index] = true;
    }
    found
}

/// Mean, and variance where there are two values or more.
fn mean_and_variance(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let count = values.len() as f64;
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, (values.len() > 1).then(|| squares / (count - 1.0))))
}

/// Two-sided quantile of Student's distribution at [`CONFIDENCE`].
fn quantile(freedom: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.5 + CONFIDENCE / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3 * b.abs().max(1e-3)
    }

    #[test]
    fn spreads() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, greatest: 3.0 }));
        assert_eq!(Spread::of(&[1.0, 2.0]).unwrap().median, 1.5);
    }

    #[test]
    fn ratios_have_the_interval_of_the_textbook() {
        // Mean 2, standard deviation 1, t(0.975, 2) = 4.3027: half width 4.3027 / sqrt(3) = 2.4842.
        let ratio = Ratio::of_logarithms(&[1.0, 2.0, 3.0]).unwrap();
        let (low, high) = ratio.interval.unwrap();
        assert!(near(ratio.mean.ln(), 2.0) && near(low.ln(), -0.4842) && near(high.ln(), 4.4842), "{ratio:?}");
        assert!(!ratio.is_above_one());
        assert_eq!(Ratio::of_logarithms(&[1.0]).unwrap().interval, None);
        assert_eq!(Ratio::of_logarithms(&[]), None);
        assert_eq!(Ratio::of_logarithms(&[f64::NEG_INFINITY, 1.0]), None);
    }

    #[test]
    fn quotients_have_fiellers_interval() {
        // Denominators without noise: the interval of a mean. Mean 2, half width 2.4842, over 4.
        let Quotient { value, interval } = Quotient::of_pairs(&[(1.0, 4.0), (2.0, 4.0), (3.0, 4.0)]).unwrap();
        let Interval::Within(low, high) = interval else { panic!("{interval:?}") };
        assert!(near(value, 0.5) && near(low, -0.1211) && near(high, 1.1211), "{low} {high}");
        // The ends are the quotients q for which the mean of a - q b differs from 0 as much as t allows.
        let pairs = [(5.0, 10.2), (5.4, 9.9), (4.7, 10.5), (5.2, 9.6)];
        let Interval::Within(low, high) = Quotient::of_pairs(&pairs).unwrap().interval else { panic!() };
        for end in [low, high] {
            let left: Vec<f64> = pairs.iter().map(|(a, b)| a - end * b).collect();
            let (mean, variance) = mean_and_variance(&left).unwrap();
            assert!(near(mean.abs() / (variance.unwrap() / 4.0).sqrt(), quantile(3.0).unwrap()), "{end}");
        }
        assert_eq!(Quotient::of_pairs(&[(1.0, 1.0), (1.0, -0.9)]).unwrap().interval, Interval::Unbounded);
        assert_eq!(Quotient::of_pairs(&[(1.0, 2.0)]), Some(Quotient { value: 0.5, interval: Interval::Unknown }));
        assert_eq!((Quotient::of_pairs(&[]), Quotient::of_pairs(&[(1.0, 0.0)])), (None, None));
    }

    #[test]
    fn changes_are_welchs() {
        // Logarithms 1, 2, 3 and 4, 6, 8: difference 4, error sqrt(1/3 + 4/3), t = 3.0984, 2.941 degrees of freedom.
        let values = |logarithms: [f64; 3]| logarithms.map(f64::exp);
        let change = Change::between(&values([1.0, 2.0, 3.0]), &values([4.0, 6.0, 8.0])).unwrap();
        assert!(near(change.ratio.ln(), 4.0) && (0.053..0.056).contains(&change.p), "{change:?}");
        assert_eq!(Change::between(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(Change::between(&[5.0, 5.0], &[5.0, 5.0]).unwrap().p, 1.0);
        assert_eq!(Change::between(&[5.0, 5.0], &[6.0, 6.0]).unwrap().p, 0.0);
    }

    #[test]
    fn many_tests_do_not_cry_wolf() {
        assert_eq!(discoveries(&[0.04, 0.5, 0.6, 0.7], 0.05), [false; 4]);
        assert_eq!(discoveries(&[0.9, 0.001, 0.02, 0.8], 0.05), [false, true, true, false]);
        assert!(discoveries(&[], 0.05).is_empty());
    }
}
