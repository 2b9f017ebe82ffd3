//! The limit of a flow: what one connection gets of a rail, as of a cloud's port, of a bond, or of a fabric with several paths.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Burst;

/// Classes unless the user says otherwise: few flows share one by chance.
const CLASSES: u8 = 16;
/// Offset of what follows is from the network header (linux/filter.h, `SKF_NET_OFF`).
const NETWORK: u32 = -0x10_0000_i32 as u32;
/// The class of packets without ports; the classes of flows are numbered after it.
const OTHERS: &str = "1:f";
const FIRST_CLASS: u32 = 0x10;
/// Queue of a class in bytes: several windows of TCP's.
const QUEUE: u64 = 1 << 20;

/// The flows of a rail are distinguished by the low bits of both ports, as by many switches; those of a class share its
/// limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FlowLimit {
    /// Rate of a class, in Mbit/s.
    mbit: u32,
    /// How many there are: a power of two. A bond has as many as ports.
    classes: u8,
}

impl FlowLimit {
    /// Lines for `tc -batch` that give the classes of `device` their rates, below a class 1:1 of `total` Mbit/s.
    pub fn tc_lines(self, device: &str, total: u32, burst: Burst) -> String {
        let FlowLimit { mbit, classes } = self;
        let class = |name: &str, rate: u32, ceil: u32| {
            let bucket = burst.bucket_bytes(ceil);
            format!(
                "class replace dev {device} parent 1:1 classid {name} htb rate {rate}mbit ceil {ceil}mbit \
                 burst {bucket} cburst {bucket} quantum 65536\n"
            )
        };
        let sure = (total / u32::from(classes)).clamp(1, mbit);
        let limited = (0..classes).map(|number| class(&FlowLimit::class(number), sure, mbit.min(total)));
        limited.chain([class(OTHERS, 1, total)]).collect()
    }

    /// Lines that give the classes queues, and flows their classes.
    pub fn tc_install_lines(self, device: &str) -> String {
        let queue = |number: u8| {
            let (parent, handle) = (FlowLimit::class(number), 0x20 + u32::from(number));
            format!("qdisc replace dev {device} parent {parent} handle {handle:x}: bfifo limit {QUEUE}\n")
        };
        let filter = format!(
            "filter add dev {device} parent 1: protocol ip prio 1 bpf bytecode \"{}\"\n",
            FlowLimit::program(self.classes)
        );
        (0..self.classes).map(queue).chain([filter]).collect()
    }

    /// The class that the shaper gives what no filter knows.
    pub fn default_class() -> &'static str {
        "f"
    }

    fn class(number: u8) -> String {
        format!("1:{:x}", FIRST_CLASS + u32::from(number))
    }

    /// The program of the filter, as tc takes it: a class by the bits of both ports above the lowest, which kernels use for
    /// something else, if it is TCP or UDP.
    fn program(classes: u8) -> String {
        let (load_byte, load_half, is_equal, done) = (48, 40, 21, 6);
        let (copy, exclusive_or, shift_right, and, add, done_by_value) = (7, 172, 116, 84, 4, 22);
        let at = |offset: u32| NETWORK + offset;
        let lines = [
            [load_byte, 0, 0, at(9)],
            [is_equal, 2, 0, 6],
            [is_equal, 1, 0, 17],
            [done, 0, 0, 0],
            [load_half, 0, 0, at(20)],
            [copy, 0, 0, 0],
            [load_half, 0, 0, at(22)],
            [exclusive_or, 0, 0, 0],
            [shift_right, 0, 0, 1],
            [and, 0, 0, u32::from(classes) - 1],
            [add, 0, 0, 1 << 16 | FIRST_CLASS],
            [done_by_value, 0, 0, 0],
        ];
        let lines = lines.map(|[code, if_true, if_false, value]| format!("{code} {if_true} {if_false} {value}"));
        format!("{},{}", lines.len(), lines.join(","))
    }
}

impl FromStr for FlowLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<FlowLimit, String> {
        let (mbit, classes) = match text.trim().split_once(':') {
            Some((mbit, classes)) => (mbit, classes.parse().ok()),
            None => (text.trim(), Some(CLASSES)),
        };
        let classes = classes.filter(|classes| [2, 4, 8, 16].contains(classes));
        match (mbit.parse().ok().filter(|mbit| *mbit > 0), classes) {
            (Some(mbit), Some(classes)) => Ok(FlowLimit { mbit, classes }),
            _ => Err(format!(
                "\"{text}\" is no limit of flows; one is Mbit/s, or Mbit/s:CLASSES, which are 2, 4, 8 or 16"
            )),
        }
    }
}

impl TryFrom<String> for FlowLimit {
    type Error = String;

    fn try_from(text: String) -> Result<FlowLimit, String> {
        text.parse()
    }
}

impl From<FlowLimit> for String {
    fn from(limit: FlowLimit) -> String {
        format!("{}:{}", limit.mbit, limit.classes)
    }
}

impl fmt::Display for FlowLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s a flow, {} classes", self.mbit, self.classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_classes_or_sixteen() {
        let read = |text: &str| text.parse::<FlowLimit>().map(|limit| (limit.mbit, limit.classes));
        assert_eq!(read("500:2"), Ok((500, 2)));
        assert_eq!(read("250"), Ok((250, 16)));
        for wrong in ["0", "500:3", "500:32", "500:", ":4", "x", "-1", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let limit: FlowLimit = "100:8".parse().unwrap();
        assert_eq!(FlowLimit::try_from(String::from(limit)), Ok(limit));
    }

    #[test]
    fn classes_get_their_limit_and_their_guaranteed_share_of_the_total() {
        let lines = "500:2".parse::<FlowLimit>().unwrap().tc_lines("r0", 1000, Burst::Packet);
        assert_eq!(lines.lines().count(), 3);
        let first = "class replace dev r0 parent 1:1 classid 1:10 htb rate 500mbit ceil 500mbit burst 2048 cburst 2048";
        assert!(lines.starts_with(first), "{lines}");
        assert!(
            "900".parse::<FlowLimit>().unwrap().tc_lines("r0", 100, Burst::Default).contains("rate 6mbit ceil 100mbit")
        );
    }
}
