//! Bugs to plant between engines and drivers: each must be seen by the oracle that watches over its invariant.

use std::fmt;

macro_rules! mutations {
    ($($variant:ident, $name:literal, $oracle:literal, $what:literal;)*) => {
        /// A planted bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Mutation {
            $(#[doc = $what] $variant,)*
        }

        impl Mutation {
            /// All that there are.
            pub const ALL: &[Mutation] = &[$(Mutation::$variant),*];

            /// How it is called.
            pub fn name(self) -> &'static str {
                match self { $(Mutation::$variant => $name),* }
            }

            /// The oracle that has to see it.
            pub fn oracle(self) -> &'static str {
                match self { $(Mutation::$variant => $oracle),* }
            }

            /// Its effect.
            pub fn what(self) -> &'static str {
                match self { $(Mutation::$variant => $what),* }
            }
        }
    };
}

mutations! {
    CompletionTwice, "completion-twice", "completes-once", "a completion is reported twice";
    CompletionLost, "completion-lost", "completes-once", "a completion is never reported";
    CompletionWrongOperation, "wrong-failure", "completes-once", "a receive is reported as cancelled without a request";
    SwappedSequence, "swapped-sequence", "matches-in-order", "two messages change their sequence numbers";
    WrongTag, "wrong-tag", "matches-in-order", "a message arrives with another tag";
    AtomicsSwapped, "atomics-swapped", "counts", "two atomic operations change their numbers";
    AtomicTwice, "atomic-twice", "counts", "an atomic operation is applied twice";
    AtomicNever, "atomic-never", "counts", "an atomic operation is answered and not applied";
    StripeAside, "stripe-aside", "content", "a stripe is placed a byte beside its place";
    PayloadLost, "payload-lost", "content", "a payload is acknowledged and never placed";
    WriteAfterEnd, "write-after-end", "content", "a payload goes on into memory that has ended";
    CompletionEarly, "completion-early", "lease", "a send completes when it is posted";
    DetachForgotten, "detach-forgotten", "lease", "bytes that wait in memory that ends are not copied";
    InjectNotCopied, "inject-not-copied", "lease", "an injected message that waits is not copied";
    DeliveredEarly, "delivered-early", "lease", "frames that have just been put into shared memory are reported as taken";
    LentReleased, "lent-released", "lease", "lent memory is released while it is read";
    ClosedUnseen, "closed-unseen", "lease", "lent memory is read although the link to its owner has ended";
    BounceKept, "bounce-kept", "bounds", "buffers are not released";
    GrantDoubled, "grant-doubled", "conduct", "a sender believes in twice the grant";
    FrameTwice, "frame-twice", "conduct", "a frame is sent twice";
    SlotTwice, "slot-twice", "conduct", "a slot of shared memory is taken twice";
    BitFlip, "bit-flip", "conduct", "a bit of a header changes on its way";
    LeaveUnmeant, "leave-unmeant", "conduct", "LEAVE is said of a connection over which messages go on";
    ShutEarly, "shut-early", "conduct", "a connection that is let go is shut before it is drained";
    OrphanForgotten, "orphan-forgotten", "progress", "the first message after a connection is let go (one that waited for it) is lost";
    LeaveUnanswered, "leave-unanswered", "progress", "LEAVE is not answered";
    FrameLost, "frame-lost", "progress", "a frame is never sent";
    RecoverForgotten, "recover-forgotten", "progress", "frames that only failed shared memory has are not read back";
    GivenUp, "given-up", "progress", "an endpoint that is closed waits no longer than 5 s";
    GoodbyeEarly, "goodbye-early", "progress", "a closed endpoint counts sent frames as acknowledged";
    ClosedUnread, "closed-unread", "progress", "an endpoint is closed without waiting, with unread bytes, which resets its connections";
    EvictedForgotten, "evicted-forgotten", "progress", "a connection that was given back is not set up again";
    CreditKept, "credit-kept", "progress", "the credit of one message is never sent";
    TimeoutForgotten, "timeout-forgotten", "progress", "timeouts are not handled: frames without a reply are not acknowledged";
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.what())
    }
}
