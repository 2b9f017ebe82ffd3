//! `round-robin`, `window-round-robin` and `weighted-round-robin`: messages in turn, whatever their length.

use super::Multiplex;
use super::view::View;

/// `window` messages on one subchannel, then as many on the next (multirail-2004, section 4.4).
pub struct WindowRoundRobin {
    window: u32,
    sent: u32,
    current: usize,
}

impl WindowRoundRobin {
    pub fn new(window: u32) -> Self {
        WindowRoundRobin { window, sent: 0, current: 0 }
    }
}

impl Multiplex for WindowRoundRobin {
    fn choose(&mut self, _len: u64, _pending: u64, views: &[View]) -> Option<usize> {
        if self.sent == self.window {
            self.current += 1;
            self.sent = 0;
        }
        self.sent += 1;
        self.current %= views.len();
        Some(self.current)
    }

    fn explain(&self) -> String {
        if self.window == 1 { "round-robin".into() } else { format!("window-round-robin of {}", self.window) }
    }
}

/// In proportion to weights, spread as evenly as they allow.
pub struct WeightedRoundRobin {
    weights: Vec<u32>,
    /// Deficit counter of each subchannel: its share of the messages so far, less those that it was given.
    earned: Vec<f64>,
}

impl WeightedRoundRobin {
    pub fn new(weights: Vec<u32>) -> Self {
        WeightedRoundRobin { weights, earned: Vec::new() }
    }
}

impl Multiplex for WeightedRoundRobin {
    fn choose(&mut self, _len: u64, _pending: u64, views: &[View]) -> Option<usize> {
        self.earned.resize(views.len(), 0.0);
        let mut total = 0.0;
        let mut richest = 0;
        for (position, view) in views.iter().enumerate() {
            let weight = view.weight(&self.weights);
            total += weight;
            self.earned[position] += weight;
            if self.earned[position] > self.earned[richest] {
                richest = position;
            }
        }
        self.earned[richest] -= total;
        Some(richest)
    }

    fn explain(&self) -> String {
        format!("weighted-round-robin {:?}", self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn views(speeds: &[f64]) -> Vec<View> {
        let view = |(rail, speed): (usize, &f64)| View { rail: rail as u8, speed: *speed, ..View::idle(1.0) };
        speeds.iter().enumerate().map(view).collect()
    }

    fn choices(policy: &mut dyn Multiplex, views: &[View], count: usize) -> Vec<usize> {
        (0..count).map(|_| policy.choose(1, 1, views).unwrap()).collect()
    }

    #[test]
    fn a_window_stays_then_moves() {
        let mut policy = WindowRoundRobin::new(2);
        assert_eq!(choices(&mut policy, &views(&[1.0, 1.0]), 6), [0, 0, 1, 1, 0, 0]);
        let mut policy = WindowRoundRobin::new(1);
        assert_eq!(choices(&mut policy, &views(&[1.0, 1.0, 1.0]), 4), [0, 1, 2, 0]);
    }

    #[test]
    fn weights_are_kept_and_spread() {
        let mut policy = WeightedRoundRobin::new(vec![4, 1]);
        assert_eq!(choices(&mut policy, &views(&[1.0, 1.0]), 10), [0, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn streams_of_a_rail_share_its_weight() {
        let mut policy = WeightedRoundRobin::new(vec![4, 1]);
        let mut views = views(&[1.0, 1.0, 1.0]);
        for (view, (rail, streams)) in views.iter_mut().zip([(0, 1), (1, 2), (1, 2)]) {
            (view.rail, view.streams) = (rail, streams);
        }
        let chosen = choices(&mut policy, &views, 100);
        assert_eq!(chosen.iter().filter(|c| **c == 0).count(), 80);
    }

    #[test]
    fn without_weights_the_speeds_count_and_not_the_rates() {
        let mut policy = WeightedRoundRobin::new(Vec::new());
        let chosen = choices(&mut policy, &views(&[300.0, 100.0]), 400);
        assert_eq!(chosen.iter().filter(|c| **c == 0).count(), 300);
    }
}
