//! Hook at the end of the process.

/// Runs when the process exits normally. (A hook registered at loading might run before a sanitizer's runtime is ready.)
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = {
    extern "C" fn at_exit() {
        crate::notes::at_exit();
    }
    at_exit
};
