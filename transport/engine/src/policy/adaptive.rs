//! `adaptive`: weights that follow what the stripes took (multirail-2004, section 4.5).

use super::stripe::{Delivered, NextPiece, Plan, Stripe, proportional};
use super::view::View;
use crate::time::Instant;

/// Minimum weight, as a share of an equal weight: without bytes a subchannel's time could not be measured.
const MIN_WEIGHT: f64 = 0.01;

pub struct Adaptive {
    alpha: f64,
    /// One for each subchannel; their sum, the paper's W_total, is their number.
    weights: Vec<f64>,
    /// When the last stripe of each was acknowledged.
    finished: Vec<Instant>,
}

impl Adaptive {
    pub fn new(alpha: f64) -> Self {
        Adaptive { alpha, weights: Vec::new(), finished: Vec::new() }
    }
}

impl Stripe for Adaptive {
    fn plan(&mut self, len: u64, views: &[View]) -> Plan {
        // Starts from equal weights, as the paper does. A subchannel that joins later starts from 1 too.
        self.weights.resize(views.len(), 1.0);
        self.finished.resize(views.len(), Instant::default());
        Plan::Assigned(proportional(len, self.weights.iter().copied()))
    }

    fn cut(&mut self, _remaining: u64, _pending: u64, _views: &[View]) -> Option<NextPiece> {
        None
    }

    /// Equation 4: W'_i = (1 - alpha) W_i + alpha W_total (W_i / t_i) / sum_k (W_k / t_k). Where W_i stands for a rate
    /// (equation 1), it is the weight that this message was cut by, as its stripe's length tells: with many messages
    /// in flight, weights have changed since. For the same reason t_i does not begin before the subchannel's stripe before
    /// is acknowledged: while both wait behind one another, times of all subchannels are alike, whatever their rates.
    fn delivered(&mut self, stripes: &[Delivered]) {
        if stripes.len() != self.weights.len() {
            return;
        }
        let service_ns =
            |(stripe, before): (&Delivered, &Instant)| stripe.finished.since_ns(stripe.started.max(*before));
        let times: Vec<u64> = stripes.iter().zip(&self.finished).map(service_ns).collect();
        self.finished.iter_mut().zip(stripes).for_each(|(last, stripe)| *last = stripe.finished.max(*last));
        if times.contains(&0) || stripes.iter().any(|stripe| stripe.bytes == 0) {
            return;
        }
        let total = self.weights.len() as f64;
        let rates = stripes.iter().zip(&times).map(|(stripe, ns)| stripe.bytes as f64 / *ns as f64);
        let sum: f64 = rates.clone().sum();
        let new: Vec<f64> = rates
            .zip(&self.weights)
            .map(|(rate, weight)| (1.0 - self.alpha) * weight + self.alpha * total * rate / sum)
            .map(|weight| weight.max(MIN_WEIGHT))
            .collect();
        let sum: f64 = new.iter().sum();
        self.weights = new.into_iter().map(|weight| weight * total / sum).collect();
    }

