#![expect(unsafe_code, reason = "the requests of filesystems have no safe form")]
//! The upper disk's filesystem, frozen while the host reads the disk.
//!
//! A thread of its own freezes it and thaws it. So neither a busy event loop nor calls that wait for
//! the frozen filesystem keep it frozen.

use std::ffi::c_int;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use msb_agent_protocol::v1::freeze_event::Event;
use msb_agent_protocol::v1::{FreezeEvent, FreezeInput, FreezeStart, Frozen, Thawed};
use msb_agent_protocol::{Status, Streaming};
use rustix::fs::syncfs;
use rustix::ioctl::{NoArg, Opcode, ioctl, opcode};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;

use crate::boot::{UPPER_MOUNT, own_mounts};
use crate::console;
use crate::exec::Running;
use crate::files::Answers;

/// `FIFREEZE` and `FITHAW` (uapi/linux/fs.h). Filesystems ignore their argument.
const FIFREEZE: Opcode = opcode::read_write::<c_int>(b'X', 119);
const FITHAW: Opcode = opcode::read_write::<c_int>(b'X', 120);

/// The longest time for which a host gets the filesystem frozen.
const LIMIT_MAX: Duration = Duration::from_secs(60);
/// The interval in which the end of the sandbox is noticed, which a frozen filesystem would block.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The number of events of a call, all of which have room in its channel.
const EVENTS: usize = 2;

/// Held while a host has the filesystem frozen; others wait for it.
static TURN: Mutex<()> = Mutex::const_new(());

type Host = mpsc::Sender<Result<FreezeEvent, Status>>;

/// A filesystem that can be frozen.
trait Freezable {
    /// Writes what is dirty, then keeps every write waiting.
    fn freeze(&self) -> io::Result<()>;

    /// Lets writes go on. Fails if the filesystem is not frozen.
    fn thaw(&self) -> io::Result<()>;
}

/// Freezes the upper disk until the host asks for the thaw, is gone, or has had its time.
pub(crate) fn freeze(
    start: FreezeStart,
    inputs: Streaming<FreezeInput>,
    running: &Running,
) -> Answers<FreezeEvent> {
    let (host, events) = mpsc::channel(EVENTS);
    let limit = Duration::from_millis(start.limit_ms.into()).min(LIMIT_MAX);
    tokio::spawn(attend(limit, inputs, host, running.clone()));
    ReceiverStream::new(events)
}

async fn attend(limit: Duration, mut inputs: Streaming<FreezeInput>, host: Host, running: Running) {
    let _turn = tokio::select! {
        turn = TURN.lock() => turn,
        () = host.closed() => return,
    };
    // The thread thaws when this end of the channel is dropped.
    let (asking, asked) = channel::<()>();
    let (ending, mut ended) = oneshot::channel::<()>();
    let events = host.clone();
    let work = move || {
        let frozen = || send(&events, Ok(Event::Frozen(Frozen {})));
        let outcome = UpperDisk::open()
            .and_then(|disk| hold(&disk, limit, &asked, || running.is_closed(), frozen));
        let thawed = outcome.map(|was_frozen| Event::Thawed(Thawed { was_frozen }));
        send(&events, thawed.map_err(|error| refusal(&error)));
        drop(ending);
    };
    if let Err(error) = Builder::new().spawn(work) {
        send(&host, Err(refusal(&error)));
        return;
    }
    tokio::select! {
        // Any further input asks for the thaw, and so do their end and their failure.
        _ = inputs.message() => {}
        () = host.closed() => {}
        _ = &mut ended => return,
    }
    drop(asking);
    // The next host's turn begins once the filesystem is thawed.
    let _ = ended.await;
}

fn send(host: &Host, event: Result<Event, Status>) {
    let event = event.map(|event| FreezeEvent { event: Some(event) });
    // The host may have disconnected; otherwise there is room.
    let _ = host.try_send(event);
}

fn refusal(error: &io::Error) -> Status {
    Status::failed_precondition(format!("cannot freeze the writable disk: {error}"))
}

