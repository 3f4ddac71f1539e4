//! The program msb, and an image for it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use testkit::{TarBuilder, TarEntry};

/// The program `msb` with a home that is removed when this value is dropped.
pub(crate) struct Msb {
    pub(crate) home: TempDir,
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Returns the standard output of a command that must have succeeded.
    pub(crate) fn printed(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout
    }

    /// Returns the lines on standard error. The command must have failed with 125 and printed
    /// nothing else.
    pub(crate) fn refused(self) -> Vec<String> {
        assert_eq!((self.code, self.stdout.as_str()), (125, ""), "{self:?}");
        self.stderr.lines().map(str::to_owned).collect()
    }
}

impl Msb {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().expect("a directory"),
        }
    }

    /// Returns `msb` with an image that has these names.
    pub(crate) fn with_image(names: &[&str]) -> Self {
        let msb = Self::new();
        msb.with_input(&["load"], &archive(names)).printed();
        msb
    }

    /// Runs `msb` without input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.with_input(arguments, b"")
    }

    pub(crate) fn with_input(&self, arguments: &[&str], input: &[u8]) -> Ended {
        self.with_variables(arguments, input, &[])
    }

    /// Runs `msb` with these variables and its home, in an environment that is otherwise empty.
    pub(crate) fn with_variables(
        &self,
        arguments: &[&str],
        input: &[u8],
        variables: &[(&str, &str)],
    ) -> Ended {
        let mut child = Command::new(env!("CARGO_BIN_EXE_msb"))
            .args(arguments)
            .env_clear()
            .env("MSB_HOME", self.home.path())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("msb");
        let mut stdin = child.stdin.take().expect("piped");
        // A command that refuses its arguments does not read its input.
        let _ = stdin.write_all(input);
        drop(stdin);
        let output = child.wait_with_output().expect("an end");
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

/// Returns the output of `docker save` for an image of one file.
fn archive(names: &[&str]) -> Vec<u8> {
    let layer = TarBuilder::archive([TarEntry::file("bin/sh", "#!")]);
    let diff_id: String = Sha256::digest(&layer)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let config = format!(
        r#"{{"os": "linux", "architecture": "amd64", "created": "2020-01-01T00:00:00Z",
            "config": {{"Cmd": ["/bin/sh"]}},
            "rootfs": {{"type": "layers", "diff_ids": ["sha256:{diff_id}"]}}}}"#
    );
    let manifest =
        format!(r#"[{{"Config": "c.json", "RepoTags": {names:?}, "Layers": ["l.tar"]}}]"#);
    TarBuilder::archive([
        TarEntry::file("c.json", config),
        TarEntry::file("l.tar", layer),
        TarEntry::file("manifest.json", manifest),
    ])
}
