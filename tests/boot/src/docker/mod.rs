//! Compares `msb run` with docker's documentation of the same options.

mod row;
mod table;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Output};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde_json::json;
use test_fixtures::images;
use test_support::harness::Trial;
use test_support::oci_layout::Layout;
use test_support::{TestEnv, settings, spawn};

use crate::trial::boot_found;
use row::{Image, Row};
use table::rows;

/// Returns a test for each row, or for every Nth ([`settings::STEP`]): `docker::boot_…`.
pub(crate) fn tests() -> Result<Vec<Trial>> {
    let rows = rows().step_by(settings::step()?);
    let test = |row: &'static Row| boot_found("docker", row.case, move |env| judge(env, row));
    Ok(rows.map(test).collect())
}

/// Loads the row's image, runs its command, and compares the result.
fn judge(env: &TestEnv, row: &Row) -> Result<String> {
    load(env, row.image)?;
    fs::write(
        env.work.join("env"),
        "# a comment\n\nA=file\nB=file\nMSB_TABLE_SET\n",
    )?;
    fs::create_dir_all(env.work.join("host"))?;
    fs::write(env.work.join("host/file"), "of the host\n")?;
    let output = output(env, row)?;
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let is_right = output.status.code() == Some(row.code)
        && row.stdout.is_none_or(|expected| stdout == expected)
        && stderr.contains(row.stderr);
    ensure!(
        is_right,
        "expected {}, {:?}, {:?}; got {}, {stdout:?}, {stderr:?}",
        row.code,
        row.stdout,
        row.stderr,
        output.status
    );
    Ok(String::new())
}

/// Loads an image with the demo's layers and another config. It is loaded once for all tests of
/// this process: their homes have one store.
fn load(env: &TestEnv, image: Image) -> Result<()> {
    static LOADED: Mutex<Vec<Image>> = Mutex::new(Vec::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.contains(&image) {
        return Ok(());
    }
    let config = match image {
        Image::Full => json!({
            "Entrypoint": ["/bin/echo", "entry"], "Cmd": ["cmd"], "User": "nobody",
            "Env": ["A=image", "SP=two words"], "WorkingDir": "/srv/work",
        }),
        Image::Plain => json!({ "Cmd": ["/bin/sh", "-c", "echo cmd"] }),
    };
    let layout = Layout::linked(&images::demo()?, env.work.join("layout"))?;
    let mut whole = layout.config()?;
    whole["config"] = config;
    layout.set_config(&whole)?;
    env.home_msb().load(layout.root(), name(image))?;
    loaded.push(image);
    Ok(())
}

/// Runs the row's command, and repeats it while no guest answers.
fn output(env: &TestEnv, row: &Row) -> Result<Output> {
    env.repeated(|| finish(spawn(&mut command(env, row))?, row))
}

fn command(env: &TestEnv, row: &Row) -> Command {
    let mut command = env.machine_command("run");
    command.args(["-q", "--rm", "--pull", "never"]);
    command.args(["--cpus", "1", "--memory", "512M"]);
    let work = env.work.display().to_string();
    for option in row.options {
        command.arg(option.replace("{work}", &work));
    }
    command.arg(name(row.image)).args(row.command);
    command
        .env("MSB_TABLE_SET", "from here")
        .env_remove("MSB_TABLE_UNSET");
    command
}

const fn name(image: Image) -> &'static str {
    match image {
        Image::Full => "localhost/full:1",
        Image::Plain => "localhost/plain:1",
    }
}

/// Feeds a command, signals it after its first line, and waits for its end.
fn finish(mut child: Child, row: &Row) -> Result<Output> {
    let mut stdin = child.stdin.take().context("no pipe")?;
    // The command may end before it has read anything.
    let _ = stdin.write_all(row.stdin.as_bytes());
    drop(stdin);
    let Some(signal) = row.signal else {
        return Ok(child.wait_with_output()?);
    };
    let mut stdout = BufReader::new(child.stdout.take().context("no pipe")?);
    let mut seen = String::new();
    stdout.read_line(&mut seen)?;
    let pid = child.id().to_string();
    Command::new("kill")
        .args([&format!("-{signal}"), &pid])
        .status()?;
    stdout.read_to_string(&mut seen)?;
    let mut output = child.wait_with_output()?;
    output.stdout = seen.into_bytes();
    Ok(output)
}
