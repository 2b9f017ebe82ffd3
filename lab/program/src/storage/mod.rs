//! Storage for programs in labs (docs/guide/storage.md), as data: what there is ([`description`]), what a user asks for
//! ([`Asked`]), where `fishplate setup` puts its packages ([`packages`]), and how it runs on hosts of a lab ([`Storage`]):
//! its processes ([`process`], [`started`]) with the values for their files and arguments ([`template`]).

mod asked;
mod description;
pub mod packages;
pub mod process;
mod running;
mod started;
mod template;

pub use asked::Asked;
pub use description::{Description, all, find};
pub use running::{Hosts, STORAGE, Storage};
