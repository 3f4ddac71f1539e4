//! The conversation between the agent and a process of a container, before that becomes its program.
//!
//! ```text
//! agent                              process
//! parts: the plan and the root   ->
//!                                <-  ready, with the terminal if it has one; or failed
//! go                             ->
//!                                <-  the end, because the program was executed; or failed
//! ```

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use msb_agent_protocol::v1::{Failure, FailureKind};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The most parts: a plan, the kind of a root, and 129 disks.
const PARTS_MAX: usize = 256;
/// The longest part, in bytes: longer than a plan.
const PART_MAX_BYTES: usize = 1 << 20;
/// The longest text of a failure that is read, in bytes.
const FAILURE_MAX_BYTES: u64 = 4096;

const READY: u8 = 0;
const FAILED: u8 = 1;
const GO: u8 = 2;

/// The answer of a process.
#[derive(Debug)]
pub enum Answer {
    /// The process waits for its start. It has this terminal, if any.
    Ready(Option<OwnedFd>),
    /// The process ends.
    Failed(Failure),
    /// The process has become its program, or was killed.
    End,
}

/// Sends parts to a process: the encoded plan, and the parts of the root or the encoded further process.
///
/// # Errors
/// If the process has ended, or the socket's time limit is over.
pub fn send_parts(mut socket: &UnixStream, parts: &[&[u8]]) -> io::Result<()> {
    let length = |length: usize| {
        let length = u32::try_from(length).map_err(io::Error::other)?;
        Ok::<_, io::Error>(length.to_le_bytes())
    };
    socket.write_all(&length(parts.len())?)?;
    for part in parts {
        socket.write_all(&length(part.len())?)?;
        socket.write_all(part)?;
    }
    Ok(())
}

/// Receives the parts that the agent sends.
pub(crate) fn receive_parts(socket: &UnixStream) -> io::Result<Vec<Vec<u8>>> {
    let count = receive_length(socket, PARTS_MAX)?;
    (0..count).map(|_| receive_part(socket)).collect()
}

fn receive_part(mut socket: &UnixStream) -> io::Result<Vec<u8>> {
    let mut part = vec![0; receive_length(socket, PART_MAX_BYTES)?];
    socket.read_exact(&mut part)?;
    Ok(part)
}

fn receive_length(mut socket: &UnixStream, limit: usize) -> io::Result<usize> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > limit {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(length)
}

/// Tells the agent that the process waits for its start.
pub(crate) fn send_ready(socket: &UnixStream, terminal: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let files: Vec<_> = terminal.into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let byte = [READY];
    sendmsg(
        socket,
        &[IoSlice::new(&byte)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Tells the agent that the process ends. An agent that is gone hears nothing.
pub(crate) fn send_failure(mut socket: &UnixStream, failure: &Failure) {
    let kind = u8::try_from(failure.kind).unwrap_or(0);
    let message = [&[FAILED, kind], failure.message.as_bytes()].concat();
    let _ = socket.write_all(&message);
}

/// Waits for the answer of a process.
///
/// # Errors
/// If the answer is none, or the socket's time limit is over.
pub fn receive_answer(mut socket: &UnixStream) -> io::Result<Answer> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes == 0 {
        return Ok(Answer::End);
    }
    let mut terminal = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut files) = message {
            terminal = files.next();
        }
    }
    match byte[0] {
        READY => Ok(Answer::Ready(terminal)),
        FAILED => {
            let mut kind = [0];
            socket.read_exact(&mut kind)?;
            let mut message = Vec::new();
            socket.take(FAILURE_MAX_BYTES).read_to_end(&mut message)?;
            let kind = FailureKind::try_from(i32::from(kind[0])).unwrap_or_default();
            Ok(Answer::Failed(Failure {
                kind: kind.into(),
                message: String::from_utf8_lossy(&message).into_owned(),
            }))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Starts a process that is ready.
///
/// # Errors
/// If the process has ended.
pub fn send_go(mut socket: &UnixStream) -> io::Result<()> {
    socket.write_all(&[GO])
}

/// Waits for the start.
pub(crate) fn wait_for_go(mut socket: &UnixStream) -> io::Result<()> {
    let mut byte = [0];
    socket.read_exact(&mut byte)?;
    if byte == [GO] {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn parts_arrive_as_they_were_sent() {
        let (near, far) = UnixStream::pair().expect("a pair");
        let long = vec![7; 100_000];
        let sending = std::thread::spawn(move || send_parts(&near, &[b"plan", b"", &long]));
        let parts = receive_parts(&far).expect("received");
        assert_eq!(parts[..2], [b"plan".to_vec(), Vec::new()]);
        assert_eq!(parts[2].len(), 100_000);
        sending.join().expect("no panic").expect("sent");
        receive_parts(&far).expect_err("the end");
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_memory_is_taken() {
        let (near, far) = UnixStream::pair().expect("a pair");
        let mut socket = &near;
        socket
            .write_all(&[1, 0, 0, 0, 255, 255, 255, 255])
            .expect("sent");
        receive_parts(&far).expect_err("too long");
    }

    #[test]
    fn a_process_is_ready_with_its_terminal_and_starts_or_fails() {
        let (near, far) = UnixStream::pair().expect("a pair");
        let null = std::fs::File::open("/dev/null").expect("opened");
        send_ready(&far, Some(null.as_fd())).expect("sent");
        let answer = receive_answer(&near).expect("received");
        assert!(matches!(answer, Answer::Ready(Some(_))), "{answer:?}");
        send_go(&near).expect("sent");
        wait_for_go(&far).expect("started");
        let failure = Failure {
            kind: FailureKind::CommandNotFound.into(),
            message: "sh: command not found in the image".to_owned(),
        };
        send_failure(&far, &failure);
        drop(far);
        match receive_answer(&near).expect("received") {
            Answer::Failed(received) => assert_eq!(received, failure),
            answer => panic!("{answer:?}"),
        }
        assert!(matches!(receive_answer(&near), Ok(Answer::End)));
    }
}
