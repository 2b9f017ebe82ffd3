//! `binding`: everything to one peer over one subchannel; several peers spread over all.

use super::Multiplex;
use super::stripe::{Delivered, Lengths, NextPiece, Plan, Stripe};
use super::view::View;
use crate::ids::VcId;

pub struct Binding {
    vc: VcId,
}

impl Binding {
    pub fn new(vc: VcId) -> Self {
        Binding { vc }
    }

    fn bound(&self, views: &[View]) -> usize {
        self.vc.0 as usize % views.len()
    }
}

impl Multiplex for Binding {
    fn choose(&mut self, _len: u64, _pending: u64, views: &[View]) -> Option<usize> {
        Some(self.bound(views))
    }

    fn explain(&self) -> String {
        "binding".into()
    }
}

impl Stripe for Binding {
    fn plan(&mut self, len: u64, views: &[View]) -> Plan {
        let bound = self.bound(views);
        let lengths: Lengths = (0..views.len()).map(|position| if position == bound { len } else { 0 }).collect();
        Plan::Assigned(lengths)
    }

    fn cut(&mut self, _remaining: u64, _pending: u64, _views: &[View]) -> Option<NextPiece> {
        None
    }

    fn delivered(&mut self, _stripes: &[Delivered]) {}

    fn explain(&self) -> String {
        "binding".into()
    }
}
