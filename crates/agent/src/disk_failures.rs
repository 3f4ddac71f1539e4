//! Failures of disks, read from the log of the guest's kernel.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::{DiskFailure, DiskFailureKind};
use rustix::fs::{FileType, OFlags};
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::boot::entry_of_device;
use crate::console;
use crate::descriptor::Descriptor;
use crate::files::Answers;
use crate::guarded_file::{open_as, read_regular};

/// The kernel's log: each read gives one record (Documentation/ABI/testing/dev-kmsg).
const KERNEL_LOG: &str = "/dev/kmsg";
/// The longest record, in bytes. It is `PRINTK_MESSAGE_MAX` (kernel/printk/internal.h), or the
/// limit of older kernels.
const RECORD_MAX_BYTES: usize = 8 << 10;
/// The smallest priority of a record that a program wrote (`LOG_USER`, 8 levels a facility). The
/// kernel's own records have smaller ones.
const OF_PROGRAMS: u32 = 8;
/// The longest serial of a disk that is read, in bytes.
const SERIAL_MAX_BYTES: u64 = 64;
/// The time for which the same failure of the same disk is not reported again.
const SILENCE: Duration = Duration::from_secs(60);
/// The number of failures that wait for the host before reading pauses.
const PENDING_FAILURES: usize = 4;

/// Reports the disks that fail, from the oldest record that the kernel has kept.
pub(crate) fn watch() -> Answers<DiskFailure> {
    let (host, failures) = mpsc::channel(PENDING_FAILURES);
    tokio::spawn(async move {
        let followed = tokio::select! {
            followed = follow(&host) => followed,
            () = host.closed() => Ok(()),
        };
        if let Err(error) = followed {
            console::log(&format!("cannot read {KERNEL_LOG}: {error}"));
            // The host may have disconnected.
            let _ = host.send(Err(Status::internal(error.to_string()))).await;
        }
    });
    ReceiverStream::new(failures)
}

async fn follow(host: &mpsc::Sender<Result<DiskFailure, Status>>) -> io::Result<()> {
    let log = open_as(KERNEL_LOG, FileType::CharacterDevice, OFlags::RDONLY)?;
    let mut log = Descriptor::new(log.into())?;
    let mut record = vec![0; RECORD_MAX_BYTES];
    let mut told = HashMap::new();
    loop {
        let length = match log.read(&mut record).await {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            // The next record was overwritten; the following read returns the oldest that remains.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => continue,
            Err(error) => return Err(error),
        };
        let text = String::from_utf8_lossy(&record[..length]);
        let Some(said) = failure(&text) else {
            continue;
        };
        let now = Instant::now();
        let is_told = |at: &Instant| now.duration_since(*at) < SILENCE;
        if told.get(&said).is_some_and(is_told) {
            continue;
        }
        if let Some(serial) = serial(&said.0) {
            let kind = said.1.into();
            if host.send(Ok(DiskFailure { serial, kind })).await.is_err() {
                return Ok(());
            }
            told.insert(said, now);
        }
    }
}

/// Returns the host's identifier of a disk: its serial, or the entry of a share. `None` if the disk
/// has neither. `disk` is the kernel's name for it.
fn serial(disk: &str) -> Option<String> {
    if let Some(entry) = entry_of_device(disk) {
        return Some(entry);
    }
    let bytes = read_regular(format!("/sys/block/{disk}/serial"), SERIAL_MAX_BYTES).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim_end().to_owned())
}

/// Returns the disk that a record reports as failed, and the kind of the failure. A record is
/// `NUMBER,SEQUENCE,TIME,FLAGS;TEXT`, with the texts of `blk_print_req_error` (block/blk-mq.c) and
/// `ext4_handle_error` (fs/ext4/super.c). Root in the guest can write records too; they have a
/// program's priority and are ignored.
fn failure(record: &str) -> Option<(String, DiskFailureKind)> {
    let (prefix, text) = record.split_once(';')?;
    let number: u32 = prefix.split(',').next()?.parse().ok()?;
    if number >= OF_PROGRAMS {
        return None;
    }
    let text = text.lines().next()?;
    if let Some(rest) = text.strip_prefix("I/O error, dev ") {
        let (disk, rest) = rest.split_once(',')?;
        let operation = rest.split_once(":(")?.1.split_once(')')?.0;
        let kind = match operation {
            "READ" => DiskFailureKind::Read,
            "WRITE" | "FLUSH" | "WRITE_ZEROES" => DiskFailureKind::Write,
            // The operation is a hint, such as a discard, that no data depends on.
            _ => return None,
        };
        return Some((disk.to_owned(), kind));
    }
    let (disk, rest) = text.strip_prefix("EXT4-fs (")?.split_once("): ")?;
    let is_closed = rest == "Remounting filesystem read-only";
    is_closed.then(|| (disk.to_owned(), DiskFailureKind::ReadOnly))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_disks_that_fail_are_known() {
        for (record, expected) in [
            (
                "3,431,8849534,-;I/O error, dev vdb, sector 654336 op 0x1:(WRITE) flags 0x0 phys_seg 1 \
                 prio class 2\n",
                Some(("vdb", DiskFailureKind::Write)),
            ),
            (
                "3,1,2,-,caller=T1;I/O error, dev vda, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0\n \
                 SUBSYSTEM=block\n",
                Some(("vda", DiskFailureKind::Read)),
            ),
            (
                "2,2,3,-;EXT4-fs (vdd): Remounting filesystem read-only\n",
                Some(("vdd", DiskFailureKind::ReadOnly)),
            ),
            (
                "3,1,2,-;I/O error, dev vdb, sector 8 op 0x3:(DISCARD) flags 0x0 phys_seg 1 prio class 0\n",
                None,
            ),
            // A program wrote this one to `/dev/kmsg`.
            (
                "11,1,2,-;I/O error, dev vdb, sector 8 op 0x1:(WRITE) flags 0x0\n",
                None,
            ),
            ("6,1,2,-;EXT4-fs (vdb): mounted filesystem r/w\n", None),
            ("3,1,2,-;I/O error, dev vdb", None),
            ("", None),
            (";", None),
        ] {
            let expected = expected.map(|(disk, kind)| (disk.to_owned(), kind));
            assert_eq!(failure(record), expected, "{record}");
        }
    }
}
