//! Writes to the output and the error output. Names of hosts, programs, communicators and files come from others, in
//! files and over sockets: all that is printed passes [`printable`], so that a terminal obeys none of it.

use std::fmt::Arguments;

use fishplate_guest::printable;

/// Prints a text as it is, with its line ends, to the output.
#[expect(clippy::print_stdout, reason = "the only place that does")]
pub fn print(text: &str) {
    print!("{}", printable(text));
}

/// Prints a line to the output, as [`say!`](crate::say) does.
pub fn say(line: Arguments<'_>) {
    print(&format!("{line}\n"));
}

/// Prints a line to the error output, as [`tell!`](crate::tell) does.
#[expect(clippy::print_stderr, reason = "the only place that does")]
pub fn tell(line: Arguments<'_>) {
    eprintln!("{}", printable(&line.to_string()));
}

/// Prints a line to the output.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::output::terminal::say(format_args!($($argument)*)) };
}

/// Prints a line to the error output.
#[macro_export]
macro_rules! tell {
    ($($argument:tt)*) => { $crate::output::terminal::tell(format_args!($($argument)*)) };
}
