use std::fs;
use std::io;
use std::time::Duration;

use msb_agent_protocol::serve_port;
use rustix::fs::{Mode, OFlags, open};
use tokio::time::sleep;

use crate::console;
use crate::containers::Containers;
use crate::descriptor::Descriptor;
use crate::exec::Running;
use crate::questions::Questions;
use crate::reaper::Reaper;
use crate::service::{BootTimes, Service};

/// The name that the host gives the port (`AGENT_PORT_NAME` on the host's side).
const PORT_NAME: &str = "msb.agent";
/// The time that the port may take to appear.
const APPEAR_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The pause between two greetings while the host does not answer.
const GREETING_INTERVAL: Duration = Duration::from_millis(10);

/// Serves the host, and serves it again each time it disconnects and comes back.
pub(crate) async fn serve(boot_times: BootTimes) -> io::Result<()> {
    let questions = Questions::default();
    tokio::spawn(questions.clone().serve());
    let (reaper, running) = (Reaper::start()?, Running::default());
    let containers = Containers::new(reaper.clone(), running.clone());
    let service = Service::new(reaper, running, boot_times, questions);
    let device = find().await?;
    let mut last_failure = None;
    loop {
        let port = open(
            device.as_str(),
            OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let port = Descriptor::new(port)?;
        let served = serve_port(port, service.clone(), containers.clone());
        // Without a host every greeting fails alike; one report is enough.
        let failure = served.await.err().map(|error| error.to_string());
        if failure != last_failure {
            console::log(
                failure
                    .as_deref()
                    .unwrap_or("the host has closed the connection"),
            );
            last_failure = failure;
        }
        sleep(GREETING_INTERVAL).await;
    }
}

/// Returns the port's device node, and waits until it exists.
async fn find() -> io::Result<String> {
    let deadline = tokio::time::Instant::now() + APPEAR_TIMEOUT;
    loop {
        if let Some(device) = look()? {
            return Ok(device);
        }
        if tokio::time::Instant::now() > deadline {
            let message = format!("the machine has no virtio-console port named {PORT_NAME}");
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        sleep(POLL_INTERVAL).await;
    }
}

fn look() -> io::Result<Option<String>> {
    let Ok(ports) = fs::read_dir("/sys/class/virtio-ports") else {
        return Ok(None);
    };
    for port in ports {
        let port = port?;
        let name = fs::read_to_string(port.path().join("name")).unwrap_or_default();
        let device = format!("/dev/{}", port.file_name().to_string_lossy());
        if name.trim_end() == PORT_NAME && fs::exists(&device)? {
            return Ok(Some(device));
        }
    }
    Ok(None)
}
