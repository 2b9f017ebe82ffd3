//! Frames with checksums in a stream, some bits of which are changed on the way.

use fishplate_rails::changed_stream::{self, Outcome};

use crate::support::rng::Rng;

/// How inputs end.
pub const ENDS: &[&str] = &["unchanged", "found in a header", "found in a payload"];

/// One stream, as `bytes` choose.
pub fn run(bytes: &[u8]) -> &'static str {
    let mut rng = Rng::over(bytes);
    match changed_stream::run(&mut |end| rng.below(end)) {
        Outcome::Unchanged => "unchanged",
        Outcome::FoundInHeader => "found in a header",
        Outcome::FoundInPayload => "found in a payload",
    }
}
