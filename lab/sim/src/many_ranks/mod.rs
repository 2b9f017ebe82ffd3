//! Many ranks a host: each has connections and estimates of its own, and all of a host share its rails.
//!
//! A [`Case`] is a pattern between hosts with some ranks each, over rails of given rates. In one run the ranks begin without
//! knowledge; then the last rail of all hosts has half its rate for a while, and then it is cut and comes back. A [`Row`] has
//! the goodput of each part over what the rates allow, how old what ranks know of rails gets, and how long it takes from the
//! first rank of a host that knows a changed rate to the last.

mod case;
mod knows;
mod measure;
mod parts;
mod pattern;
mod selection;
mod table;

pub use case::{Case, Knows};
pub use knows::Changed;
pub use measure::measure;
pub use pattern::Pattern;
pub use selection::Selection;
pub use table::{HEADER, Row};
