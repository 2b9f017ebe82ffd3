//! MPI stacks as data: what they are ([`description`]), which are known ([`catalog`]), where their programs come from
//! ([`wheels`], [`source`]), and how they start a program ([`launcher`], [`invocation`]). Benchmarks, the demonstration
//! and commands use them.

mod abi;
mod catalog;
mod description;
mod folders;
mod invocation;
mod launcher;
pub mod packages;
mod source;
mod stack;
mod template;
pub mod wheels;

pub use abi::Abi;
pub use catalog::Catalog;
pub use folders::{absolute, cache_folder, own_folder};
pub use invocation::Invocation;
pub use launcher::{Hosts, Job, Spread};
pub use source::Source;
pub use stack::Stack;
pub use template::wheels_variables;
