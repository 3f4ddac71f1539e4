use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;
use testkit::TarEntry;

use super::oracle;
use super::row::{Answer, At, Image, Row, entries, finished};
use test_fixtures::build;
use test_support::oci_layout::{self, Blob};
use test_support::trees::{compare, mounted_tree};
use test_support::{GuestSlot, Msb, TestEnv, settings, succeed};

/// The program with which the guest prints its tree.
const TOOL: &str = "tree-dump";
/// Directories that the guest's agent mounts on; an image that has them keeps its root unchanged.
const MOUNT_POINTS: [&str; 6] = ["dev", "proc", "run", "run/msb", "sys", "tmp"];
/// The image of all rows that do not need their own.
const SHARED: &str = "localhost/fidelity/shared:latest";

/// A part of msb's message if the machine ends before a command has run in it.
const UNANSWERED: &str = "before its agent answered";
/// Number of starts of such a machine. QEMU's emulation sometimes loses a start.
const FRESH_STARTS: u32 = 3;

/// The msb, the program and the directory that judge rows.
pub(super) struct Fixture {
    pub(super) msb: Msb,
    pub(super) tree_dump: PathBuf,
    pub(super) work: PathBuf,
}

/// The trees of msb's image on the host and in a guest.
pub(super) struct Seen {
    native: String,
    guest: String,
}

impl Fixture {
    /// Prepares an msb with an empty home.
    pub(super) fn prepare() -> Result<Self> {
        let env = TestEnv::new("fidelity")?;
        Ok(Self {
            msb: env.msb_at("home")?,
            tree_dump: build::tree_dump()?,
            work: env.work,
        })
    }

    /// Loads the rows without an image of their own as one image, and returns its trees.
    pub(super) fn show_shared(&self, rows: &[&Row]) -> Result<Seen> {
        let is_shared =
            |row: &&&Row| row.place() != At::root() && !matches!(row.answer, Answer::Refused(_));
        let shared: Vec<&Row> = rows.iter().filter(is_shared).copied().collect();
        self.shared(&shared)
    }

    /// Checks a row's trees, or its refusal.
    pub(super) fn judge(&self, row: &Row, shared: &Seen) -> Result<()> {
        if let Answer::Refused(words) = row.answer {
            return self.refused(row, words);
        }
        let at = row.place();
        let right = oracle::tree(row, &at, &self.tree_dump, &self.work)?;
        if at == At::root() {
            return same(row, &at, &right, &self.alone(row)?);
        }
        same(row, &at, &right, shared)
    }

    /// Loads all rows as one image and returns its trees.
    fn shared(&self, rows: &[&Row]) -> Result<Seen> {
        let mut layers: Vec<Vec<u8>> = Vec::new();
        for row in rows {
            let at = row.place();
            let Image::Shared(own) = (row.image)(&at) else {
                bail!("{} has an image of its own", row.id);
            };
            for (index, entries) in own.into_iter().enumerate() {
                if layers.len() == index {
                    layers.push(Vec::new());
                }
                layers[index].extend(oracle::own(&at));
                layers[index].extend(entries);
            }
        }
        let mut blobs: Vec<Blob> = layers.into_iter().map(finished).map(Blob::plain).collect();
        blobs.push(self.tool()?);
        self.load(SHARED, &blobs)?;
        self.show(SHARED)
    }

    /// Loads a row's own image, after an image of all but the last layer, and returns its trees.
    fn alone(&self, row: &Row) -> Result<Seen> {
        let name = format!("localhost/fidelity/{}:latest", row.id);
        let mut layers = oracle::layers(row, &At::root());
        if layers.len() > 1 {
            let base = format!("localhost/fidelity/{}-base:latest", row.id);
            self.load(&base, &layers[..layers.len() - 1])?;
        }
        layers.push(self.tool()?);
        self.load(&name, &layers)?;
        self.show(&name)
    }

    /// Returns the layer with the files that a guest needs to print its tree.
    fn tool(&self) -> Result<Blob> {
        let program = TarEntry::file(TOOL, fs::read(&self.tree_dump)?).mode(0o755);
        let mount_points = MOUNT_POINTS.map(TarEntry::directory);
        let all = mount_points.into_iter().chain([program]);
        Ok(Blob::plain(finished(entries(all))))
    }

    pub(super) fn load(&self, name: &str, layers: &[Blob]) -> Result<()> {
        let directory = self.work.join("image");
        oci_layout::write(&directory, layers);
        self.msb.load(&directory, name)?;
        fs::remove_dir_all(directory)?;
        Ok(())
    }

