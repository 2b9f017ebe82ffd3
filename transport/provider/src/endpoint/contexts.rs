//! The contexts of operations in the engine.

use fishplate_engine::Context;
use slab::Slab;

/// Marks contexts that stand for an entry of the table. No pointer has these bits.
const MARK: u64 = 0xF15B << 48;
const MARK_BITS: u64 = 0xFFFF << 48;

/// Usually the application's context itself. An endpoint needs every completion that a counter counts, also those without an entry in
/// a completion queue: for these operations the context is the key of an entry in a table.
#[derive(Default)]
pub struct Contexts {
    table: Slab<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    user: u64,
    report: bool,
    multi: bool,
}

impl Contexts {
    /// The engine's context, and whether it has to notify, for an operation with the application's context `user`. `report`: the
    /// application wants its success reported; `counted`: a counter counts it; `multi`: it completes several times. The table grows
    /// with the operations under way.
    #[inline]
    pub fn open(&mut self, user: u64, report: bool, counted: bool, multi: bool) -> (Context, bool) {
        if !counted {
            return (Context(user), report);
        }
        let key = self.table.insert(Entry { user, report, multi });
        (Context(MARK | key as u64), true)
    }

    /// The application's context, and whether it wants a success reported. `released`: this is the last completion of an operation with
    /// several.
    #[inline]
    pub fn close(&mut self, context: Context, released: bool) -> (u64, bool) {
        let Some(key) = self.key(context) else { return (context.0, true) };
        let entry = self.table[key];
        if released || !entry.multi {
            self.table.remove(key);
        }
        (entry.user, entry.report)
    }

    /// The operation was refused.
    #[cold]
    pub fn abandon(&mut self, context: Context) {
        self.close(context, true);
    }

    /// The engine's context of the application's operation `user`.
    pub fn find(&self, user: u64) -> Context {
        let entry = self.table.iter().find(|(_, entry)| entry.user == user);
        entry.map_or(Context(user), |(key, _)| Context(MARK | key as u64))
    }

    fn key(&self, context: Context) -> Option<usize> {
        if context.0 & MARK_BITS != MARK {
            return None;
        }
        let key = (context.0 & !MARK_BITS) as usize;
        self.table.contains(key).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_counters_the_context_is_the_application_s() {
        let mut contexts = Contexts::default();
        assert_eq!(contexts.open(17, false, false, false), (Context(17), false));
        assert_eq!(contexts.close(Context(17), true), (17, true));
        assert_eq!(contexts.find(17), Context(17));
    }

    #[test]
    fn with_counters_silent_operations_notify_and_stay_silent() {
        let mut contexts = Contexts::default();
        let (silent, notify) = contexts.open(17, false, true, true);
        let (loud, _) = contexts.open(18, true, true, false);
        assert!(notify);
        assert_eq!(contexts.find(18), loud);
        assert_eq!(contexts.close(silent, false), (17, false));
        assert_eq!(contexts.close(silent, true), (17, false));
        assert_eq!(contexts.close(loud, false), (18, true));
        assert!(contexts.table.is_empty());
    }
}
