//! The life of a service.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use test_support::{TestEnv, describe, succeed};

use super::service::{Probe, Service};

/// The time for an answer. An emulated guest on a busy host starts some services in minutes.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);
/// The time for one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(300);
/// The pause between a service's first answer and its stop. The kernel drops a signal to a process 1 that
/// has no handler for it yet, and haproxy's master executes itself again after its first worker answers.
const SETTLING_TIME: Duration = Duration::from_secs(5);
/// The time that a service has to stop, in seconds.
const STOP_TIMEOUT_S: &str = "120";
/// The time that a service has which docker kills, too.
const KILLED_TIMEOUT_S: &str = "5";
/// The exit code of a command that was killed.
const KILLED: i32 = 137;

/// Runs a service as its image says, and then as its other user.
pub(super) fn live(service: &Service) -> Result<String> {
    let image = service.image;
    let layout = image.layout()?;
    let env = TestEnv::with_guests(&format!("gallery-{}", image.name))?;
    let name = format!("localhost/gallery/{}:latest", image.name);
    env.home_msb().load(&layout, &name)?;
    let sandbox = Sandbox {
        env: &env,
        image: &name,
        service,
    };
    let own = sandbox.own_life().context("as the image says");
    let own = own.with_context(|| sandbox.evidence())?;
    let other = service.other_user.map(|user| {
        let life = sandbox.life_as(user);
        let life = life.with_context(|| format!("as the user {user}"));
        life.with_context(|| sandbox.evidence())
    });
    other.transpose()?;
    succeed(env.msb().args(["image", "rm", &name]))?;
    env.expect_nothing_left()?;
    env.remove_work()?;
    Ok(own)
}

/// A service in a sandbox of the same name.
struct Sandbox<'a> {
    env: &'a TestEnv,
    image: &'a str,
    service: &'a Service,
}

impl Sandbox<'_> {
    const NAME: &'static str = "service";

    /// Starts, answers, logs, reloads, stops, and starts again with its data.
    fn own_life(&self) -> Result<String> {
        let Service { probe, change, .. } = self.service;
        self.start(&[])?;
        self.expect_answer(probe, probe.answer)?;
        self.expect_log()?;
        self.expect_process_1()?;
        if !change.is_empty() {
            self.msb(&["exec", "-u", "root", Self::NAME, "sh", "-ec", change])?;
            self.expect_answer(probe, probe.changed)
                .context("after the change")?;
        }
        self.stop()?;
        let again = || {
            let mut start = self.env.machine_command("start");
            start.arg(Self::NAME);
            start
        };
        let started = self.env.retried(again, &[])?;
        ensure!(started.status.success(), "{}", describe(&started));
        let kept = if change.is_empty() {
            probe.answer
        } else {
            probe.changed
        };
        self.expect_answer(probe, kept).context("started again")?;
        self.msb(&["rm", "-f", Self::NAME])?;
        Ok(format!("exit code {}", self.service.exit_code))
    }

    /// Starts as a user, answers, logs and stops.
    fn life_as(&self, user: &str) -> Result<()> {
        let probe = &self.service.probe;
        self.start(&["-u", user])?;
        self.expect_answer(probe, probe.answer)?;
        self.expect_log()?;
        std::thread::sleep(SETTLING_TIME);
        self.stop()?;
        self.msb(&["rm", Self::NAME]).map(drop)
    }

    fn start(&self, options: &[&str]) -> Result<()> {
        let port = self.service.probe.port.to_string();
        let line = || {
            let mut line: Command = self.env.machine_command("run");
            line.args(["--quiet", "-d", "--name", Self::NAME, "--cpus", "1"])
                .args(["--memory", "768M", "--pull", "never", "-p", &port])
                .args(options)
                .arg(self.image);
            line
        };
        let started = self.env.retried(line, &[])?;
        ensure!(started.status.success(), "{}", describe(&started));
        Ok(())
    }

    fn stop(&self) -> Result<()> {
        let expected = self.service.exit_code;
        let timeout = if expected == KILLED {
            KILLED_TIMEOUT_S
        } else {
            STOP_TIMEOUT_S
        };
        self.msb(&["stop", "-t", timeout, Self::NAME])?;
        // It prints the exit code, and ends with it.
        let waited = self.env.msb().args(["wait", Self::NAME]).output()?;
        let code = String::from_utf8_lossy(&waited.stdout);
        ensure!(
            code.trim() == expected.to_string() && waited.status.code() == Some(expected),
            "stopped not with exit code {expected} as under docker: {}",
            describe(&waited)
        );
        Ok(())
    }

    fn expect_log(&self) -> Result<()> {
        let end = Instant::now() + ANSWER_TIMEOUT;
        while !self.logs()?.contains(self.service.log) {
            ensure!(Instant::now() < end, "{:?} is not logged", self.service.log);
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Checks that commands of `msb exec` see the service as process 1.
    fn expect_process_1(&self) -> Result<()> {
        let script = "tr '\\0' ' ' < /proc/1/cmdline";
        let line = self.msb(&["exec", "-u", "root", Self::NAME, "sh", "-c", script])?;
        // The guest's agent is process 1 of the machine.
        ensure!(line.trim() != "/init", "process 1 is the guest's agent");
        Ok(())
    }

    /// Checks that the published port gives an answer with these bytes.
    fn expect_answer(&self, probe: &Probe, expected: &[u8]) -> Result<()> {
        let printed = self.msb(&["port", Self::NAME, &probe.port.to_string()])?;
        let address = printed.trim().parse();
        let address: SocketAddr = address.with_context(|| format!("{printed:?} is no address"))?;
        let end = Instant::now() + ANSWER_TIMEOUT;
        let mut last = String::new();
        while Instant::now() < end {
            match answer(address, probe.request, expected) {
                Ok(got) if contains(&got, expected) => return Ok(()),
                Ok(got) => last = String::from_utf8_lossy(&got).into_owned(),
                Err(error) => last = error.to_string(),
            }
            std::thread::sleep(PAUSE);
        }
        bail!(
            "port {} does not answer {:?}, but {last:?}",
            probe.port,
            String::from_utf8_lossy(expected)
        )
    }

    fn logs(&self) -> Result<String> {
        let output = succeed(self.env.msb().args(["logs", Self::NAME]))?;
        let both = [output.stdout, output.stderr].concat();
        Ok(String::from_utf8_lossy(&both).into_owned())
    }

    /// Returns the end of the log and the sandbox's state, for an error.
    fn evidence(&self) -> String {
        let log = self.logs().unwrap_or_else(|error| error.to_string());
        let lines: Vec<&str> = log.lines().collect();
        let state = self.env.msb().args(["ps", "-a", "--no-trunc"]).output();
        let state = state.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        format!(
            "the log ends with:\n{}\n{}",
            lines[lines.len().saturating_sub(20)..].join("\n"),
            state.unwrap_or_default()
        )
    }

    fn msb(&self, arguments: &[&str]) -> Result<String> {
        let output = succeed(self.env.msb().args(arguments))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Returns what a port answers to a request, up to the bytes that are expected.
fn answer(address: SocketAddr, request: &[u8], expected: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, ATTEMPT_TIMEOUT)?;
    stream.set_read_timeout(Some(ATTEMPT_TIMEOUT))?;
    stream.write_all(request)?;
    let (mut got, mut part) = (Vec::new(), [0; 4096]);
    while !contains(&got, expected) && got.len() < 1 << 20 {
        match stream.read(&mut part)? {
            0 => break,
            count => got.extend_from_slice(&part[..count]),
        }
    }
    Ok(got)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
