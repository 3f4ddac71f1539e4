#![expect(unsafe_code, reason = "adjtimex(2) has no safe form")]
//! The guest's clock, which the host sets right.

use std::io;

use libc::timex;
use msb_agent_protocol::Status;
use msb_agent_protocol::v1::{FollowClockReply, FollowClockRequest};
use rustix::time::{ClockId, clock_gettime};

const SECOND_NS: i64 = 1_000_000_000;
/// A guest that is so far behind is set right at once: programs expect leaps forward, as after a suspend.
const STEP_FORWARD_NS: i64 = SECOND_NS / 2;
/// A guest that is so far ahead is set back at once: the host's own clock was set back, or the guest's was set
/// by root in it. No machine gains so much between two comparisons, which are 30 s apart.
const STEP_BACK_NS: i64 = SECOND_NS;

/// A change of the clock, in nanoseconds.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    /// The clock leaps.
    Step(i64),
    /// The clock runs faster or slower by 0.05 % until it is right.
    Slew(i64),
}

/// Returns the change for a clock that is behind, or ahead if the number is negative.
const fn change(behind_ns: i64) -> Change {
    if behind_ns >= STEP_FORWARD_NS || behind_ns <= -STEP_BACK_NS {
        Change::Step(behind_ns)
    } else {
        Change::Slew(behind_ns)
    }
}

/// Sets the clock right by what the host says, and returns its time.
pub(crate) fn follow(request: &FollowClockRequest) -> Result<FollowClockReply, Status> {
    if let Some(behind_ns) = request.behind_ns {
        let changed = match change(behind_ns) {
            // A change that is still under way would be added.
            Change::Step(by_ns) => slew(0).and_then(|()| step(by_ns)),
            Change::Slew(by_ns) => slew(by_ns),
        };
        changed.map_err(|error| Status::internal(format!("cannot set the clock: {error}")))?;
    }
    let now = clock_gettime(ClockId::Realtime);
    let now_ns = now.tv_sec.saturating_mul(SECOND_NS);
    Ok(FollowClockReply {
        now_ns: now_ns.saturating_add(now.tv_nsec),
    })
}

fn step(by_ns: i64) -> io::Result<()> {
    adjust(|request| {
        request.modes = libc::ADJ_SETOFFSET | libc::ADJ_NANO;
        request.time.tv_sec = by_ns.div_euclid(SECOND_NS);
        // With `ADJ_NANO` the field holds nanoseconds, never less than 0.
        request.time.tv_usec = by_ns.rem_euclid(SECOND_NS);
    })
}

fn slew(by_ns: i64) -> io::Result<()> {
    adjust(|request| {
        request.modes = libc::ADJ_OFFSET_SINGLESHOT;
        request.offset = by_ns / 1000;
    })
}

fn adjust(fill: impl FnOnce(&mut timex)) -> io::Result<()> {
    // SAFETY: a structure of numbers, for which zeros are valid.
    let mut request: timex = unsafe { std::mem::zeroed() };
    fill(&mut request);
    // SAFETY: the structure is valid for reads and writes during the call.
    let state = unsafe { libc::adjtimex(&raw mut request) };
    if state < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_leaps_forward_and_rarely_back() {
        let hour_ns = 3600 * SECOND_NS;
        for leap_ns in [hour_ns, SECOND_NS, STEP_FORWARD_NS, -SECOND_NS, -hour_ns] {
            assert_eq!(change(leap_ns), Change::Step(leap_ns));
        }
        for small_ns in [
            STEP_FORWARD_NS - 1,
            1,
            0,
            -1,
            -STEP_FORWARD_NS,
            1 - STEP_BACK_NS,
        ] {
            assert_eq!(change(small_ns), Change::Slew(small_ns));
        }
    }

    #[test]
    fn a_request_without_a_difference_reads_the_clock() {
        let before = clock_gettime(ClockId::Realtime).tv_sec;
        let reply = follow(&FollowClockRequest { behind_ns: None }).expect("read");
        assert!((before..before + 60).contains(&(reply.now_ns / SECOND_NS)));
    }
}
