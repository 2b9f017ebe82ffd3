//! `weighted` and `even`: stripes in proportion to fixed weights.

use super::stripe::{Delivered, NextPiece, Plan, Stripe, proportional};
use super::view::View;

pub struct Weighted {
    even: bool,
    weights: Vec<u32>,
}

impl Weighted {
    /// One weight a rail; the rails' speeds where the list is empty.
    pub fn new(weights: Vec<u32>) -> Self {
        Weighted { even: false, weights }
    }

    /// Equal weights.
    pub fn even() -> Self {
        Weighted { even: true, weights: Vec::new() }
    }
}

impl Stripe for Weighted {
    fn plan(&mut self, len: u64, views: &[View]) -> Plan {
        let weights = views.iter().map(|view| if self.even { view.part_of(1.0) } else { view.weight(&self.weights) });
        Plan::Assigned(proportional(len, weights))
    }

    fn cut(&mut self, _remaining: u64, _pending: u64, _views: &[View]) -> Option<NextPiece> {
        None
    }

    fn delivered(&mut self, _stripes: &[Delivered]) {}

    fn explain(&self) -> String {
        if self.even { "even".into() } else { format!("weighted {:?}", self.weights) }
    }
}
