use msb_agent_protocol::v1::{Chunk, ReadFileRequest};
use msb_agent_protocol::{Bytes, CHUNK_MAX_BYTES};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read as read_some};

use super::status::failed;
use super::{Answers, absolute, answers, chunk};
use crate::exec::Running;

/// Sends a file's content. A pipe that has no data at the moment counts as its end.
pub(crate) fn read(request: &ReadFileRequest, running: &Running) -> Answers<Chunk> {
    let path = absolute(&request.path);
    answers(running, move |host| {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = open(&path[..], flags, Mode::empty()).map_err(failed("open", &path))?;
        let mut buffer = vec![0; CHUNK_MAX_BYTES];
        loop {
            let length = match read_some(&file, &mut buffer[..]) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                other => other.map_err(failed("read", &path))?,
            };
            let data = Bytes::copy_from_slice(&buffer[..length]);
            if !host.send_event(chunk(data)) {
                return Ok(());
            }
        }
    })
}
