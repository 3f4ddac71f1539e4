use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use fs_err as fs;

use super::filesystem::Filesystem;
use super::history::{History, Promise};
use super::images::{Images, sandboxes, store};
use super::listing::{difference, list, without_disk_stamps};
use super::mount::Mount;
use crate::oracle::{Msb, succeed};
use crate::run::quiet;

/// After this time a sandbox's directory without a description is a left-over.
const LEFT_OVER_AGE: Duration = Duration::from_secs(120);

/// Directories of the store in which every file is either whole or not there.
const PUBLISHED: [&str; 5] = [
    "v2/artifacts",
    "v2/images",
    "v2/refs",
    "v2/copies/images",
    "v2/copies/refs",
];

/// What is wrong after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// The filesystem, or a sandbox's upper disk, cannot be mounted.
    Unmountable,
    /// Something that bears its final name is not what was to be written.
    Torn,
    /// A command had succeeded, and what it did is undone.
    Lost,
    /// Doing it again fails, or gives another store than without a power cut, or leaves something.
    Unhealed,
}

impl Fault {
    pub(super) const ALL: [Self; 4] = [Self::Unmountable, Self::Torn, Self::Lost, Self::Unhealed];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unmountable => "unmountable",
            Self::Torn => "torn",
            Self::Lost => "lost promises",
            Self::Unhealed => "unhealed",
        }
    }
}

/// Every fault that was found, with what was seen.
pub(super) type Faults = Vec<(Fault, String)>;

/// A disk after a power cut.
#[derive(Debug)]
pub(super) struct Disk<'a> {
    pub(super) image: &'a Path,
    pub(super) filesystem: Filesystem,
    /// Where on it a write ends too early.
    pub(super) torn_at_bytes: Option<u64>,
}

/// What was found on a disk.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) faults: Faults,
    /// The filesystem's own checker had to mend its superblock first.
    pub(super) mended: bool,
}

/// Judges disks.
#[derive(Debug)]
pub(super) struct Judge {
    /// The msb that takes the disk over.
    pub(super) program: PathBuf,
    pub(super) images: Images,
    /// Where disks are mounted.
    pub(super) work: PathBuf,
}

/// One disk under judgement.
struct Case<'a> {
    judge: &'a Judge,
    msb: Msb,
    faults: Faults,
}

impl Judge {
    /// Mounts the disk, and looks at what msb has there.
    pub(super) fn judge(&self, disk: &Disk<'_>, history: &History) -> Verdict {
        let mut verdict = Verdict::default();
        match self.mount(disk, &mut verdict.mended) {
            Ok(mount) => verdict.faults = self.look(&mount, history),
            Err(error) => verdict
                .faults
                .push((Fault::Unmountable, format!("{error:#}"))),
        }
        verdict
    }

    fn mount(&self, disk: &Disk<'_>, mended: &mut bool) -> Result<Mount> {
        let mount = || Mount::new(disk.image, self.work.join("disk"), "loop");
        let is_torn = |byte| disk.filesystem.is_torn_at(byte);
        match mount() {
            Err(_) if disk.torn_at_bytes.is_some_and(is_torn) => {
                disk.filesystem.mend(disk.image)?;
                *mended = true;
                mount()
            }
            mounted => mounted,
        }
    }

    fn look(&self, mount: &Mount, history: &History) -> Faults {
        let mut case = Case {
            judge: self,
            msb: Msb {
                program: self.program.clone(),
                home: mount.target.join("home"),
            },
            faults: Faults::new(),
        };
        case.note(Fault::Torn, Case::published);
        case.note(Fault::Torn, Case::verified);
        case.note(Fault::Torn, Case::listed_images_are_whole);
        case.note(Fault::Unmountable, Case::uppers);
        case.note(Fault::Lost, |case| case.promises(history));
        case.note(Fault::Unhealed, Case::heal);
        case.note(Fault::Unhealed, Case::clear);
        case.faults
    }
}

