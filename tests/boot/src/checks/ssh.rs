//! OpenSSH's own programs at a sandbox: commands, terminals, files, users.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use test_support::{TestEnv, expect_code, spawn};

use super::durability::remove;
use super::host_directory::HostDirectory;
use super::ssh_sockets;

const NAME: &str = "checks-ssh";
/// The name by which OpenSSH's programs know the sandbox.
pub(super) const HOST: &str = "checks-ssh.msb";
/// The exit code of ssh for a connection that failed, and for a command that a signal ended.
const EXIT_FAILED: i32 = 255;
/// The bytes of the file that is copied both ways.
const COPIED_BYTES: usize = 64 << 20;
/// A command at a terminal, whose size is changed while it waits.
const RESIZED: &str =
    "stty size; while [ \"$(stty size)\" = '33 101' ]; do sleep 0.1; done; stty size; exit 3";
/// A client at a terminal whose size changes.
const TERMINAL: &str = include_str!("ssh.py");

/// A sandbox, and the configuration by which OpenSSH's programs reach it.
pub(super) struct Server<'a> {
    pub(super) env: &'a TestEnv,
    pub(super) config: PathBuf,
    pub(super) files: HostDirectory,
}

/// Checks what OpenSSH's programs do with a sandbox, from its start to its end.
pub(super) fn served(env: &TestEnv) -> Result<()> {
    let start = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME], &["sleep", "100000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let installed = env.msb().args(["ssh-config", "--install"]).output()?;
    expect_code(&installed, 0)?;
    let server = Server {
        env,
        config: env.home().join("ssh/config"),
        files: HostDirectory::new(env)?,
    };
    let line = format!("Include \"{}\"\n", server.config.display());
    ensure!(installed.stdout == line.as_bytes(), "{installed:?}");
    server.commands()?;
    server.streams()?;
    server.terminal()?;
    server.users()?;
    server.copies()?;
    server.files()?;
    ssh_sockets::forwarded(&server)?;
    ssh_sockets::refused(&server)?;
    ssh_sockets::agent(&server)?;
    ssh_sockets::unheard(&server)?;
    server.refused()?;
    remove(env, NAME)
}

