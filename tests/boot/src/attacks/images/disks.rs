use anyhow::{Result, ensure};
use fs_err as fs;
use fstree::{FileKind, Inode, Metadata, Name, Tree};

use super::cases::all;
use super::{IMAGE, Loader, program, upper};

/// Memory that copying may take, in MiB: the names of one disk several times, and 64 MiB.
const COPY_MIB: u64 = 128;

/// A writable disk that a guest has filled.
pub(super) struct Disk {
    pub(super) name: &'static str,
    /// Number of nested directories, with names of 250 bytes.
    levels: usize,
    /// Number of files in the last directory, and of names of each.
    files: usize,
    names: usize,
    /// A part of the error with which the copy is refused; `None` if it succeeds.
    refused: Option<&'static str>,
}

pub(super) const ALL: [Disk; 3] = [
    Disk {
        name: "30,000 names of one file below a path of 15 KiB",
        levels: 62,
        files: 1,
        names: 30_000,
        refused: None,
    },
    Disk {
        name: "15,000 files of two names each below it",
        levels: 62,
        files: 15_000,
        names: 2,
        refused: None,
    },
    Disk {
        name: "3,000 levels",
        levels: 3000,
        files: 1,
        names: 2500,
        refused: Some("16384 bytes"),
    },
];

impl Disk {
    /// Copies the whole disk out of a sandbox that never ran.
    pub(super) fn judge(&self, loader: &Loader<'_>) -> Result<String> {
        let cases = all();
        let plain = cases.last().expect("there are cases");
        loader.load(plain)?.expect(0, "")?;
        let created =
            loader.run(
                loader
                    .msb()
                    .args(["create", "--name", "disk", IMAGE, program::PATH]),
            )?;
        created.expect(0, "")?;
        let options = ext4_writer::Options {
            size_bytes: 1 << 30,
            ..Default::default()
        };
        let file = fs::File::create(upper(&loader.sandbox()?)?)?.into_parts().0;
        ext4_writer::write(&self.tree()?, &options, &file)?;
        let copied = loader.run(loader.msb().args(["cp", "disk:/", "-"]))?;
        match self.refused {
            Some(words) => copied.expect(125, words)?,
            None => copied.expect(0, "")?,
        }
        let peak_mib = copied.peak_mib;
        ensure!(
            peak_mib <= COPY_MIB,
            "{peak_mib} MiB, {COPY_MIB} are allowed"
        );
        Ok(format!("copied with {peak_mib} MiB"))
    }

    fn tree(&self) -> Result<Tree<Vec<u8>>> {
        let directory = || Inode::directory(Metadata::directory(0o755));
        let mut tree = Tree::new(Metadata::directory(0o755));
        let mut last = tree.root();
        let long = "d".repeat(250);
        for name in std::iter::once("upper").chain(std::iter::repeat_n(&*long, self.levels)) {
            let inner = tree.add(directory());
            tree.link(last, Name::new(name.as_bytes())?, inner);
            last = inner;
        }
        for file in 0..self.files {
            let id = tree.add(Inode {
                metadata: Metadata::with_mode(0o644),
                kind: FileKind::Regular(Vec::new()),
            });
            for name in 0..self.names {
                tree.link(last, Name::new(format!("{file}-{name}").as_bytes())?, id);
            }
        }
        Ok(tree)
    }
}
