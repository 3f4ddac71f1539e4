use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use command_journal::{Journal, NewCommand};
use fs_err as fs;
use generations::{DiskId, FileStorage, Pool};
use test_support::{Msb, TestEnv, succeed, upper_disk};
use testkit::images::{Packing, TestImage, TestLayer, write_directory};

use super::super::expect_whole;
use super::registry::Registry;
use super::step::{UNFINISHED, is_of_generation};

/// The image that the sandboxes are made of.
pub(super) const IMAGE: &str = "app:1";
/// The image whose layer is packed.
pub(super) const PACKED: &str = "packed:1";
/// The name that a commit gives its image. Before, it is another name of [`IMAGE`].
pub(super) const COMMITTED: &str = "app:2";
/// The sandbox with changes, and the one that has the project as it was before.
pub(super) const CHANGED: &str = "agent";
pub(super) const BEFORE: &str = "before";
/// Files that the sandbox with changes added: with them, `apply` makes more changes than it syncs one by one.
pub(super) const MANY: [&str; 5] = ["many/1", "many/2", "many/3", "many/4", "many/5"];
/// The sandbox that has a snapshot, and was changed since.
pub(super) const SNAPPED: &str = "snapped";
/// The sandbox with a command that has a snapshot before it, and made changes since.
pub(super) const COMMANDED: &str = "commanded";

/// The sandbox with staged directories, whose files it changed, and the host too.
pub(super) const STAGED: &str = "staged";
/// The same with a snapshot.
pub(super) const STAGED_SNAPPED: &str = "staged-snapped";
/// The number of times that a file has its text.
pub(super) const TEXTS: usize = 20_000;
/// The directory of the home with the images of staged directories, whose names are other ones each time.
const STAGED_IMAGES: &str = "home/staged";
/// The directory of the home with the records of applies, whose names have the numbers of directories.
const APPLYING: &str = "home/applying";

/// The journal of a sandbox's commands, in the sandbox's directory.
const JOURNAL: &str = "commands";

/// The file with a snapshot of that sandbox.
pub(super) const EXPORTED: &str = "exported.msb";

/// The sandbox that a fork, or an import, makes.
pub(super) const FORK: &str = "fork";

/// The files of a test: an `MSB_HOME` with an image and stopped sandboxes, a project of the host,
/// and an archive. They are copied anew before each run.
pub(super) struct World {
    program: Msb,
    pub(super) root: PathBuf,
    pristine: PathBuf,
    pub(super) registry: Registry,
    pub(super) log: PathBuf,
    /// The raw file of a disk that e2fsck checks.
    exported: PathBuf,
}

impl World {
    /// Makes it below the test's directory.
    pub(super) fn new(env: &TestEnv) -> Result<Self> {
        Self::on(env, &env.work)
    }

    /// Makes it below a directory. There `world` may be a mounted disk; everything else is beside.
    pub(super) fn on(env: &TestEnv, directory: &Path) -> Result<Self> {
        let root = directory.join("world");
        let world = Self {
            program: env.msb_in(root.join("home")),
            root,
            pristine: directory.join("pristine"),
            registry: Registry::start()?,
            log: directory.join("calls"),
            exported: directory.join("exported.ext4"),
        };
        fs::create_dir_all(&world.root)?;
        world.make()?;
        copy(&world.root, &world.pristine)?;
        Ok(world)
    }

