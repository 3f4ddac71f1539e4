use msb_agent_protocol::{
    Event, Failure, FailureKind, FrameError, FrameReader, FrameWriter, Info, Request, Stream,
    VERSION,
};

use crate::exec;
use crate::reaper::Reaper;
use crate::shutdown;

/// Guest uptime at two moments of the boot, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BootTimes {
    pub(crate) started_us: u64,
    pub(crate) mounts_done_us: u64,
}

/// Answers one request. A host that hangs up ends it.
pub(crate) async fn answer(stream: Stream, reaper: Reaper, boot_times: BootTimes) {
    // What fails here is the stream itself, so there is nobody to tell.
    let _ = try_answer(stream, reaper, boot_times).await;
}

async fn try_answer(
    stream: Stream,
    reaper: Reaper,
    boot_times: BootTimes,
) -> Result<(), FrameError> {
    let (read, write) = tokio::io::split(stream);
    let (mut reader, mut writer) = (FrameReader::new(read), FrameWriter::new(write));
    match reader.next().await? {
        None => {}
        Some(Request::Hello { version: VERSION }) => {
            writer.send(&Event::Info(info(boot_times))).await?;
        }
        Some(Request::Hello { version }) => {
            let message = format!("the host speaks version {version}, the agent {VERSION}");
            let failure = Failure {
                kind: FailureKind::VersionMismatch,
                message,
            };
            writer.send(&Event::Failed(failure)).await?;
        }
        Some(Request::Exec(request)) => exec::run(&request, reader, &mut writer, &reaper).await?,
        Some(Request::Shutdown) => {
            shutdown::unmount_everything();
            writer.send(&Event::ShuttingDown).await?;
            writer.close().await?;
            shutdown::let_answer_out().await;
            shutdown::power_off();
        }
    }
    writer.close().await
}

fn info(boot_times: BootTimes) -> Info {
    let uname = rustix::system::uname();
    Info {
        version: VERSION,
        kernel_release: uname.release().to_string_lossy().into_owned(),
        agent_started_us: boot_times.started_us,
        mounts_done_us: boot_times.mounts_done_us,
    }
}