impl Server<'_> {
    /// Returns a program of OpenSSH with the configuration.
    pub(super) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("-F").arg(&self.config).stdin(Stdio::null());
        command
    }

    /// Runs a command of the sandbox, with options of ssh before it.
    pub(super) fn ssh(&self, options: &[&str], command: &str) -> Result<Output> {
        let mut ssh = self.program("ssh");
        ssh.args(options).args([HOST, command]);
        Ok(ssh.output()?)
    }

    /// Returns what a command prints that succeeds.
    pub(super) fn said(&self, options: &[&str], command: &str) -> Result<String> {
        let output = self.ssh(options, command)?;
        expect_code(&output, 0)?;
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Checks exit codes, signals, variables, and streams that stay apart.
    fn commands(&self) -> Result<()> {
        let apart = self.ssh(&[], "echo out; echo err >&2; exit 7")?;
        expect_code(&apart, 7)?;
        ensure!(apart.stdout == b"out\n", "{apart:?}");
        ensure!(apart.stderr == b"err\n", "{apart:?}");
        expect_code(&self.ssh(&[], "kill -KILL $$")?, EXIT_FAILED)?;
        expect_code(&self.ssh(&[], "no-such-command")?, 127)?;
        let set = ["-o", "SetEnv=CHECK=\"a b\""];
        let said = self.said(&set, "echo \"$CHECK $HOME $PWD $USER $#\"")?;
        ensure!(said == "a b /root /root root 0\n", "{said}");
        let mut msb = self.env.msb();
        let own = msb.args(["ssh", NAME, "exit", "9"]).stdin(Stdio::null());
        expect_code(&own.output()?, 9)
    }

    /// Checks that input ends, and that a filter of more bytes than any buffer holds ends as well.
    fn streams(&self) -> Result<()> {
        let input = vec![b'x'; COPIED_BYTES];
        let path = self.files.0.join("input");
        fs::write(&path, &input)?;
        let mut ssh = self.program("ssh");
        ssh.args([HOST, "cat"]).stdin(fs::File::open(&path)?);
        let output = ssh.output()?;
        expect_code(&output, 0)?;
        ensure!(output.stdout == input, "{} bytes", output.stdout.len());
        // A command that reads nothing ends with its own code.
        let mut ssh = self.program("ssh");
        ssh.args([HOST, "exit 4"]).stdin(fs::File::open(&path)?);
        expect_code(&ssh.output()?, 4)
    }

    /// Checks a terminal's size, and that the command sees it change.
    fn terminal(&self) -> Result<()> {
        let mut python = Command::new("python3");
        python.args(["-c", TERMINAL, "ssh", "-F"]).arg(&self.config);
        let python = python.args(["-t", HOST, RESIZED]);
        expect_code(&python.output()?, 3)
    }

    /// Checks that a user of the guest has their own home and rights, and that an unknown one is refused.
    fn users(&self) -> Result<()> {
        self.said(&[], "useradd --create-home --shell /bin/bash dev")?;
        let dev = ["-l", "dev"];
        let said = self.said(&dev, "id -un; pwd; echo $SHELL; cat /etc/shadow || true")?;
        ensure!(said == "dev\n/home/dev\n/bin/bash\n", "{said}");
        self.batch(&dev, "-put input /root/not-mine\nput input mine\n")?;
        let said = self.said(&[], "ls /root; stat -c %U /home/dev/mine")?;
        ensure!(said == "dev\n", "{said}");
        let unknown = self.ssh(&["-l", "nobody-knows"], "true")?;
        expect_code(&unknown, EXIT_FAILED)?;
        let text = String::from_utf8_lossy(&unknown.stderr);
        ensure!(
            text.contains("the image has no user 'nobody-knows'"),
            "{text}"
        );
        Ok(())
    }

    /// Checks that scp copies a large file both ways.
    fn copies(&self) -> Result<()> {
        let (there, back) = (self.files.0.join("large"), self.files.0.join("back"));
        let large: Vec<u8> = (0..COPIED_BYTES / 4)
            .flat_map(|number| {
                u32::try_from(number)
                    .unwrap_or_default()
                    .wrapping_mul(2_654_435_761)
                    .to_le_bytes()
            })
            .collect();
        fs::write(&there, &large)?;
        let remote = format!("{HOST}:/tmp/large");
        self.copy(&there, Path::new(&remote))?;
        self.copy(Path::new(&remote), &back)?;
        ensure!(fs::read(&back)? == large, "the copy differs");
        let size = self.said(&[], "stat -c %s /tmp/large")?;
        ensure!(size == format!("{COPIED_BYTES}\n"), "{size}");
        Ok(())
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let mut scp = self.program("scp");
        expect_code(&scp.arg("-q").arg(from).arg(to).output()?, 0)
    }

    /// Checks symlinks, modes, times and trees.
    fn files(&self) -> Result<()> {
        self.batch(
            &[],
            "mkdir tree\nput input tree/file\nchmod 640 tree/file\nln -s file tree/link\nln -s nowhere tree/dangling\n\
             rename tree/file tree/moved\nln tree/moved tree/hard\n-rmdir tree\nget -R tree back-tree\n",
        )?;
        let said = self.said(
            &[],
            "cd tree; stat -c '%n %f %h' hard moved; readlink link dangling",
        )?;
        ensure!(
            said == "hard 81a0 2\nmoved 81a0 2\nfile\nnowhere\n",
            "{said}"
        );
        let back = self.files.0.join("back-tree/moved");
        ensure!(
            fs::metadata(back)?.len() == COPIED_BYTES as u64,
            "not copied back"
        );
        Ok(())
    }

    /// Runs commands of sftp in the directory of the host.
    fn batch(&self, options: &[&str], commands: &str) -> Result<()> {
        let path = self.files.0.join("batch");
        fs::write(&path, commands)?;
        let mut sftp = self.program("sftp");
        let user = options.get(1).copied().unwrap_or("root");
        let sftp = sftp
            .args(["-q", "-b"])
            .arg(&path)
            .arg(format!("{user}@{HOST}"));
        expect_code(&sftp.current_dir(&self.files.0).output()?, 0)
    }

    /// Checks the errors of a sandbox that does not exist, and of one that is stopped.
    fn refused(&self) -> Result<()> {
        let mut missing = self.program("ssh");
        let missing = missing.args(["no-such-sandbox.msb", "true"]).output()?;
        expect_code(&missing, EXIT_FAILED)?;
        let text = String::from_utf8_lossy(&missing.stderr);
        ensure!(text.contains("no-such-sandbox"), "{text}");
        let stopped = self.env.msb().args(["stop", NAME]).output()?;
        expect_code(&stopped, 0)?;
        let stopped = self.ssh(&[], "true")?;
        expect_code(&stopped, EXIT_FAILED)?;
        let text = String::from_utf8_lossy(&stopped.stderr);
        ensure!(text.contains(&format!("msb start {NAME}")), "{text}");
        Ok(())
    }

    /// Starts the server of a client that says nothing.
    pub(super) fn silent(&self) -> Result<std::process::Child> {
        let mut msb = self.env.msb();
        let msb = msb.args(["ssh-proxy", NAME]).stdin(Stdio::piped());
        spawn(msb.stdout(Stdio::piped())).context("no server")
    }

    /// Starts a job of the sandbox.
    pub(super) fn start_job(&self, words: &[&str]) -> Result<()> {
        let mut msb = self.env.msb();
        expect_code(&msb.args(["exec", "-d", NAME]).args(words).output()?, 0)
    }
}
