use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::guest::Guest;
use super::{InGuest, Outcome};

/// The text that each container prints.
const GREETING: &str = "hello from a container";

/// The image of the containers: one static program.
const IMAGE: &str = "mkdir -p /srv/image/bin && cp /bin/busybox /srv/image/bin && \
    tar --create --directory=/srv/image bin > /srv/image.tar";

/// Starts docker's daemon with its files on the volume: its driver overlay2 needs a plain ext4
/// below, and the root is an overlay itself.
const DAEMON: &str = "
    dockerd --data-root /volume/docker > /var/log/dockerd 2>&1 &
    for second in $(seq 180); do
        docker info > /dev/null 2>&1 && exit
        sleep 1
    done
    tail -n 20 /var/log/dockerd >&2
    exit 1";

/// Runs a server in a container, and reads from it through the published port.
const SERVER: &str = "
    docker run --detach --name server --publish 8080:80 hello /bin/busybox httpd -f -p 80 -h /bin > /dev/null
    python3 -c '
import hashlib, time, urllib.request
for attempt in range(60):
    try:
        body = urllib.request.urlopen(\"http://127.0.0.1:8080/busybox\", timeout=10).read()
        break
    except OSError:
        time.sleep(0.5)
assert hashlib.sha256(body).digest() == hashlib.sha256(open(\"/bin/busybox\", \"rb\").read()).digest()
'
    docker rm --force server > /dev/null";

/// Docker, podman and bubblewrap, which run containers in the sandbox.
pub(super) struct Engines;

impl InGuest for Engines {
    fn prepare(_directory: &Path) -> Result<()> {
        Ok(())
    }

    fn run(guest: &Guest<'_>) -> Result<Outcome> {
        guest.sh(IMAGE)?;
        guest.sh(DAEMON).context("docker's daemon does not start")?;
        let driver = guest.sh("docker info --format '{{.Driver}}'")?;
        ensure!(
            driver.trim_end() == "overlay2",
            "docker's driver is {driver}"
        );
        guest.sh("docker import /srv/image.tar hello")?;
        greeted(guest, "docker run --rm hello /bin/busybox echo")?;
        let limits =
            "docker run --rm --memory 64m --cpus 0.5 --pids-limit 20 hello /bin/busybox echo";
        greeted(guest, limits)?;
        guest.sh(SERVER).context("a published port of docker")?;
        let podman = "podman --root /volume/podman --runroot /run/podman";
        guest.sh(&format!("{podman} import /srv/image.tar hello"))?;
        greeted(guest, &format!("{podman} run --rm hello /bin/busybox echo"))?;
        greeted(
            guest,
            "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all echo",
        )?;
        Ok(Outcome::good(
            "docker, podman and bubblewrap ran containers".to_owned(),
        ))
    }
}

/// Runs a command with the greeting as its arguments, which has to print it.
fn greeted(guest: &Guest<'_>, command: &str) -> Result<()> {
    let printed = guest.sh(&format!("{command} {GREETING}"))?;
    ensure!(
        printed.trim_end() == GREETING,
        "`{command}` printed {printed}"
    );
    Ok(())
}
