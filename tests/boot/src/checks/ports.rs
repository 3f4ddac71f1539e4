use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use test_fixtures::images;
use test_support::oci_layout::Layout;
use test_support::{TestEnv, expect_code};

use super::durability::remove;
use super::network::{SERVER, datagram_served, served};

const NAME: &str = "checks-ports";
/// An image that exposes port 80.
const IMAGE: &str = "localhost/exposing:1";

/// Checks that free ports of the host lead into a sandbox, and that `msb port` prints them.
pub(super) fn chosen_by_the_host(env: &TestEnv) -> Result<()> {
    load_image(env)?;
    remove(env, NAME)?;
    let memory = format!("{}M", env.memory_mib());
    let line = || {
        let mut line = env.machine_command("run");
        line.args(["-d", "--name", NAME, "--pull", "never"]);
        line.args(["--cpus", "1", "--memory", &memory]);
        // The streams' port is published twice by number, the datagrams' port as the image exposes it.
        line.args(["-p", "80", "-p", "0:80", "-P"]);
        line.args([IMAGE, "python3", "-c", SERVER]);
        line
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    let judged = judge(env);
    let stopped = env.msb().args(["stop", "--time", "1", NAME]).output()?;
    judged?;
    expect_code(&stopped, 0)?;
    // A stopped sandbox has given its ports back.
    expect_code(&env.msb().args(["port", NAME]).output()?, 125)?;
    remove(env, NAME)
}

fn judge(env: &TestEnv) -> Result<()> {
    let streams = addresses(env, &[NAME, "80"])?;
    let datagrams = addresses(env, &[NAME, "80/udp"])?;
    ensure!(
        streams.len() == 2 && datagrams.len() == 1 && streams[0] != streams[1],
        "{streams:?}, {datagrams:?}"
    );
    for &at in &streams {
        ensure!(at.ip().is_loopback() && at.port() != 0, "{at}");
        served(at)?;
    }
    datagram_served(datagrams[0])?;
    let listed = printed(env, &["port", NAME])?;
    for line in [
        format!("80/tcp -> {}\n", streams[0]),
        format!("80/tcp -> {}\n", streams[1]),
        format!("80/udp -> {}\n", datagrams[0]),
    ] {
        ensure!(listed.contains(&line), "{line}: {listed}");
    }
    let ports = printed(env, &["ps", "--no-trunc", "--format", "{{.Ports}}"])?;
    let first = format!("{}:80/tcp", streams[0]);
    ensure!(ports.contains(&first), "{first}: {ports}");
    Ok(())
}

/// Loads the demo's layers with a config that exposes port 80 of both protocols.
fn load_image(env: &TestEnv) -> Result<()> {
    let layout = Layout::linked(&images::demo()?, env.work.join("exposing"))?;
    let mut config = layout.config()?;
    config["config"] = json!({ "ExposedPorts": {"80/tcp": {}, "80/udp": {}} });
    layout.set_config(&config)?;
    env.home_msb().load(layout.root(), IMAGE)
}

/// Returns the addresses that `msb port` prints, one a line.
fn addresses(env: &TestEnv, words: &[&str]) -> Result<Vec<SocketAddr>> {
    let text = printed(env, &[&["port"], words].concat())?;
    let lines = text
        .lines()
        .map(|line| line.parse().context(line.to_owned()));
    lines.collect()
}

fn printed(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = env.msb().args(words).output()?;
    expect_code(&output, 0)?;
    Ok(String::from_utf8(output.stdout)?)
}
