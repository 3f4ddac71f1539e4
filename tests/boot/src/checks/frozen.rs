//! Running sandboxes whose disk is frozen while it is cut.

use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use msb_agent_protocol::FrozenDisk;
use msb_runtime::{Home, Sandbox};
use test_support::{TestEnv, describe, expect_code, finish, spawn};
use tokio::runtime::{Builder, Runtime};

use super::durability::remove;

const NAME: &str = "checks-frozen";
const IMAGE: &str = "checks-frozen:1";
/// Writes a number into one file and then into another, and so on with the next number. Each file
/// is replaced, so that at every moment the second has the number of the first or the one before.
const WRITER: &str = "\
import os
number = 0
while True:
    number += 1
    for name in ('first', 'second'):
        with open('/root/new', 'w') as file:
            file.write(str(number))
        os.rename('/root/new', '/root/' + name)
";
/// Thaws the filesystem of the upper disk, as root in a guest can: 0xC0045878 is FITHAW. Python must
/// not write its cache meanwhile.
const THAW: &str = "\
import fcntl, os
fcntl.ioctl(os.open('/run/msb/upper', os.O_RDONLY), 0xC0045878, 0)
";
/// A time in which no check freezes a disk by its own clock.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(500);

/// Checks that a running sandbox is compared, applied and committed at one moment, while it writes
/// and goes on writing.
pub(super) fn read(env: &TestEnv) -> Result<()> {
    start(env)?;
    guest(env, "echo unsynced > /root/note; rm /etc/debian_version")?;
    expect_code(
        &msb(env, &["exec", "-d", NAME, "python3", "-c", WRITER])?,
        0,
    )?;
    guest(env, "until test -e /root/second; do sleep 0.05; done")?;
    let mut last = 0;
    for round in 0..3 {
        let (first, second) = numbers(env, round)?;
        ensure!(
            first == second || first == second + 1,
            "torn: {first} and {second}"
        );
        ensure!(last < first, "the guest wrote nothing after {last}");
        last = first;
    }
    let listed = msb(env, &["diff", NAME, "--", "/root/note", "/etc"])?;
    expect_code(&listed, 0)?;
    let listed = String::from_utf8(listed.stdout)?;
    ensure!(
        listed == "D /etc/debian_version\nA /root/note\n",
        "{listed}"
    );
    let refused = msb(env, &["commit", "--pause=false", NAME, IMAGE])?;
    expect_refusal(&refused, "is running, and its disk may change", "msb stop")?;
    let refused = msb(env, &["discard", NAME, "/etc"])?;
    expect_refusal(&refused, "its guest uses the disk", "msb stop")?;
    expect_code(&msb(env, &["commit", NAME, IMAGE])?, 0)?;
    let committed = msb(env, &["diff", env.image(), IMAGE, "--", "/root/note"])?;
    expect_code(&committed, 0)?;
    let committed = String::from_utf8(committed.stdout)?;
    ensure!(committed == "A /root/note\n", "{committed}");
    expect_code(&msb(env, &["image", "rm", IMAGE])?, 0)?;
    expect_code(&msb(env, &["stop", "-t", "0", NAME])?, 0)?;
    remove(env, NAME)
}

/// Checks that a guest never stays frozen: without its client, by its own clock, at its shutdown.
/// The host is told of a disk that was not frozen to the end.
pub(super) fn thawed(env: &TestEnv) -> Result<()> {
    start(env)?;
    let client = Client::new(env)?;
    // A write waits until the thaw.
    let frozen = client.freeze(LONG)?;
    let mut waiting = spawn(env.msb().args(["exec", NAME, "touch", "/root/waiting"]))?;
    std::thread::sleep(SHORT);
    ensure!(waiting.try_wait()?.is_none(), "the disk was not frozen");
    ensure!(client.thaw(frozen)?, "the disk was thawed before");
    expect_code(&finish(waiting, &[])?, 0)?;
    // A client that is gone takes its freeze along, and one that stays too long loses it.
    let gone = Client::new(env)?;
    let frozen = gone.freeze(LONG)?;
    drop((gone, frozen));
    guest(env, "touch /root/after-the-client")?;
    let frozen = client.freeze(SHORT)?;
    guest(env, "touch /root/after-the-limit")?;
    ensure!(!client.thaw(frozen)?, "the limit did not count");
    // Root in the guest can thaw its disk, and the host is told.
    let frozen = client.freeze(LONG)?;
    expect_code(&msb(env, &["exec", NAME, "python3", "-B", "-c", THAW])?, 0)?;
    ensure!(!client.thaw(frozen)?, "the guest's own thaw did not count");
    let frozen = client.freeze(LONG)?;
    let waiting = spawn(env.msb().args(["exec", NAME, "touch", "/root/last"]))?;
    let stopped = msb(env, &["stop", "-t", "0", NAME])?;
    expect_code(&stopped, 0)?;
    ensure!(
        !describe(&stopped).contains("killed"),
        "{}",
        describe(&stopped)
    );
    drop(frozen);
    let _ = finish(waiting, &[])?;
    remove(env, NAME)
}

/// A client in this process. Dropping it closes its connection, as the end of its process does.
struct Client {
    runtime: Runtime,
    client: msb_agent_protocol::Client,
}

impl Client {
    fn new(env: &TestEnv) -> Result<Self> {
        let sandbox = Sandbox::find(&Home::new(env.home()), NAME)?;
        let sandbox = sandbox.context("no such sandbox")?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let client = runtime.block_on(sandbox.connect())?;
        Ok(Self { runtime, client })
    }

    fn freeze(&self, limit: Duration) -> Result<FrozenDisk> {
        Ok(self.runtime.block_on(self.client.clone().freeze(limit))?)
    }

    fn thaw(&self, frozen: FrozenDisk) -> Result<bool> {
        Ok(self.runtime.block_on(frozen.thaw())?)
    }
}

fn start(env: &TestEnv) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--network", "none"];
        env.run_command(&own, &["sleep", "1000"])
    };
    expect_code(&env.retried(line, &[])?, 0)
}

/// Applies the changes to a new directory of the host, and returns the numbers that are in it.
fn numbers(env: &TestEnv, round: u32) -> Result<(u64, u64)> {
    let directory = env.work.join(format!("frozen-{round}"));
    fs::create_dir(&directory)?;
    let mut line: Command = env.msb();
    line.args(["apply", "--from", "/root", NAME])
        .arg(&directory);
    expect_code(&line.output()?, 0)?;
    let number = |name| -> Result<u64> { Ok(fs::read_to_string(directory.join(name))?.parse()?) };
    Ok((number("first")?, number("second")?))
}

fn guest(env: &TestEnv, script: &str) -> Result<()> {
    expect_code(&msb(env, &["exec", NAME, "sh", "-c", script])?, 0)
}

fn expect_refusal(output: &Output, reason: &str, remedy: &str) -> Result<()> {
    expect_code(output, 125)?;
    let told = describe(output);
    ensure!(told.contains(reason) && told.contains(remedy), "{told}");
    Ok(())
}

fn msb(env: &TestEnv, words: &[&str]) -> Result<Output> {
    Ok(env.msb().args(words).output()?)
}
