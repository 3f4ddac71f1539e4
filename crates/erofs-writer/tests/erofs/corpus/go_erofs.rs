use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::case::Case;
use super::readers::{Reader, same};
use super::tally::Tally;

/// The reader of github.com/erofs/go-erofs, in a process that runs until this value is dropped.
pub(super) struct GoErofs {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl GoErofs {
    pub(super) fn start(program: &Path) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("MSB_GO_EROFS names a program");
        Self {
            questions: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Returns the image followed by its devices and a block of zeros. go-erofs 0.3.1 reads whole
    /// files from there, and 4096 bytes at every shared xattr.
    fn padded(case: &Case) -> PathBuf {
        let path = case.scratch("padded");
        let mut image = case.built.flat();
        image.resize(image.len() + 4096, 0);
        fs::write(&path, image).unwrap();
        path
    }

    fn dump(&mut self, case: &Case) -> Result<String, String> {
        let padded = Self::padded(case);
        let paths = [&padded].into_iter().chain(&case.devices);
        let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        writeln!(self.questions, "{}", paths.join("\t")).unwrap();
        let mut text = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.answers.read_line(&mut line).unwrap(), 0, "it ended");
            match line.as_bytes()[0] {
                b'.' => return Ok(text),
                b'!' => return Err(line),
                _ => text.push_str(&line),
            }
        }
    }
}

impl Reader for GoErofs {
    fn name(&self) -> &str {
        "go-erofs"
    }

    fn check(&mut self, case: &Case, tally: &mut Tally) -> Result<(), Vec<String>> {
        let seen = self.dump(case).map_err(|error| vec![error])?;
        for line in case.expected.lines() {
            let has_special_bits = line
                .split(' ')
                .nth(2)
                .is_some_and(|mode| !mode.starts_with('0'));
            if has_special_bits {
                tally.quirk("go-erofs", "setuid, setgid and sticky lost");
            }
        }
        same(&blurred(&case.expected), &blurred(&seen))
    }
}

/// Returns a dump without the faults of go-erofs 0.3.1. It drops setuid, setgid and sticky, and
/// puts a dot behind the names of ACLs.
fn blurred(dump: &str) -> String {
    let lines = dump.lines().map(|line| {
        let line = line.replace("system.posix_acl_access.=", "system.posix_acl_access=");
        let line = line.replace("system.posix_acl_default.=", "system.posix_acl_default=");
        let mut fields: Vec<&str> = line.split(' ').collect();
        if let Some(mode) = fields.get_mut(2) {
            *mode = &mode[1..];
        }
        fields.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl Drop for GoErofs {
    fn drop(&mut self) {
        // A panic comes first; then this process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
