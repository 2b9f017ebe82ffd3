//! Packing of blocks that cross the WAN as one message.

use crate::buffer::Slice;
use crate::schedule::Schedule;
use crate::step::StepId;

/// Blocks one after the other, wherever the user has them.
pub struct Packing {
    /// All of them.
    pub whole: Slice,
    /// Each.
    pub blocks: Vec<Slice>,
    /// Where the user has each.
    places: Vec<Slice>,
}

impl Packing {
    /// Where the user has them if they follow each other there, else in temporary memory.
    pub fn of(schedule: &mut Schedule, places: Vec<Slice>) -> Packing {
        match Slice::joined(&places) {
            Some(whole) => Packing { whole, blocks: places.clone(), places },
            None => Packing::temporary(schedule, places),
        }
    }

    /// In temporary memory.
    pub fn temporary(schedule: &mut Schedule, places: Vec<Slice>) -> Packing {
        let lens: Vec<usize> = places.iter().map(|place| place.len).collect();
        let (whole, blocks) = in_a_row(schedule, &lens);
        Packing { whole, blocks, places }
    }

    /// Copies blocks from where the user has them.
    pub fn pack(&self, schedule: &mut Schedule, after: &[StepId]) -> Vec<StepId> {
        let pairs = self.places.iter().zip(&self.blocks);
        pairs.filter_map(|(place, block)| schedule.copy(*place, *block, after)).collect()
    }

    /// Copies blocks to where the user wants them.
    pub fn unpack(&self, schedule: &mut Schedule, after: &[StepId]) -> Vec<StepId> {
        let pairs = self.places.iter().zip(&self.blocks);
        pairs.filter_map(|(place, block)| schedule.copy(*block, *place, after)).collect()
    }
}

/// Temporary memory for parts of these lengths, one after the other.
pub fn in_a_row(schedule: &mut Schedule, lens: &[usize]) -> (Slice, Vec<Slice>) {
    let whole = schedule.temporary(lens.iter().sum());
    let mut start = 0;
    let part = |len: &usize| {
        start += len;
        whole.part(start - len, *len)
    };
    let parts = lens.iter().map(part).collect();
    (whole, parts)
}
