//! Messages of the endpoints of this process to the user.

use std::sync::Mutex;

pub static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        TOLD.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

/// From now on: the first logger of a process stays.
pub fn listen() {
    if log::set_logger(&Listener).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}

/// Whether a message to the user contains all of `parts`.
pub fn told(parts: &[&str]) -> bool {
    TOLD.lock().unwrap().iter().any(|line| parts.iter().all(|part| line.contains(part)))
}