    fn explain(&self) -> String {
        let total: f64 = self.weights.iter().sum();
        let shares: Vec<String> = self.weights.iter().map(|weight| format!("{:.3}", weight / total)).collect();
        format!("adaptive, alpha {}, shares {}", self.alpha, shares.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 4 << 20;

    fn lengths(policy: &mut Adaptive, subchannels: usize) -> Vec<u64> {
        match policy.plan(LEN, &vec![View::idle(1.0); subchannels]) {
            Plan::Assigned(lengths) => lengths.to_vec(),
            Plan::LateBound => unreachable!("adaptive assigns"),
        }
    }

    /// A stripe with its bytes and its estimated duration in nanoseconds, after all known traffic.
    fn stripe(policy: &Adaptive, (bytes, ns): (u64, u64)) -> Delivered {
        let started = policy.finished.iter().copied().max().unwrap_or_default();
        Delivered { bytes, started, finished: started.plus_ns(ns) }
    }

    fn deliver(policy: &mut Adaptive, stripes: &[(u64, u64)]) {
        let stripes: Vec<Delivered> = stripes.iter().map(|of| stripe(policy, *of)).collect();
        policy.delivered(&stripes);
    }

    /// One message over rails of the given rates.
    fn send(policy: &mut Adaptive, rates: &[f64]) {
        let took = |(bytes, rate): (&u64, &f64)| (*bytes, (*bytes as f64 / rate * 1e9) as u64);
        let stripes: Vec<(u64, u64)> = lengths(policy, rates.len()).iter().zip(rates).map(took).collect();
        deliver(policy, &stripes);
    }

    #[test]
    fn one_step_is_the_papers_equation() {
        let mut policy = Adaptive::new(0.25);
        lengths(&mut policy, 2);
        deliver(&mut policy, &[(100, 100), (100, 400)]);
        // W_total = 2; W/t = 0.01 and 0.0025; new shares 0.8 and 0.2 of which alpha is taken.
        let expected = [0.75 + 0.25 * 2.0 * 0.8, 0.75 + 0.25 * 2.0 * 0.2];
        for (weight, expected) in policy.weights.iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn weights_reach_the_ratio_of_the_rails_and_follow_it() {
        let mut policy = Adaptive::new(0.5);
        for (rates, share) in [([1e9, 0.25e9], 0.8), ([1e9, 1e9], 0.5), ([0.25e9, 1e9], 0.2)] {
            for _ in 0..20 {
                send(&mut policy, &rates);
            }
            let got = lengths(&mut policy, 2)[0] as f64 / LEN as f64;
            assert!((got - share).abs() < 0.01, "{got} instead of {share}");
        }
    }

    #[test]
    fn measurements_of_messages_cut_long_ago_do_not_make_it_swing() {
        let mut policy = Adaptive::new(0.5);
        lengths(&mut policy, 2);
        for _ in 0..20 {
            deliver(&mut policy, &[(2 << 20, 17_000), (2 << 20, 68_000)]);
        }
        let got = lengths(&mut policy, 2)[0] as f64 / LEN as f64;
        assert!((got - 0.8).abs() < 0.01, "{got}");
    }

    #[test]
    fn a_rail_that_hung_can_come_back() {
        let mut policy = Adaptive::new(1.0);
        for _ in 0..50 {
            send(&mut policy, &[1e9, 1.0]);
        }
        assert!(lengths(&mut policy, 2)[1] > 0);
        for _ in 0..50 {
            send(&mut policy, &[1e9, 1e9]);
        }
        assert!(lengths(&mut policy, 2)[1] > LEN / 3);
    }

    /// Eight messages at once: the fast subchannel takes all its stripes at once, the slow one only what leaves in 8 ms.
    #[test]
    fn stripes_that_wait_behind_each_other_show_the_rates() {
        const ROOM_NS: [u64; 2] = [u64::MAX, 8_000_000];
        let mut policy = Adaptive::new(0.5);
        let (mut now, ns_a_byte) = (Instant(1_000_000), [8, 32]);
        for _ in 0..20 {
            let cut: Vec<Vec<u64>> = (0..8).map(|_| lengths(&mut policy, 2)).collect();
            let mut free = [now, now];
            for message in cut {
                let stripe = |at: usize| Delivered {
                    bytes: message[at],
                    started: now.max(Instant(free[at].0.saturating_sub(ROOM_NS[at]))),
                    finished: free[at].plus_ns(message[at] * ns_a_byte[at]),
                };
                let stripes = [stripe(0), stripe(1)];
                free = stripes.map(|stripe| stripe.finished);
                policy.delivered(&stripes);
            }
            now = free[0].max(free[1]).plus_ns(1000);
        }
        let got = lengths(&mut policy, 2)[0] as f64 / LEN as f64;
        assert!((got - 0.8).abs() < 0.01, "{got}");
    }
}
