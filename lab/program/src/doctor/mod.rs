//! Examines this host and others, and finds problems and remedies (docs/guide/doctor.md).
//!
//! [`examination`] goes through it: every host gathers its [`facts`], here directly, elsewhere in this program at the other
//! end of a [`remote_shell`] ([`remote_host`]). Then every host tries the ways to all others (`fishplate_rails::trial`). The
//! [`checks`] judge the facts; each [`finding`] is shown by [`print`](mod@print). `fishplate doctor` calls it.

pub mod checks;
pub mod examination;
mod facts;
pub mod finding;
pub mod print;
pub mod remote_host;
pub mod remote_shell;
