//! The values of a running sandbox, read and sent again before they expire.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::control::{ControlAnswer, ControlClient, ControlError, ControlRequest, ValueState};
use crate::resolve::{ResolveError, resolve_one};
use crate::secret::Secret;
use crate::wait::is_ready;

mod schedule;

#[cfg(test)]
mod tests;

use schedule::{Outcome, Schedule};

/// Limit of a request to the network process, which answers without waiting for anything.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the sources of the secrets that have a time between two reads, and sends each value to the control
/// socket at `socket` before the last one expires.
///
/// At most one source is read in a second. A value that cannot be read is told to `report` and not sent, so
/// that the last one expires at its time; the source is read again after one second, then after two, four
/// and so on, up to a minute. A secret whose value was removed is not sent again.
///
/// Returns when the network process closes the connection, or if no secret is left.
///
/// # Errors
/// A socket that cannot be connected to, and a network process that does not answer as it should.
pub fn refresh(
    secrets: &[Secret],
    socket: &Path,
    report: &mut dyn FnMut(&ResolveError),
) -> Result<(), ControlError> {
    let mut client = ControlClient::connect(socket, ANSWER_TIMEOUT)?;
    let mut schedule = Schedule::new(secrets, Instant::now());
    while let Some((index, due)) = schedule.next() {
        if is_closed_before(&client, due)? {
            return Ok(());
        }
        schedule.begin(Instant::now());
        let Some(secret) = schedule.secret(index) else {
            return Ok(());
        };
        let outcome = match send_new(&mut client, secret, report) {
            Err(ControlError::Closed) => return Ok(()),
            sent => sent?,
        };
        schedule.end(index, outcome, Instant::now());
    }
    Ok(())
}

/// Waits, and returns true if the connection is closed before `due`. The network process sends nothing
/// without a question, so a connection that becomes readable is closed, or must be.
fn is_closed_before(client: &ControlClient, due: Instant) -> Result<bool, ControlError> {
    let mut watched = [PollFd::new(client, PollFlags::IN)];
    is_ready(&mut watched, due).map_err(ControlError::Receive)
}

fn send_new(
    client: &mut ControlClient,
    secret: &Secret,
    report: &mut dyn FnMut(&ResolveError),
) -> Result<Outcome, ControlError> {
    // Asked before the command is run: a value that its user has removed must not come back.
    let ControlAnswer::Secrets(states) = client.send(ControlRequest::List)? else {
        return Err(ControlError::Answer);
    };
    let state = states.iter().find(|state| state.name == secret.name);
    if state.is_none_or(|state| state.state == ValueState::Removed) {
        return Ok(Outcome::Removed);
    }
    let resolved = match resolve_one(secret) {
        Ok(resolved) => resolved,
        Err(error) => {
            report(&error);
            return Ok(Outcome::Failed);
        }
    };
    let request = ControlRequest::Set {
        name: resolved.name,
        value: resolved.value,
        expires_ms: secret.expires_ms(),
    };
    match client.send(request)? {
        ControlAnswer::Done => Ok(Outcome::Sent),
        ControlAnswer::Refused { .. } => Ok(Outcome::Failed),
        ControlAnswer::Secrets(_) => Err(ControlError::Answer),
    }
}
