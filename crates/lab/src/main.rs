//! The program `fishplate`.

fn main() {}
