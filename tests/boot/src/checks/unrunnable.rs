use anyhow::{Result, ensure};

use super::durability::remove;
use test_support::{TestEnv, describe, expect_code};

const NAME: &str = "checks-unrunnable";

/// Makes files that cannot run. A shell that reads one as lines leaves a trace.
const MAKE: &str = r"
import os
def make(name, content):
    with open('/root/' + name, 'wb') as file:
        file.write(content)
    os.chmod('/root/' + name, 0o755)
make('foreign', b'\x7fELF\2\2\1' + bytes(9) + b'\0\2\0\x16\n\ntouch /root/trace\n')
make('lines', b'touch /root/trace\n')
make('script', b'#!/no/bash\n')
with open('/bin/true', 'rb') as program:
    make('dynamic', program.read().replace(b'/ld-linux', b'/no-linux'))
";

/// The commands, each with its error and its exit code.
const COMMANDS: &[(&str, &str, i32)] = &[
    ("no-such-command", "no-such-command: command not found", 127),
    ("/no/such/file", "/no/such/file: command not found", 127),
    ("/etc/passwd", "/etc/passwd: cannot execute", 126),
    ("/root/foreign", "/root/foreign is built for s390x", 126),
    (
        "/root/lines",
        "/root/lines: cannot execute: exec format error",
        126,
    ),
    (
        "/root/script",
        "/root/script: its interpreter /no/bash is not in the image",
        127,
    ),
    (
        "/root/dynamic",
        "/root/dynamic: its interpreter /lib64/no-linux",
        127,
    ),
];

pub(super) fn commands(env: &TestEnv) -> Result<()> {
    for (command, code) in [("no-such-command", 127), ("/etc/passwd", 126)] {
        refuses(&env.run(&[], &[command])?, command, code)?;
    }
    expect_code(&env.run(&["-u", "nobody-knows"], &["true"])?, 125)?;
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME], &["sleep", "infinity"])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    let seen = in_sandbox(env);
    expect_code(&msb(env, &["kill", NAME])?, 0)?;
    remove(env, NAME)?;
    seen
}

fn in_sandbox(env: &TestEnv) -> Result<()> {
    expect_code(&msb(env, &["exec", NAME, "python3", "-c", MAKE])?, 0)?;
    for &(command, said, code) in COMMANDS {
        refuses(&msb(env, &["exec", NAME, command])?, said, code)?;
    }
    let trace = msb(env, &["exec", NAME, "test", "-e", "/root/trace"])?;
    expect_code(&trace, 1)
}

fn refuses(output: &std::process::Output, said: &str, code: i32) -> Result<()> {
    expect_code(output, code)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(stderr.contains(said), "no '{said}': {}", describe(output));
    Ok(())
}

fn msb(env: &TestEnv, words: &[&str]) -> Result<std::process::Output> {
    Ok(env.msb().args(words).output()?)
}