    fn show(&self, name: &str) -> Result<Seen> {
        let artifacts = self.msb.inspect(name)?;
        let native = mounted_tree(&artifacts, &self.tree_dump, &self.work)?;
        let output = self.run(&["--rm", name, &format!("/{TOOL}"), "/"], b"")?;
        let guest = String::from_utf8(output.stdout)?;
        Ok(Seen { native, guest })
    }

    /// Runs `msb run` under QEMU with these arguments, which must succeed. A machine that ends
    /// before its agent has answered has run no part of the command; it is started again a few
    /// times, which is printed.
    pub(super) fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Output> {
        for _ in 0..FRESH_STARTS {
            let output = self.run_once(arguments, input)?;
            let said = String::from_utf8_lossy(&output.stderr);
            if output.status.code() != Some(125) || !said.contains(UNANSWERED) {
                let status = output.status;
                ensure!(status.success(), "{arguments:?} gave {status}: {said}");
                return Ok(output);
            }
            println!("a fresh start: {said}");
            if let Some(at) = arguments.iter().position(|word| *word == "--name") {
                self.msb.command(&["rm", arguments[at + 1]]).output()?;
            }
        }
        bail!("{arguments:?}: no machine answered in {FRESH_STARTS} starts")
    }

    fn run_once(&self, arguments: &[&str], input: &[u8]) -> Result<Output> {
        let _slot = GuestSlot::acquire()?;
        let vmm = settings::vmm();
        let start = [
            "run",
            "-q",
            "--vmm",
            &vmm,
            "--pull",
            "never",
            "--network",
            "none",
        ];
        let mut child = self
            .msb
            .command(&start)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // A command that ends early reads nothing, and its exit code reports that.
        let _ = child.stdin.take().context("no pipe")?.write_all(input);
        Ok(child.wait_with_output()?)
    }

    /// Checks that the image is refused with the reason. The store gets no new files but layers.
    fn refused(&self, row: &Row, words: &str) -> Result<()> {
        let directory = self.work.join("refused");
        oci_layout::write(&directory, &oracle::layers(row, &row.place()));
        let before = self.stored()?;
        let output = self
            .msb
            .command(&["load", "-q", "-t", "localhost/refused:latest"])
            .arg(&directory)
            .output()?;
        fs::remove_dir_all(directory)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.code() == Some(125),
            "gave {}: {stderr}",
            output.status
        );
        ensure!(
            stderr.contains(words),
            "the error does not say '{words}': {stderr}"
        );
        let after = self.stored()?;
        // A layer may be intact although the image is refused: it stays, for other images.
        let new: Vec<&String> = after.difference(&before).collect();
        let is_layer = |path: &&String| {
            let stem = path.rsplit_once('.').map(|(stem, _)| stem);
            path.contains("/artifacts/")
                && stem.is_some_and(|stem| {
                    after.contains(&format!("{stem}.erofs"))
                        && after.contains(&format!("{stem}.json"))
                })
        };
        ensure!(new.iter().all(is_layer), "left in the store: {new:?}");
        Ok(())
    }

    /// Returns every path in the store, without locks and stamps.
    fn stored(&self) -> Result<BTreeSet<String>> {
        let mut find = Command::new("find");
        find.arg(&self.msb.home).args([
            "-not",
            "-path",
            "*/locks/*",
            "-not",
            "-path",
            "*/stamps/*",
        ]);
        let text = String::from_utf8(succeed(&mut find)?.stdout)?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// Checks that both views show the right tree.
fn same(row: &Row, at: &At, right: &str, seen: &Seen) -> Result<()> {
    let right = of_row(right, at);
    ensure!(!right.is_empty(), "the right tree is empty");
    compare(
        "the right tree",
        &right,
        "the native mount",
        &of_row(&seen.native, at),
    )?;
    let shown = right
        .lines()
        .filter(|line| {
            let path = line.split(' ').next().unwrap_or_default();
            !row.hidden
                .iter()
                .any(|name| path.as_bytes()[1..] == at.path(name))
        })
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    compare(
        "the right tree",
        &shown,
        "the guest",
        &of_row(&seen.guest, at),
    )
    .context("in the guest")
}

/// Returns the lines of a row's directory, or all lines but those of the harness and the agent.
fn of_row(tree: &str, at: &At) -> String {
    let is_shown = |path: &str| {
        if *at != At::root() {
            let own = [b"/", &at.path("")[..]].concat();
            return path.as_bytes().starts_with(&own) || path.as_bytes() == &own[..own.len() - 1];
        }
        let name = path.trim_start_matches('/');
        name != TOOL && !MOUNT_POINTS.contains(&name)
    };
    tree.lines()
        .filter(|line| is_shown(line.split(' ').next().unwrap_or_default()))
        .map(|line| format!("{line}\n"))
        .collect()
}
