//! A stream that one process passes to another over their socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The byte that the stream is passed with: descriptors come with bytes.
const MARK: [u8; 1] = *b"s";

/// Passes a stream to the process at the other end of a socket.
pub(crate) fn pass(socket: impl AsFd, stream: &UnixStream) -> io::Result<()> {
    let passed = [stream.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&passed)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let bytes = [IoSlice::new(&MARK)];
    sendmsg(socket, &bytes, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes the stream that was passed over a socket before anything else.
pub(crate) fn take(socket: impl AsFd) -> io::Result<UnixStream> {
    let mut mark = [0; MARK.len()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [IoSliceMut::new(&mut mark)];
    recvmsg(socket, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut passed) = message
            && let Some(stream) = passed.next()
        {
            return Ok(stream.into());
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn a_stream_is_passed_before_other_bytes() {
        let (near, far) = UnixStream::pair().expect("a pair");
        let (kept, given) = UnixStream::pair().expect("a pair");
        pass(&near, &given).expect("passed");
        (&near).write_all(b"frame").expect("sent");
        drop(given);
        let taken = take(&far).expect("taken");
        (&taken).write_all(b"hello").expect("sent");
        let mut said = [0; 5];
        (&kept).read_exact(&mut said).expect("read");
        assert_eq!(&said, b"hello");
        (&far).read_exact(&mut said).expect("read");
        assert_eq!(&said, b"frame");
    }

    #[test]
    fn bytes_without_a_stream_are_refused() {
        let (near, far) = UnixStream::pair().expect("a pair");
        (&near).write_all(b"s").expect("sent");
        take(&far).expect_err("there is no stream");
        drop(near);
        take(&far).expect_err("it has ended");
    }
}
