//! Maps handles of requests to IDs. MPI reuses handles, and some handles are shared by several requests.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// Limit of the requests whose handle was reused before the call that completed them was recorded. That call is recorded
/// soon, as each thread can be in one call only.
const MAX_DISPLACED: usize = 4096;
/// Limit of the requests that share one handle.
const MAX_SHARED: usize = 1 << 16;

/// Identifies a request in the process.
pub type Id = u64;

/// Tracked requests by handle.
#[derive(Default)]
pub struct Handles {
    own: FxHashMap<usize, Id>,
    /// Requests by shared handle, the oldest first.
    shared: FxHashMap<usize, VecDeque<Id>>,
    displaced: VecDeque<Id>,
    next: Id,
}

impl Handles {
    /// Adds a request. Returns its ID, and the ID of a request to be forgotten.
    pub fn add(&mut self, handle: usize, is_shared: bool) -> (Id, Option<Id>) {
        let id = self.new_id();
        if is_shared {
            let ids = self.shared.entry(handle).or_default();
            ids.push_back(id);
            let surplus = if ids.len() > MAX_SHARED { ids.pop_front() } else { None };
            return (id, surplus);
        }
        self.displaced.extend(self.own.insert(handle, id));
        let surplus = if self.displaced.len() > MAX_DISPLACED { self.displaced.pop_front() } else { None };
        (id, surplus)
    }

    /// A new ID for a probed message, which may become a request.
    pub fn new_id(&mut self) -> Id {
        self.next += 1;
        self.next
    }

    /// The request of a handle, before a call that may complete it. To be followed by [`Handles::remove`] or [`Handles::keep`].
    pub fn take(&mut self, handle: usize) -> Option<Id> {
        match self.shared.get_mut(&handle) {
            Some(ids) => ids.pop_front(),
            None => self.own.get(&handle).copied(),
        }
    }

    /// To be called if the request is still active.
    pub fn keep(&mut self, handle: usize, id: Id) {
        if let Some(ids) = self.shared.get_mut(&handle) {
            ids.push_front(id);
        }
    }

    /// To be called if the request no longer exists.
    pub fn remove(&mut self, handle: usize, id: Id) {
        if self.own.get(&handle) == Some(&id) {
            self.own.remove(&handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_given_out_again_before_the_call_is_recorded_that_has_freed_it() {
        let mut handles = Handles::default();
        let (first, _) = handles.add(7, false);
        assert_eq!(handles.take(7), Some(first));
        let (second, _) = handles.add(7, false);
        handles.remove(7, first);
        assert_eq!(handles.take(7), Some(second));
        handles.remove(7, second);
        assert_eq!(handles.take(7), None);
    }

    #[test]
    fn a_handle_of_several_requests() {
        let mut handles = Handles::default();
        let [(first, _), (second, _)] = [handles.add(7, true), handles.add(7, true)];
        assert_eq!([handles.take(7), handles.take(7), handles.take(7)], [Some(first), Some(second), None]);
        handles.keep(7, second);
        assert_eq!(handles.take(7), Some(second));
    }

    #[test]
    fn requests_that_are_never_completed_are_forgotten() {
        let mut handles = Handles::default();
        let forgotten = (0..2 * MAX_DISPLACED).filter_map(|_| handles.add(7, false).1).count();
        assert_eq!(forgotten, MAX_DISPLACED - 1);
    }
}
