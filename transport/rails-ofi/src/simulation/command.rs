//! Commands of the test.

/// A command. `id` names an operation and its contents.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    Send {
        id: u64,
        from: usize,
        to: usize,
        len: u64,
        inject: bool,
    },
    Receive {
        id: u64,
        at: usize,
        from: usize,
        room: u64,
    },
    /// A read or a write of a peer's memory, which is registered for it.
    Access {
        id: u64,
        from: usize,
        to: usize,
        len: u64,
        is_write: bool,
    },
    /// The memory of an access is given back, whether or not that has ended.
    End {
        id: u64,
    },
    /// Nothing gets through between two nodes over a rail, or it does.
    Cut {
        rail: usize,
        a: usize,
        b: usize,
        is_cut: bool,
    },
    /// The domain of a rail of a node is gone, or is there again.
    Vanish {
        rail: usize,
        node: usize,
        is_gone: bool,
    },
    /// Two nodes lose each other.
    Part {
        a: usize,
        b: usize,
    },
}
