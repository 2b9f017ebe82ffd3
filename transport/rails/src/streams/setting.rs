//! The setting of the number of streams.

use std::str::FromStr;

use fishplate_engine::limits::MAX_STREAMS;

/// Maximum of the automatic number unless set: there are ports of which a flow gets a tenth.
const DEFAULT_MAX: u8 = MAX_STREAMS;

/// TCP connections for each rail and peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// A fixed number.
    Fixed(u8),
    /// One, and more where one is not enough.
    Automatic {
        /// Maximum number.
        most: u8,
    },
}

impl Streams {
    /// The allowed values, for messages.
    pub const ALLOWED: &str = "1 to 16, auto, auto:MOST (2 to 16)";
    /// Automatic, up to the default maximum.
    pub const AUTOMATIC: Streams = Streams::Automatic { most: DEFAULT_MAX };

    /// Number of streams that are set up at first.
    pub fn first(self) -> u8 {
        match self {
            Streams::Fixed(number) => number,
            Streams::Automatic { .. } => 1,
        }
    }
}

/// An invalid value.
#[derive(Debug, PartialEq, Eq)]
pub struct NoStreams;

impl FromStr for Streams {
    type Err = NoStreams;

    fn from_str(text: &str) -> Result<Streams, NoStreams> {
        let number = |text: &str, least| {
            text.parse().ok().filter(|number| (least..=MAX_STREAMS).contains(number)).ok_or(NoStreams)
        };
        match text.split_once(':') {
            None if text == "auto" => Ok(Streams::AUTOMATIC),
            None => Ok(Streams::Fixed(number(text, 1)?)),
            Some(("auto", most)) => Ok(Streams::Automatic { most: number(most, 2)? }),
            Some(_) => Err(NoStreams),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_auto_and_auto_with_a_bound_are_read() {
        assert_eq!("3".parse(), Ok(Streams::Fixed(3)));
        assert_eq!("auto".parse(), Ok(Streams::AUTOMATIC));
        assert_eq!("auto:4".parse(), Ok(Streams::Automatic { most: 4 }));
        for wrong in ["0", "17", "auto:1", "auto:17", "auto:", "Auto", "4:auto", "-1", "auto:+x"] {
            assert_eq!(wrong.parse::<Streams>(), Err(NoStreams), "{wrong}");
        }
    }
}
