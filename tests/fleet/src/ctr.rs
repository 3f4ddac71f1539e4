//! Containers that `ctr` runs.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_support::{describe, expect_code, finish, spawn};

use crate::scene::{Scene, eventually};

/// A check: its name and its function.
type Check = (&'static str, fn(&Scene) -> Result<()>);

const CHECKS: &[Check] = &[
    ("output and exit codes", output_and_codes),
    ("environment, directory and namespaces", surroundings),
    ("standard input", input),
    ("a terminal", terminal),
    ("a running container", running),
    ("a container that is killed", killed),
    ("what is refused", refused),
    ("a shim that is killed", killed_shim),
];

/// A script that prints the user and the group of its shell, a line each.
const USER: &str = "while read name id rest; do case $name in Uid:|Gid:) echo $id;; esac; done \
    < /proc/self/status";

/// Runs all checks with one containerd. Nothing is left after each of them, and the events of a container are in order.
pub(crate) fn run() -> Result<String> {
    let scene = Scene::set()?;
    let (mut follower, events) = scene.follow_events()?;
    for (name, check) in CHECKS {
        check(&scene).context(*name)?;
        scene.wait_until_empty().context(*name)?;
    }
    let in_order = events_in_order(&events);
    follower.kill()?;
    follower.wait()?;
    in_order?;
    Ok(format!("{} checks", CHECKS.len()))
}

fn output_and_codes(scene: &Scene) -> Result<()> {
    // Two, one after the other: the second has the image from the store.
    for code in [3, 0] {
        let script = format!("echo hello; echo wrong >&2; exit {code}");
        let output = scene.run("first", &[], &script)?;
        expect_code(&output, code)?;
        ensure!(output.stdout == b"hello\n", "{}", describe(&output));
        ensure!(output.stderr == b"wrong\n", "{}", describe(&output));
    }
    Ok(())
}

fn surroundings(scene: &Scene) -> Result<()> {
    let script =
        format!("echo $FLEET $PWD $$; echo kept > /here; read line < /here; echo $line; {USER}");
    let options = ["--env", "FLEET=yes", "--cwd", "/tmp"];
    let output = scene.run("around", &options, &script)?;
    expect_code(&output, 0)?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(said == "yes /tmp 1\nkept\n0\n0\n", "{said:?}");
    Ok(())
}

fn input(scene: &Scene) -> Result<()> {
    let script = "read one; read two && exit 9; echo got $one";
    let mut command = scene.run_command("input", &["--rm"], script);
    let output = finish(spawn(&mut command)?, b"line\n")?;
    expect_code(&output, 0)?;
    ensure!(output.stdout == b"got line\n", "{}", describe(&output));
    Ok(())
}

fn terminal(scene: &Scene) -> Result<()> {
    let script = "test -t 0 && test -t 1 && echo terminal; exit 5";
    let command = scene.run_command("terminal", &["--rm", "--tty"], script);
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let quoted: Vec<String> = words
        .map(|word| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")))
        .collect();
    // It gives the client a terminal.
    let mut script = Command::new("script");
    let line = quoted.join(" ");
    let output = script.args(["-qec", &line, "/dev/null"]).output()?;
    expect_code(&output, 5)?;
    // The client's terminal adds a carriage return of its own if the client has left it again.
    let said = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    ensure!(said.contains("terminal\n"), "{}", describe(&output));
    Ok(())
}

fn running(scene: &Scene) -> Result<()> {
    scene.start("running")?;
    scene.wait_for("running", Some("RUNNING"))?;
    let exec = |id: &str, options: &[&str], script: &str| {
        let mut command = scene.ctr(&["tasks", "exec", "--exec-id", id]);
        let command = command.args(options).args(["running", "sh", "-c", script]);
        command.stdin(Stdio::null()).output()
    };
    let output = exec("one", &[], "echo inside; exit 4")?;
    expect_code(&output, 4)?;
    ensure!(output.stdout == b"inside\n", "{}", describe(&output));
    let output = exec("two", &["--user", "7:8"], USER)?;
    ensure!(output.stdout == b"7\n8\n", "{}", describe(&output));
    expect_code(&exec("three", &[], "kill -TERM $$")?, 143)?;
    let output = scene.ctr(&["tasks", "metrics", "running"]).output()?;
    expect_code(&output, 0)?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(said.contains("pids.current"), "{}", describe(&output));
    expect_code(&scene.ctr(&["tasks", "pause", "running"]).output()?, 0)?;
    scene.wait_for("running", Some("PAUSED"))?;
    expect_code(&scene.ctr(&["tasks", "resume", "running"]).output()?, 0)?;
    scene.wait_for("running", Some("RUNNING"))?;
    remove_killed(scene, "running")
}

fn killed(scene: &Scene) -> Result<()> {
    scene.start("killed")?;
    remove_killed(scene, "killed")
}

/// Kills a container, and removes it: its exit code is 137.
fn remove_killed(scene: &Scene, id: &str) -> Result<()> {
    let kill = ["tasks", "kill", "--signal", "SIGKILL", id];
    expect_code(&scene.ctr(&kill).output()?, 0)?;
    scene.wait_for(id, Some("STOPPED"))?;
    // Versions of the client differ in what they do with the code: they end with it, or print it.
    let output = scene.ctr(&["tasks", "rm", id]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_told = output.status.code() == Some(137) || said.contains("137");
    ensure!(is_told, "{}", describe(&output));
    expect_code(&scene.ctr(&["containers", "rm", id]).output()?, 0)
}

fn refused(scene: &Scene) -> Result<()> {
    for (options, named) in [
        (&["--net-host"][..], "network"),
        (
            &["--mount", "type=bind,src=/etc,dst=/host,options=rbind:ro"][..],
            "/etc",
        ),
    ] {
        let output = scene.run("refused", options, "true")?;
        ensure!(!output.status.success(), "{options:?} is accepted");
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(said.contains(named), "{}", describe(&output));
        // Without a task, `ctr run --rm` may leave the container.
        let _ = scene.ctr(&["containers", "rm", "refused"]).output()?;
    }
    Ok(())
}

fn killed_shim(scene: &Scene) -> Result<()> {
    scene.start("orphan")?;
    let shim = scene.shim_of("orphan")?.to_string();
    expect_code(&Command::new("kill").args(["-KILL", &shim]).output()?, 0)?;
    eventually("the task is gone or stopped", || {
        let status = scene.status("orphan")?;
        Ok(status.is_none_or(|status| status == "STOPPED"))
    })?;
    // containerd has removed the task by itself, or keeps a stopped one.
    let _ = scene.ctr(&["tasks", "rm", "--force", "orphan"]).output()?;
    expect_code(&scene.ctr(&["containers", "rm", "orphan"]).output()?, 0)
}

/// Checks the events of the first container, which was run several times.
fn events_in_order(file: &std::path::Path) -> Result<()> {
    let topics = ["create", "start", "exit", "delete"];
    let of_first = || -> Result<Vec<String>> {
        let events = fs::read_to_string(file)?;
        let own = events.lines().filter(|line| line.contains("\"first\""));
        let topics = own.filter_map(|line| {
            let (_, topic) = line.split_once("/tasks/")?;
            topic.split_whitespace().next().map(str::to_owned)
        });
        Ok(topics.collect())
    };
    let expected = topics.repeat(2);
    // containerd passes them on a moment later.
    eventually("all events have come", || {
        Ok(of_first()?.len() >= expected.len())
    })?;
    let found = of_first()?;
    ensure!(found == expected, "{found:?}");
    Ok(())
}