/// Freezes a filesystem, and thaws it once that is asked for, the sandbox is ending, or the limit is
/// over. Returns true if it was frozen until it was asked for.
fn hold(
    filesystem: &impl Freezable,
    limit: Duration,
    asked: &Receiver<()>,
    is_ending: impl Fn() -> bool,
    frozen: impl FnOnce(),
) -> io::Result<bool> {
    filesystem.freeze()?;
    frozen();
    let was_asked = wait(limit, asked, is_ending);
    match filesystem.thaw() {
        Ok(()) => Ok(was_asked),
        // Root in the guest can thaw it, too.
        Err(error) => {
            console::log(&format!("cannot thaw the writable disk: {error}"));
            Ok(false)
        }
    }
}

/// Waits until the thaw is asked for, which returns true, until the sandbox is ending, or until the
/// limit is over.
fn wait(limit: Duration, asked: &Receiver<()>, is_ending: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !is_ending() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        match asked.recv_timeout(left.min(POLL_INTERVAL)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
    false
}

/// The filesystem of the upper disk, by a directory of it.
struct UpperDisk(OwnedFd);

impl UpperDisk {
    fn open() -> io::Result<Self> {
        own_mounts::open(UPPER_MOUNT).map(Self)
    }
}

impl Freezable for UpperDisk {
    fn freeze(&self) -> io::Result<()> {
        // Most is written while others still can write, too.
        syncfs(&self.0)?;
        // SAFETY: the request has no argument.
        unsafe { ioctl(&self.0, NoArg::<FIFREEZE>::new()) }.map_err(Into::into)
    }

    fn thaw(&self) -> io::Result<()> {
        // SAFETY: the request has no argument.
        unsafe { ioctl(&self.0, NoArg::<FITHAW>::new()) }.map_err(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc::Sender;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    /// A filesystem that somebody else may have thawed.
    #[derive(Default)]
    struct Fake {
        is_frozen: Cell<bool>,
        is_refusing: bool,
    }

    impl Freezable for Fake {
        fn freeze(&self) -> io::Result<()> {
            if self.is_refusing {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            self.is_frozen.set(true);
            Ok(())
        }

        fn thaw(&self) -> io::Result<()> {
            let was_frozen = self.is_frozen.replace(false);
            was_frozen
                .then_some(())
                .ok_or_else(|| io::ErrorKind::InvalidInput.into())
        }
    }

    /// Holds a filesystem. `meanwhile` gets it frozen, with the host's end.
    fn held(limit: Duration, is_ending: bool, meanwhile: impl FnOnce(&Fake, Sender<()>)) -> bool {
        let fake = Fake::default();
        let (asking, asked) = channel();
        let frozen = || {
            assert!(fake.is_frozen.get());
            meanwhile(&fake, asking);
        };
        let was_frozen = hold(&fake, limit, &asked, || is_ending, frozen).expect("frozen");
        assert!(!fake.is_frozen.get(), "it was not thawed");
        was_frozen
    }

    #[test]
    fn a_host_that_asks_or_is_gone_thaws() {
        assert!(held(LONG, false, |_, asking| asking
            .send(())
            .expect("sent")));
        assert!(held(LONG, false, |_, asking| drop(asking)));
    }

    #[test]
    fn without_a_host_the_clock_and_the_shutdown_thaw() {
        let mut kept = None;
        let limit = Duration::from_millis(1);
        assert!(!held(limit, false, |_, asking| kept = Some(asking)));
        assert!(!held(LONG, true, |_, asking| kept = Some(asking)));
        // A host that asks too late is told so.
        assert!(!held(Duration::ZERO, false, |_, asking| {
            asking.send(()).expect("sent");
        }));
    }

    #[test]
    fn what_somebody_else_thawed_was_not_frozen() {
        assert!(!held(LONG, false, |fake, asking| {
            fake.is_frozen.set(false);
            drop(asking);
        }));
    }

    #[test]
    fn a_filesystem_that_cannot_be_frozen_is_an_error() {
        let fake = Fake {
            is_refusing: true,
            ..Fake::default()
        };
        let (_asking, asked) = channel();
        let frozen = || panic!("it is not frozen");
        let refused = hold(&fake, LONG, &asked, || false, frozen);
        let error = refused.expect_err("busy");
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
    }
}
