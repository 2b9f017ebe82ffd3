//! Parameters of the model that calibration sets.

use fishplate_sim::testbed::Testbed;

/// Parameter set by a calibration point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// System calls that receive: `fetch_ns` of all stacks.
    Fetch,
    /// System calls that send: `transmit_ns` of all stacks.
    Transmit,
    /// Code of the library for each message: `eager_send_ns`, `eager_receive_ns`, `control_ns` and those of pieces.
    Messages,
    /// How late a shaper's timer is: `timer_us` of all rails.
    Timer,
    /// How late the emulator is: `late_us` of all rails.
    Lateness,
    /// Time of the emulator for a frame: `frame_us` of all rails.
    Frames,
}

/// A parameter with the value that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibrated {
    pub parameter: Parameter,
    /// In its unit.
    pub value: f64,
}

impl Parameter {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Parameter::Fetch => "a system call that receives, ns",
            Parameter::Transmit => "a system call that sends, ns",
            Parameter::Messages => "the library's code for a message, on each side, ns",
            Parameter::Timer => "lateness of the shaper's timer, us",
            Parameter::Lateness => "lateness of the emulator, us",
            Parameter::Frames => "the emulator's time for a frame, us",
        }
    }
}

impl Calibrated {
    pub fn apply(&self, testbed: &mut Testbed) {
        let value = self.value;
        for stack in testbed.stack.values_mut() {
            match self.parameter {
                Parameter::Fetch => stack.fetch_ns.iter_mut().for_each(|parameter| parameter.value = value),
                Parameter::Transmit => stack.transmit_ns.iter_mut().for_each(|parameter| parameter.value = value),
                Parameter::Messages => {
                    stack.eager_send_ns.value = value;
                    stack.eager_receive_ns.value = value;
                    stack.control_ns.value = value;
                    stack.rdma_send_ns.value = value;
                    stack.rdma_receive_ns.value = value;
                }
                _ => {}
            }
        }
        for emulated in testbed.rail.iter_mut().filter_map(|rail| rail.emulated.as_mut()) {
            match self.parameter {
                Parameter::Timer => emulated.timer_us.value = value,
                Parameter::Lateness => emulated.late_us.value = value,
                Parameter::Frames => emulated.frame_us.value = value,
                _ => {}
            }
        }
    }
}
