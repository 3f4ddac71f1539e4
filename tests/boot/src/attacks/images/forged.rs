use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use testkit::ForgedExt4;

use super::cases::all;
use super::{IMAGE, Loader, program, upper};

/// Memory that a command may take which reads a disk, in MiB: `disk-metadata`.
const READ_MIB: u64 = 256;

/// A writable disk that a guest has forged, and a part of the error with which it is refused; `None` if it is
/// read.
pub(super) struct Forged {
    pub(super) name: &'static str,
    disk: ForgedExt4,
    refused: Option<&'static str>,
}

pub(super) const ALL: [Forged; 6] = [
    Forged {
        name: "1,000 files share 203 xattrs that overlap",
        disk: ForgedExt4::OverlappingXattrs(1000),
        refused: Some("values that overlap"),
    },
    Forged {
        name: "4,000 files share them",
        disk: ForgedExt4::OverlappingXattrs(4000),
        refused: Some("values that overlap"),
    },
    Forged {
        name: "4,000 files share one long xattr",
        disk: ForgedExt4::SharedXattrs(4000),
        refused: None,
    },
    Forged {
        name: "a directory of 400,000 blocks is one block",
        disk: ForgedExt4::RepeatedNames(400_000),
        refused: Some("holds a name twice"),
    },
    Forged {
        name: "a journal of 350,000 blocks is one block",
        disk: ForgedExt4::RepeatedRevocations(350_000),
        refused: Some("overlaps the journal"),
    },
    Forged {
        name: "a journal revokes 1,020 numbers 2,000 times",
        disk: ForgedExt4::CopiedRevocations(2000),
        refused: None,
    },
];

impl Forged {
    /// Reads the disk of a sandbox that never ran with every command that does.
    pub(super) fn judge(&self, loader: &Loader<'_>) -> Result<String> {
        let path = create(loader, &[])?;
        let forging = self.disk.write(&path);
        forging.context("cannot forge a disk: e2fsprogs are needed")?;
        let host = loader.env.work.join("host");
        fs::create_dir_all(&host)?;
        let host = host.to_str().context("a path")?;
        self.judge_commands(
            loader,
            &[
                &["diff", "disk"],
                &["fs", "ls", "disk", "/"],
                &["cp", "disk:/", "-"],
                &["apply", "-n", "disk", host],
                &["commit", "disk", "localhost/forged:latest"],
                &["discard", "-n", "disk", "/"],
            ],
        )
    }

    /// Reads the same files as changes of a staged directory, with every command that does.
    pub(super) fn judge_staged(&self, loader: &Loader<'_>) -> Result<String> {
        let project = loader.env.work.join("project");
        fs::create_dir_all(&project)?;
        for name in ["f", "seen"] {
            fs::write(project.join(name), name)?;
        }
        let mount = format!("{}:/work:staged", project.display());
        let path = create(loader, &["--network", "none", "-v", &mount])?;
        let forging = self.disk.write_below(&path, "staged/0/upper");
        forging.context("cannot forge a disk: e2fsprogs are needed")?;
        // Without a change of the host there is nothing to compare anew.
        fs::write(project.join("seen"), "edited on the host")?;
        let judged = self.judge_commands(
            loader,
            &[
                &["diff", "disk", "--", "/work"],
                &["fs", "ls", "disk", "/work"],
                &["apply", "-n", "disk"],
                &["restage", "-n", "disk"],
                &["discard", "-n", "disk", "/work/f"],
            ],
        )?;
        let mut names = Vec::new();
        for name in fs::read_dir(&project)? {
            names.push(name?.file_name());
        }
        names.sort_unstable();
        ensure!(names == ["f", "seen"], "the host has {names:?}");
        Ok(judged)
    }

    /// Runs commands that read the disk, and checks their ends and their memory.
    fn judge_commands(&self, loader: &Loader<'_>, commands: &[&[&str]]) -> Result<String> {
        let mut most_mib = 0;
        for arguments in commands {
            let ended = loader.run(loader.msb().args(*arguments))?;
            let judged = match self.refused {
                Some(words) => ended.expect(125, words),
                None => ended.expect(0, ""),
            };
            judged.with_context(|| format!("msb {}", arguments.join(" ")))?;
            let peak_mib = ended.peak_mib;
            ensure!(
                peak_mib <= READ_MIB,
                "msb {} took {peak_mib} MiB, {READ_MIB} are allowed",
                arguments.join(" ")
            );
            most_mib = most_mib.max(peak_mib);
        }
        Ok(format!("read with {most_mib} MiB at most"))
    }
}

/// Creates a sandbox that never runs. Returns the path of its writable disk, which is removed.
fn create(loader: &Loader<'_>, options: &[&str]) -> Result<PathBuf> {
    let cases = all();
    let plain = cases.last().expect("there are cases");
    loader.load(plain)?.expect(0, "")?;
    let mut create = loader.msb();
    create.args(["create", "--name", "disk"]).args(options);
    create.args([IMAGE, program::PATH]);
    loader.run(&create)?.expect(0, "")?;
    let path = upper(&loader.sandbox()?)?;
    fs::remove_file(&path)?;
    Ok(path)
}
