//! Where the end of the process comes in.

/// Runs when the process ends by itself. (What runs when the library is loaded may come before a sanitizer is ready.)
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = {
    extern "C" fn at_exit() {
        crate::notes::at_exit();
    }
    at_exit
};
