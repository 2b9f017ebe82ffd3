//! The machine: hosts with shaped rails, behind a switch whose ports have the rails' rates.

use std::rc::Rc;

use super::case::{Case, Knows};
use crate::history;
use crate::testbed::Testbed;

/// The machine of a case.
///
/// # Errors
/// When the testbed that it is made of is not as it was.
pub(super) fn testbed(case: &Case) -> Result<Rc<Testbed>, String> {
    let mut testbed = history::shaped(&case.rails)?;
    for (rail, mbit) in testbed.rail.iter_mut().zip(&case.rails) {
        let emulated = rail.emulated.as_mut().ok_or("the rail is not emulated")?;
        emulated.switched = true;
        if matches!(case.knows, Knows::Told | Knows::Fixed) {
            emulated.told_mbit.value = (*mbit).into();
        }
    }
    if case.knows == Knows::Fixed {
        for stack in testbed.stack.values_mut() {
            stack.multiplexing = Some("weighted-round-robin".into());
            stack.striping = Some("weighted".into());
            stack.without_padding = true;
        }
    }
    Ok(Rc::new(testbed))
}