    pub(super) fn msb(&self) -> &Msb {
        &self.program
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        self.program.command(arguments)
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    /// Makes everything as it was before the first run.
    pub(super) fn reset(&self) -> Result<()> {
        // The directory itself may be a mount point.
        for entry in fs::read_dir(&self.root)? {
            let path = entry?.path();
            if path.is_dir() {
                fs::remove_dir_all(path)?;
            } else {
                fs::remove_file(path)?;
            }
        }
        self.registry.reset();
        copy(&self.pristine, &self.root)
    }

    /// Returns true for a path of a sandbox that was not there at first. Its id is another one each time.
    pub(super) fn is_new_sandbox(&self, path: &Path) -> bool {
        let below = path.strip_prefix(self.root.join("home/sandboxes"));
        let id = below.ok().and_then(|below| below.iter().next());
        id.is_some_and(|id| !self.pristine.join("home/sandboxes").join(id).exists())
    }

    /// Returns true for the image of a staged directory. Its name has the stamps of the files, which are copied anew
    /// before each run.
    pub(super) fn is_staged_image(&self, path: &Path) -> bool {
        path.parent() == Some(&self.root.join(STAGED_IMAGES))
    }

    /// Returns true for the record of an apply. Its name has the number of the directory, which is copied anew before
    /// each run.
    pub(super) fn is_record_of_apply(&self, path: &Path) -> bool {
        path.parent() == Some(&self.root.join(APPLYING))
    }

    /// Returns true if an apply waits to be finished.
    pub(super) fn has_waiting_apply(&self) -> Result<bool> {
        let applying = self.root.join(APPLYING);
        if !applying.exists() {
            return Ok(false);
        }
        for entry in fs::read_dir(applying)? {
            if !entry?.file_name().to_string_lossy().starts_with('.') {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true for the journal of a sandbox without commands: it has the places of snapshots among commands,
    /// which follow from their times without it.
    pub(super) fn is_spare_journal(&self, path: &Path) -> bool {
        let is_journal = path.file_name().is_some_and(|name| name == JOURNAL);
        let copy = path
            .strip_prefix(&self.root)
            .map(|path| self.pristine.join(path));
        is_journal && !copy.is_ok_and(|copy| copy.exists())
    }

    /// Returns the paths of all files and directories that are the same each time, and checks that none
    /// is unfinished.
    pub(super) fn names(&self) -> Result<Vec<PathBuf>> {
        let mut names: Vec<PathBuf> = paths_below(&self.root)?;
        names.retain(|path| {
            let name = path.file_name();
            let is_of_generation =
                name.is_some_and(|name| is_of_generation(&name.to_string_lossy()));
            // What a killed creation leaves is swept later.
            !is_of_generation
                && !self.is_new_sandbox(path)
                && !self.is_spare_journal(path)
                && !self.is_staged_image(path)
        });
        let is_unfinished = |name: &&PathBuf| {
            let mut parts = name.iter().map(|part| part.to_string_lossy());
            parts.any(|part| UNFINISHED.iter().any(|start| part.starts_with(start)))
        };
        let left: Vec<&PathBuf> = names.iter().filter(is_unfinished).collect();
        ensure!(left.is_empty(), "left over: {left:?}");
        Ok(names.iter().map(|path| without_number(path)).collect())
    }

    /// Checks that each directory of a sandbox is that of a complete one.
    pub(super) fn expect_no_remains(&self) -> Result<()> {
        for entry in fs::read_dir(self.root.join("home/sandboxes"))? {
            let directory = entry?.path();
            let is_complete = directory.join("sandbox.json").exists();
            ensure!(is_complete, "left over: {}", directory.display());
        }
        Ok(())
    }

    /// Checks the store, all snapshots, and the disks of the sandboxes with e2fsck.
    pub(super) fn expect_whole(&self) -> Result<()> {
        expect_whole(self.msb())?;
        for name in [BEFORE, CHANGED, SNAPPED, COMMANDED, STAGED, STAGED_SNAPPED] {
            succeed(&mut self.command(&["snapshot", "verify", name]))?;
        }
        for entry in fs::read_dir(self.root.join("home/sandboxes"))? {
            let directory = entry?.path();
            // A creation that was killed leaves no sandbox.
            if !directory.join("sandbox.json").exists() {
                continue;
            }
            upper_disk::export(&directory.join("generations"), &self.exported)?;
            succeed(Command::new("e2fsck").arg("-fn").arg(&self.exported))?;
        }
        Ok(())
    }

    /// Returns the content of a file of the sandbox with a snapshot, which differs since the snapshot.
    pub(super) fn snapped_content(&self) -> Result<Vec<u8>> {
        self.content(SNAPPED)
    }

    /// Returns the content of the file that differs since a snapshot.
    pub(super) fn content(&self, sandbox: &str) -> Result<Vec<u8>> {
        let words = ["fs", "cat", sandbox, "/work/edited"];
        Ok(succeed(&mut self.command(&words))?.stdout)
    }

    fn make(&self) -> Result<()> {
        let layers = [
            TestLayer::new(
                &[("etc/motd", b"hello\n"), ("etc/cut", b"gone\n")],
                Packing::Plain,
            ),
            TestLayer::new(&[("usr/tool", &[7; 70_000])], Packing::Gzip),
        ];
        self.load(IMAGE, &layers)?;
        let layer = TestLayer::new(&[("packed", &[9; 70_000])], Packing::Gzip);
        self.load(PACKED, &[layer])?;
        succeed(&mut self.command(&["image", "pack", PACKED]))?;
        succeed(&mut self.command(&["tag", IMAGE, COMMITTED]))?;
        self.make_project("old", &[("same", "1"), ("edited", "2"), ("removed", "3")])?;
        let mut files = vec![("same", "1"), ("edited", "two"), ("sub/added", "4")];
        files.extend(MANY.map(|path| (path, "5")));
        self.make_project("new", &files)?;
        fs::hard_link(self.root.join("new/edited"), self.root.join("new/linked"))?;
        self.create(BEFORE, "old", &[])?;
        self.create(
            CHANGED,
            "new",
            &["--rm-path", "/etc/cut", "--mkdir", "/etc/made"],
        )?;
        self.create(SNAPPED, "old", &[])?;
        let snapshot = format!("{SNAPPED}@first");
        succeed(&mut self.command(&["snapshot", "create", &snapshot]))?;
        self.change(SNAPPED, b'8')?;
        // The generations of the two later ones can be merged.
        for (name, content) in [("second", b'9'), ("last", b'0')] {
            let snapshot = format!("{SNAPPED}@{name}");
            succeed(&mut self.command(&["snapshot", "create", &snapshot]))?;
            self.change(SNAPPED, content)?;
        }
        let second = format!("{SNAPPED}@second");
        succeed(&mut self.command(&["snapshot", "rm", &second]))?;
        let exported = self.path(EXPORTED);
        let export = ["snapshot", "export", "-o", &exported, &snapshot];
        succeed(&mut self.command(&export))?;
        self.make_commanded()?;
        self.make_staged()?;
        copy(&self.root.join("old"), &self.root.join("project"))?;
        fs::write(self.root.join("archive.tar"), "an older archive")?;
        Ok(())
    }

    /// Makes the sandbox in which a command was run: its journal, the snapshot before it, and its changes.
    fn make_commanded(&self) -> Result<()> {
        self.create(COMMANDED, "old", &[])?;
        let directory = self.directory(COMMANDED)?;
        let command = NewCommand::new(["edit"]).with_snapshot();
        let journal = Journal::new(directory.join(JOURNAL));
        // The state before a command is kept before its line is written.
        let first = 1;
        let name = command_journal::snapshot_name(first);
        let snapshot = format!("{COMMANDED}@{name}");
        succeed(&mut self.command(&["snapshot", "create", &snapshot]))?;
        let number = journal.begin(&command)?;
        ensure!(number == first, "the first command has the number {number}");
        let path = directory.join(format!("snapshots/{name}.json"));
        let mut record: serde_json::Value = sealed_records::open(&fs::read(&path)?)?;
        let fields = record.as_object_mut().context("no record")?;
        fields.remove("seal");
        fields.insert("is_automatic".to_owned(), true.into());
        fields.insert("command".to_owned(), number.into());
        fs::write(path, sealed_records::seal(&record)?)?;
        self.change(COMMANDED, b'7')?;
        journal.end(number, 0)?;
        Ok(())
    }

    fn load(&self, name: &str, layers: &[TestLayer]) -> Result<()> {
        let layout = self.root.join("layout");
        write_directory(
            &TestImage::new(layers.to_vec()).layout(Some("latest")),
            &layout,
        );
        self.msb().load(&layout, name)?;
        Ok(fs::remove_dir_all(layout)?)
    }

    pub(super) fn make_project(&self, name: &str, files: &[(&str, &str)]) -> Result<()> {
        let directory = self.root.join(name);
        for (path, text) in files {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&directory))?;
            fs::write(path, text.repeat(TEXTS))?;
        }
        Ok(())
    }

    /// Changes a file on the disk that has a snapshot, as a guest would.
    fn change(&self, sandbox: &str, content: u8) -> Result<()> {
        let before = self.content(sandbox)?;
        let (pool, id) = self.disk(sandbox)?;
        let mut disk = pool.open_disk(id)?;
        let block_bytes = generations::BLOCK_BYTES;
        let mut block = vec![0; usize::try_from(block_bytes)?];
        for offset_bytes in (0..disk.size_bytes()).step_by(block.len()) {
            disk.read(&mut block, offset_bytes)?;
            if before.starts_with(&block) {
                block.fill(content);
                disk.write(&block, offset_bytes)?;
            }
        }
        disk.flush()?;
        drop(disk);
        ensure!(self.content(sandbox)? != before, "nothing was changed");
        Ok(())
    }

    /// Returns the number of generations of the disk that has snapshots, the head not included.
    pub(super) fn snapped_generations(&self) -> Result<usize> {
        let (pool, id) = self.disk(SNAPPED)?;
        Ok(pool.sealed_state(id)?.generations.len())
    }

    /// Returns the number of generations that a snapshot of that disk names.
    pub(super) fn generations_of(&self, snapshot: &str) -> Result<usize> {
        let state = upper_disk::snapshot_state(&self.directory(SNAPPED)?, snapshot)?;
        Ok(state.generations.len())
    }

    fn disk(&self, sandbox: &str) -> Result<(Pool<FileStorage>, DiskId)> {
        let generations = self.directory(sandbox)?.join("generations");
        let pool = Pool::new(FileStorage::open(&generations)?);
        let id = pool.disks()?.pop().context("no disk")?;
        Ok((pool, id))
    }

    /// Returns the directory of a sandbox.
    pub(super) fn directory(&self, sandbox: &str) -> Result<PathBuf> {
        let words = ["inspect", "--format", "{{.id}}", sandbox];
        let printed = succeed(&mut self.command(&words))?.stdout;
        let id = String::from_utf8(printed)?;
        Ok(self.root.join("home/sandboxes").join(id.trim_end()))
    }

    fn create(&self, name: &str, project: &str, more: &[&str]) -> Result<()> {
        let copied = format!("{}:/work", self.path(project));
        let mut create = self.command(&["create", "--name", name]);
        create.args(["--upper-size", "32M", "--copy", &copied]);
        succeed(create.args(more).arg(IMAGE))?;
        // The project counts as what the sandbox changed.
        for sandbox in fs::read_dir(self.root.join("home/sandboxes"))? {
            // Most have none.
            let _ = fs::remove_file(sandbox?.path().join("base.ext4"));
        }
        Ok(())
    }
}

/// Returns the paths of everything below a directory, in their order.
fn paths_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            }
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Copies what is in a directory into another one, with holes and all attributes.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut copying = Command::new("cp");
    copying.args(["-a", "--sparse=always"]);
    succeed(copying.arg(from.join(".")).arg(to)).map(drop)
}

/// Returns the path of a snapshot's record without the number of an automatic one, which a killed attempt may have
/// used up; other paths as they are.
fn without_number(path: &Path) -> PathBuf {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let is_number = stem.is_some_and(|stem| stem.parse::<u64>().is_ok());
    match path.parent() {
        Some(parent) if is_number && parent.ends_with("snapshots") => parent.join("NUMBER.json"),
        _ => path.to_owned(),
    }
}
