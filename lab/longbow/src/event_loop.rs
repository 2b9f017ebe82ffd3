//! The event loop: waits for frames, for delivery times, and for requests.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant as Clock};

use anyhow::{Context, Result};
use fishplate_link::Instant;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeSpec, TimeVal, TimeValLike};

use crate::control_channel::ControlChannel;
use crate::lane::Lane;
use crate::message::{Request, Response, Status};
use crate::plan::{Backend, check_settings};
use crate::wire::Wire;

/// How much earlier than due a frame may be delivered: timers fire 15 to 50 us late, and a wake-up costs about as much
/// processor time.
pub const EARLY_NS: u64 = 30_000;

/// All lanes of a running emulator.
pub struct EventLoop<W: Wire> {
    lanes: Vec<Lane<W>>,
    backend: Backend,
    start: Clock,
    wakeups: u64,
}

impl<W: Wire> EventLoop<W> {
    pub fn new(lanes: Vec<Lane<W>>, backend: Backend) -> EventLoop<W> {
        EventLoop { lanes, backend, start: Clock::now(), wakeups: 0 }
    }

    /// Runs until the control channel is closed.
    pub fn run(&mut self, control: &mut ControlChannel) -> Result<()> {
        // Requests may have been received together with the plan.
        self.answer_all(control)?;
        loop {
            let now = self.now();
            for lane in &mut self.lanes {
                lane.deliver(now, EARLY_NS)?;
            }
            let ready = self.wait(control)?;
            self.wakeups += 1;
            let now = self.now();
            for (lane, ready) in self.lanes.iter_mut().zip(&ready) {
                if *ready {
                    lane.receive(now)?;
                }
            }
            if ready.last() == Some(&true) {
                if !control.read_available()? {
                    return Ok(());
                }
                self.answer_all(control)?;
            }
        }
    }

    fn answer_all(&mut self, control: &mut ControlChannel) -> Result<()> {
        while let Some(request) = control.next_request() {
            let response = request.and_then(|request| self.answer(request));
            control.respond(&response.unwrap_or_else(|error| Response::Error(format!("{error:#}"))))?;
        }
        Ok(())
    }

    fn now(&self) -> Instant {
        Instant(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Sleeps until a frame or request arrives or a delivery is due. Returns which lanes have frames and, last, whether there are
    /// requests.
    fn wait(&self, control: &ControlChannel) -> Result<Vec<bool>> {
        let next = self.lanes.iter().filter_map(Lane::next_delivery).min();
        let now = self.now();
        let timeout =
            next.map(|next| TimeSpec::from(Duration::from_nanos(next.since_ns(now).saturating_sub(EARLY_NS))));
        let sources = self.lanes.iter().map(|lane| lane.wire.readable()).chain([control.readable()]);
        let mut polled: Vec<PollFd<'_>> =
            sources.map(|source: BorrowedFd<'_>| PollFd::new(source, PollFlags::POLLIN)).collect();
        match ppoll(&mut polled, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => Ok(polled.iter().map(|fd| fd.any().unwrap_or(false)).collect()),
            Err(error) => Err(error).context("cannot wait for frames"),
        }
    }

    fn answer(&mut self, request: Request) -> Result<Response> {
        let now = self.now();
        match request {
            Request::Set { rail, direction, settings } => {
                check_settings(&settings, self.backend)?;
                let mut lanes = self.lanes.iter_mut();
                let lane = lanes.find(|lane| lane.rail == rail && lane.direction == direction);
                lane.with_context(|| format!("there is no rail {rail}"))?.set(now, settings)?;
                Ok(Response::Done)
            }
            Request::Status { reset } => {
                let status = self.status()?;
                if reset {
                    self.lanes.iter_mut().for_each(Lane::reset_peaks);
                }
                Ok(Response::Status(status))
            }
        }
    }

    fn status(&self) -> Result<Status> {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).context("cannot measure processor time")?;
        let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
        Ok(Status {
            running_s: self.start.elapsed().as_secs_f64(),
            user_s: seconds(usage.user_time()),
            system_s: seconds(usage.system_time()),
            wakeups: self.wakeups,
            lanes: self.lanes.iter().map(Lane::status).collect(),
        })
    }
}
