use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use anyhow::{Result, ensure};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Passes the supervisor's connection to the network's process over the frame socket, as the VMM process does before any
/// frame.
pub(super) fn pass(socket: &UnixStream, stream: &UnixStream) -> Result<()> {
    let passed = [stream.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    ensure!(
        control.push(SendAncillaryMessage::ScmRights(&passed)),
        "no room for a descriptor"
    );
    sendmsg(
        socket,
        &[IoSlice::new(b"s")],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}