impl Case<'_> {
    fn note(&mut self, fault: Fault, look: impl FnOnce(&Self) -> Result<()>) {
        if let Err(error) = look(self) {
            self.faults.push((fault, format!("{error:#}")));
        }
    }

    /// Every artifact, record and name is byte by byte one of the undisturbed store's. This comes
    /// before msb has had a chance to clean up.
    fn published(&self) -> Result<()> {
        let mut found = list(&store(&self.msb))?;
        found.retain(|path, _| {
            PUBLISHED
                .iter()
                .any(|directory| path.starts_with(directory))
        });
        let mut expected = self.judge.images.all.clone();
        expected.retain(|path, _| found.contains_key(path));
        match difference(&expected, &found) {
            Some(difference) => anyhow::bail!("{difference}"),
            None => Ok(()),
        }
    }

    /// msb's own verification of every byte finds nothing. It sees what differs from run to run
    /// too: where an image is from.
    fn verified(&self) -> Result<()> {
        succeed(&mut self.msb.command(&["image", "verify"])).map(drop)
    }

    /// An image that msb lists has all its files; [`Self::published`] has seen what is in them.
    fn listed_images_are_whole(&self) -> Result<()> {
        for image in Images::listed(&self.msb)? {
            let artifacts = self.msb.inspect(&image.digest)?;
            let single = [artifacts.fsmeta, artifacts.vmdk];
            for file in artifacts.layers.iter().chain(&single) {
                ensure!(file.is_file(), "{image:?} lacks {}", file.display());
            }
        }
        Ok(())
    }

    /// A sandbox that msb lists has an upper disk in which nothing needs mending.
    fn uppers(&self) -> Result<()> {
        for id in sandboxes(&self.msb, "id")? {
            let upper = self.msb.home.join("sandboxes").join(id).join("upper.ext4");
            quiet(Command::new("e2fsck").arg("-fn").arg(&upper))?;
            let mount = Mount::new(&upper, self.judge.work.join("upper"), "loop")?;
            ensure!(mount.target.join("upper").is_dir(), "the upper is empty");
        }
        Ok(())
    }

    fn promises(&self, history: &History) -> Result<()> {
        let listed = Images::listed(&self.msb)?;
        let names = listed.iter().filter_map(|image| image.letter);
        let names: Vec<String> = names.map(str::to_owned).collect();
        keeps("image", &history.images, &names)?;
        let under_way = history
            .images
            .values()
            .any(|promise| *promise == Promise::Either);
        let nameless = listed.iter().find(|image| image.letter.is_none());
        ensure!(
            under_way || nameless.is_none(),
            "{nameless:?} lost its name"
        );
        keeps(
            "sandbox",
            &history.sandboxes,
            &sandboxes(&self.msb, "name")?,
        )
    }

    /// Loading everything again gives what an undisturbed store is.
    fn heal(&self) -> Result<()> {
        self.judge.images.load(&self.msb)?;
        let found = without_disk_stamps(list(&store(&self.msb))?);
        let difference = difference(&self.judge.images.all, &found);
        ensure!(
            difference.is_none(),
            "loaded again: {}",
            difference.unwrap_or_default()
        );
        Ok(())
    }

    /// Removing everything leaves nothing.
    fn clear(&self) -> Result<()> {
        self.judge.images.remove(&self.msb)?;
        let difference = difference(&self.judge.images.none, &list(&store(&self.msb))?);
        ensure!(
            difference.is_none(),
            "removed: {}",
            difference.unwrap_or_default()
        );
        self.clear_sandboxes()
    }

    fn clear_sandboxes(&self) -> Result<()> {
        for name in sandboxes(&self.msb, "name")? {
            succeed(&mut self.msb.command(&["rm", &name]))?;
        }
        let directory = self.msb.home.join("sandboxes");
        if !directory.exists() {
            return Ok(());
        }
        for entry in fs::read_dir(&directory)? {
            let remains = fs::File::open(entry?.path())?;
            remains
                .file()
                .set_modified(SystemTime::now() - LEFT_OVER_AGE)?;
        }
        succeed(&mut self.msb.command(&["ps"]))?;
        let left = fs::read_dir(&directory)?.count();
        ensure!(left == 0, "{left} directories of no sandbox are left");
        Ok(())
    }
}

fn keeps(kind: &str, promises: &BTreeMap<String, Promise>, found: &[String]) -> Result<()> {
    for (name, promise) in promises {
        match (promise, found.contains(name)) {
            (Promise::Here, false) => anyhow::bail!("{kind} {name} is not here"),
            (Promise::Gone, true) => anyhow::bail!("{kind} {name} has come back"),
            _ => {}
        }
    }
    let unknown = found.iter().find(|name| !promises.contains_key(*name));
    ensure!(unknown.is_none(), "{kind} {unknown:?} came from nowhere");
    Ok(())
}
