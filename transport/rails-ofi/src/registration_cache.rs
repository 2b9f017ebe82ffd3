//! Checks whether libfabric's registration cache can hold stale entries.
//!
//! The cache has to notice when memory is unmapped. By default it intercepts calls of `munmap` and `brk` by programs and
//! libraries, but not those inside the C library: memory that `free` returns to the kernel, and that `malloc` gets again at the
//! same address, has a stale registration, so that an adapter writes to the old pages. (Programs that use that libfabric alone have
//! the same problem.) The cache is configured by the environment when libfabric is loaded.

/// Variable with the maximum number of cached registrations.
const COUNT: &str = "FI_MR_CACHE_MAX_COUNT";
/// Variable with the name of the mechanism that notices unmapped memory.
const MONITOR: &str = "FI_MR_CACHE_MONITOR";
/// Mechanisms of the kernel, and none, which switches the cache off.
const GOOD_MONITORS: [&str; 3] = ["userfaultfd", "kdreg2", "disabled"];

/// Checks that by its settings the cache has no stale entries.
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
    fn only_values_from_the_kernel_are_kept() {
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
