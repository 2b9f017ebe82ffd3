//! Whether a libfabric keeps registrations for later that need not hold any more.
//!
//! Its cache of registrations has to be told when memory goes away. By default it sees calls of `munmap` and `brk` by
//! programs and libraries, but not those inside of the C library: memory that `free` gives back to the kernel, and that
//! `malloc` gets again at the same address, is still registered as it was, and an adapter writes to pages that nobody sees
//! any more. (So do programs over that libfabric alone.) What it caches is settled when it is loaded, by its environment.

/// How many registrations it keeps.
const COUNT: &str = "FI_MR_CACHE_MAX_COUNT";
/// Who tells it that memory goes away.
const MONITOR: &str = "FI_MR_CACHE_MONITOR";
/// Those that the kernel tells, and none, which is without a cache.
const GOOD_MONITORS: [&str; 3] = ["userfaultfd", "kdreg2", "disabled"];

/// Whether all that it keeps holds, by its settings.
///
/// # Errors
/// With what to do.
pub fn check(setting: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let is_good = |monitor: &str| GOOD_MONITORS.contains(&monitor);
    if setting(COUNT).as_deref() == Some("0") || setting(MONITOR).as_deref().is_some_and(is_good) {
        return Ok(());
    }
    Err(format!(
        "libfabric would keep registrations of memory that has been freed since; {COUNT}=0, which `fishplate run` sets, or \
         {MONITOR}=userfaultfd prevents that"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_kernel_tells_is_kept() {
        let check = |name: &'static str, value: &'static str| {
            check(|asked| (asked == name).then(|| value.to_string())).map_err(|error| error.contains("=0, which"))
        };
        for (name, value) in [(COUNT, "0"), (MONITOR, "userfaultfd"), (MONITOR, "kdreg2"), (MONITOR, "disabled")] {
            assert_eq!(check(name, value), Ok(()), "{name}={value}");
        }
        for (name, value) in [("", ""), (COUNT, "1024"), (COUNT, ""), (MONITOR, "memhooks"), (MONITOR, "0")] {
            assert_eq!(check(name, value), Err(true), "{name}={value}");
        }
    }
}
