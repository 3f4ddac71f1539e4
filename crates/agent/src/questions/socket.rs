//! The socket and the program, in a small filesystem at `/dev/msb`: `/run/msb` is root's alone.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use rustix::fs::{Mode, OFlags, ResolveFlags, chmod, mkdirat, openat2};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind};
use tokio::sync::watch;

use super::program::NAME;
use super::{Questions, asker};
use crate::console;

/// The directory's parent and name, below the root.
const PARENT: &str = "dev";
const DIRECTORY: &str = "dev/msb";
const OPTIONS: &CStr = c"mode=755,size=64k";
/// The name of the socket.
const SOCKET: &str = "ask";
/// The agent's own program, on the boot disk.
const PROGRAM: &str = "/init";

/// The socket that processes connect to; `None` while there is none.
static LISTENER: LazyLock<watch::Sender<Option<Arc<UnixListener>>>> =
    LazyLock::new(|| watch::Sender::new(None));

/// Makes the socket and the program below a root that is being assembled.
pub(crate) fn offer(root: impl AsFd) -> io::Result<()> {
    let root = root.as_fd();
    let open = |path: &str| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)
    };
    match mkdirat(open(PARENT)?, "msb", Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let point = open(DIRECTORY)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let path = format!("/proc/self/fd/{}", point.as_raw_fd());
    mount("tmpfs", path, "tmpfs", flags, OPTIONS)?;
    // The first descriptor refers to the directory below the mount.
    let directory = open(DIRECTORY)?;
    let directory = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let directory = Path::new(&directory);
    let program = directory.join(NAME);
    fs::write(&program, [])?;
    mount_bind(PROGRAM, &program)?;
    let socket = directory.join(SOCKET);
    let listener = UnixListener::bind(&socket)?;
    chmod(&socket, Mode::from_raw_mode(0o666))?;
    listener.set_nonblocking(true)?;
    LISTENER.send_replace(Some(Arc::new(listener)));
    Ok(())
}

/// Closes the socket and all connections, before the root is unmounted.
pub(crate) fn close() {
    LISTENER.send_replace(None);
}

impl Questions {
    /// Serves processes that connect, for as long as the agent runs.
    pub(crate) async fn serve(self) {
        let mut listeners = LISTENER.subscribe();
        loop {
            let listener = listeners.borrow_and_update().clone();
            let accepting = async {
                let Some(listener) = listener else {
                    return std::future::pending().await;
                };
                let failed = self.accept(&listener).await;
                console::log(&format!("cannot take questions: {failed}"));
                std::future::pending().await
            };
            tokio::select! {
                changed = listeners.changed() => if changed.is_err() {
                    return;
                },
                () = accepting => {}
            }
        }
    }

    /// Accepts connections until that fails.
    async fn accept(&self, listener: &UnixListener) -> io::Error {
        let listener = listener
            .try_clone()
            .and_then(tokio::net::UnixListener::from_std);
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => return error,
        };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let attended = asker::attend(self.clone(), stream);
                    tokio::spawn(async move {
                        let mut closed = LISTENER.subscribe();
                        closed.mark_unchanged();
                        tokio::select! {
                            () = attended => {}
                            _ = closed.changed() => {}
                        }
                    });
                }
                // Too many open files, for instance.
                Err(_) => tokio::time::sleep(asker::READ_TIMEOUT).await,
            }
        }
    }
}
