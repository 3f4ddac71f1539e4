use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::filesystem::Filesystem;
use super::history::{History, Promise};
use super::images::{Images, store};
use super::listing::{difference, list, without_disk_stamps};
use super::mount::Mount;
use super::sandboxes::Sandboxes;
use super::staged::StagedDirectory;
use test_support::{Msb, TestEnv, succeed};

/// Directories of the store in which every file is either intact or missing.
const PUBLISHED: [&str; 5] = [
    "v2/artifacts",
    "v2/images",
    "v2/refs",
    "v2/copies/images",
    "v2/copies/refs",
];

/// A fault found after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// The filesystem, or the disk of a sandbox or snapshot, cannot be mounted.
    Unmountable,
    /// A file with a final name does not have the content that was to be written.
    Torn,
    /// The effect of a command that had succeeded is missing.
    Lost,
    /// Repeating the commands fails, the store differs afterwards, or files are left.
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

/// All faults that were found, each with a description.
pub(super) type Faults = Vec<(Fault, String)>;

/// A disk after a power cut.
#[derive(Debug)]
pub(super) struct Disk<'a> {
    pub(super) image: &'a Path,
    pub(super) filesystem: Filesystem,
    /// The offset on the disk, in bytes, at which a write is torn.
    pub(super) torn_at_bytes: Option<u64>,
}

/// The faults that were found on a disk.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) faults: Faults,
    /// True if the filesystem's own checker had to repair its superblock first.
    pub(super) mended: bool,
}

/// Judges disks with an msb and a mount point of its own.
#[derive(Debug)]
pub(super) struct Judge {
    /// The environment with the msb that opens the disk's store.
    pub(super) env: TestEnv,
    pub(super) images: Images,
    /// The directory for the mounts.
    pub(super) work: PathBuf,
}

/// A disk that is being judged.
struct Case<'a> {
    judge: &'a Judge,
    msb: Msb,
    faults: Faults,
}

impl Judge {
    /// Mounts the disk, and inspects the store on it.
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
            msb: self.env.msb_in(mount.target.join("home")),
            faults: Faults::new(),
        };
        case.note(Fault::Torn, Case::published);
        case.note(Fault::Torn, Case::verified);
        case.note(Fault::Torn, Case::listed_images_are_whole);
        let files = case.note(Fault::Unmountable, |case| {
            case.sandboxes().disks(&self.images.shown)
        });
        case.note(Fault::Lost, |case| case.promises(history));
        case.note(Fault::Lost, |case| {
            let files = files.as_deref().unwrap_or_default();
            case.sandboxes().promises(history, files)
        });
        let having = case.note(Fault::Torn, |case| case.staged().files());
        case.note(Fault::Lost, |case| {
            let having = having.unwrap_or_default();
            case.staged().promises(history, &having)
        });
        case.note(Fault::Unhealed, Case::heal);
        case.note(Fault::Unhealed, Case::clear);
        case.faults
    }
}

impl Case<'_> {
    /// Returns the result of an inspection; `None` if that found a fault.
    fn note<T>(&mut self, fault: Fault, look: impl FnOnce(&Self) -> Result<T>) -> Option<T> {
        let result = look(self);
        if let Err(error) = &result {
            self.faults.push((fault, format!("{error:#}")));
        }
        result.ok()
    }

    fn staged(&self) -> StagedDirectory<'_> {
        StagedDirectory { msb: &self.msb }
    }

    fn sandboxes(&self) -> Sandboxes<'_> {
        Sandboxes {
            msb: &self.msb,
            work: &self.judge.work,
        }
    }

    /// Checks that every artifact, record and name is byte by byte one of the undisturbed store's.
    /// This comes before msb has had a chance to clean up.
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

    /// Checks that msb's own verification of every byte finds nothing. It also covers the data that
    /// differs from run to run: the source of an image.
    fn verified(&self) -> Result<()> {
        succeed(&mut self.msb.command(&["image", "verify"])).map(drop)
    }

    /// Checks that an image that msb lists has all its files. [`Self::published`] has compared
    /// their content.
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
        Ok(())
    }

    /// Loads all images again, checks that the store equals an undisturbed one, and goes on with the
    /// sandboxes.
    fn heal(&self) -> Result<()> {
        self.judge.images.load(&self.msb)?;
        let found = without_disk_stamps(list(&store(&self.msb))?);
        let difference = difference(&self.judge.images.all, &found);
        ensure!(
            difference.is_none(),
            "loaded again: {}",
            difference.unwrap_or_default()
        );
        self.sandboxes().go_on(&self.judge.images.shown)
    }

    /// Removes all images, and checks that nothing is left.
    fn clear(&self) -> Result<()> {
        self.judge.images.remove(&self.msb)?;
        let difference = difference(&self.judge.images.none, &list(&store(&self.msb))?);
        ensure!(
            difference.is_none(),
            "removed: {}",
            difference.unwrap_or_default()
        );
        self.sandboxes().clear()
    }
}

/// Checks that the objects that exist are those that must or may.
pub(super) fn keeps(
    kind: &str,
    promises: &BTreeMap<String, Promise>,
    found: &[String],
) -> Result<()> {
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
