//! Whether more threads want to run than there are processors, as the kernel counts them (proc_loadavg(5)): the kernel does
//! not say it of one processor.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

use crate::idle_processors::idle_times;

static LOADAVG: LazyLock<Option<File>> = LazyLock::new(|| File::open("/proc/loadavg").ok());
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| {
    idle_times(&std::fs::read_to_string("/proc/stat").unwrap_or_default()).into_iter().flatten().count()
});

/// Whether it is so now. A look takes about a microsecond.
pub fn is_any_waiting() -> bool {
    let mut text = [0; 128];
    let Some(len) = LOADAVG.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()) else { return false };
    running(&String::from_utf8_lossy(&text[..len])).is_some_and(|running| running > *PROCESSORS)
}

/// How many threads run or could.
fn running(loadavg: &str) -> Option<usize> {
    loadavg.split_ascii_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_threads_are_in_front_of_all() {
        assert_eq!(running("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(running("0.20 0.18"), None);
        assert_eq!(running(""), None);
    }
}
