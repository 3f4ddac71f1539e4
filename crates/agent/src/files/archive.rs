use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use msb_agent_protocol::v1::{
    Chunk, GetArchiveRequest, PutArchive, PutArchiveInput, PutArchiveReply, put_archive_input,
};
use msb_agent_protocol::{Bytes, ChunkReader, ChunkWriter, Status, Streaming};
use rustix::fs::{Mode, OFlags, open};
use tokio::sync::mpsc;
use tree_archive::{ArchiveWriter, EntryRef, PackOptions, UnpackOptions, pack, unpack};

use crate::exec::Running;

use super::status::{failed, not_packed, not_unpacked};
use super::trusted_way;
use super::{Answers, PENDING_ANSWERS, absolute, answers, chunk, left_empty, waiting};

/// Packs a file, or a directory with its whole content.
pub(crate) fn get(request: &GetArchiveRequest, running: &Running) -> Answers<Chunk> {
    let path = absolute(&request.path);
    let name = if request.name.is_empty() {
        Bytes::from_static(b".")
    } else {
        request.name.clone()
    };
    let one_file_system = request.one_file_system;
    answers(running, move |host| {
        let (directory, name_there) = split(&path);
        let directory = open_directory(directory).map_err(failed("open", directory))?;
        let place = EntryRef {
            directory: directory.as_fd(),
            name: name_there,
        };
        let empty = left_empty();
        let options = PackOptions {
            name: &name,
            empty: &empty,
            one_file_system,
        };
        let send = |data| host.send_event(chunk(data));
        let mut archive = ArchiveWriter::new(ChunkWriter::new(send));
        pack(place, &options, &mut archive).map_err(|error| not_packed(&error))?;
        // A host that has disconnected needs no answer.
        let _ = archive.finish();
        Ok(())
    })
}

/// Splits a path into the directory that holds the file, and the file's name there. A path that
/// ends with `/` or `/.` means the directory itself, and symlinks to it are followed.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    match &path[slash + 1..] {
        b"" | b"." | b".." => (path, b"."),
        name => (&path[..=slash], name),
    }
}

fn open_directory(path: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(path, flags, Mode::empty())
}

/// Unpacks the archive that the host sends.
pub(crate) async fn put(
    start: PutArchive,
    mut inputs: Streaming<PutArchiveInput>,
    running: &Running,
) -> Result<PutArchiveReply, Status> {
    let (sender, chunks) = mpsc::channel(PENDING_ANSWERS);
    // The thread that unpacks has another `/proc`, without this process.
    let descriptors = open_directory(b"/proc/self/fd").map(Arc::new).ok();
    let options = UnpackOptions {
        keep_owner: start.keep_owner,
        keep_set_id: true,
        make_devices: true,
        follow_parents: !start.trusted_way,
        descriptors,
        ..UnpackOptions::default()
    };
    let unpacking = waiting(move || unpack_into(&start, ChunkReader::new(chunks), &options));
    let receiving = async move {
        loop {
            let chunk = match inputs.message().await {
                _ if running.is_closed() => {
                    Err(io::Error::other(running.refusal().unwrap_or_default()))
                }
                Ok(None) => return,
                Ok(Some(PutArchiveInput {
                    input: Some(put_archive_input::Input::Data(data)),
                })) => Ok(data),
                Ok(Some(_)) => Err(io::Error::from(io::ErrorKind::InvalidData)),
                Err(status) => Err(io::Error::other(status)),
            };
            if sender.send(chunk).await.is_err() {
                return;
            }
        }
    };
    tokio::pin!(unpacking);
    tokio::select! {
        // Unpacking may end before the host has sent everything.
        unpacked = &mut unpacking => unpacked,
        () = receiving => unpacking.await,
    }
}

fn unpack_into(
    start: &PutArchive,
    archive: ChunkReader,
    options: &UnpackOptions,
) -> Result<PutArchiveReply, Status> {
    let path = absolute(&start.directory);
    let directory = if start.trusted_way {
        trusted_way::open(&path)?
    } else {
        open_directory(&path).map_err(failed("open", &path))?
    };
    let unpacked = unpack(archive, directory.as_fd(), options);
    let unpacked = unpacked.map_err(|error| not_unpacked(&error))?;
    Ok(PutArchiveReply {
        entries: unpacked.entries,
    })
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_slash_at_the_end_asks_for_a_directory() {
        let cases = [
            ("/a/b", ("/a/", "b")),
            ("/a", ("/", "a")),
            ("/", ("/", ".")),
            ("/a/", ("/a/", ".")),
            ("/a/.", ("/a/.", ".")),
            ("/a/..", ("/a/..", ".")),
        ];
        for (path, (directory, name)) in cases {
            let expected = (directory.as_bytes(), name.as_bytes());
            assert_eq!(split(path.as_bytes()), expected, "{path}");
        }
    }
}
