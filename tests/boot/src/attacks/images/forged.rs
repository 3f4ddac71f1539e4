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
        let cases = all();
        let plain = cases.last().expect("there are cases");
        loader.load(plain)?.expect(0, "")?;
        let mut create = loader.msb();
        create.args(["create", "--name", "disk", IMAGE, program::PATH]);
        loader.run(&create)?.expect(0, "")?;
        let path = upper(&loader.sandbox()?)?;
        fs::remove_file(&path)?;
        let forging = self.disk.write(&path);
        forging.context("cannot forge a disk: e2fsprogs are needed")?;
        let host = loader.env.work.join("host");
        fs::create_dir_all(&host)?;
        let host = host.to_str().context("a path")?;
        let commands: [&[&str]; 6] = [
            &["diff", "disk"],
            &["fs", "ls", "disk", "/"],
            &["cp", "disk:/", "-"],
            &["apply", "-n", "disk", host],
            &["commit", "disk", "localhost/forged:latest"],
            &["discard", "-n", "disk", "/"],
        ];
        let mut most_mib = 0;
        for arguments in commands {
            let ended = loader.run(loader.msb().args(arguments))?;
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
