//! The size of a simulated system.

/// How many hosts and rails.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// At least two.
    pub hosts: usize,
    /// At least one.
    pub rails: usize,
}
