use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, ensure};
use fs_err as fs;
use test_fixtures::paths;

use crate::image_store::{DebianImage, ImageStore, SHARED};
use crate::msb::Msb;
use crate::process::{describe, succeed, with_open_umask};
use crate::settings;

/// The number of lines that the report of a failed test shows of each log.
const LOG_LINES: usize = 12;

/// An `MSB_HOME` for one test. Sandboxes that the test leaves in it are removed with it.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
    /// The name of an image in its store.
    pub(crate) image: String,
    program: PathBuf,
    /// True if the home was made for the test.
    is_own: bool,
    /// The directory that was made only to contain the home.
    parent: Option<PathBuf>,
    _images: Option<ImageStore>,
}

impl Home {
    /// Makes a home that shares images, wrapped kernels and boot disks with other homes.
    pub(crate) fn sharing_images(
        program: &Path,
        kernel: &Path,
        debian: DebianImage,
    ) -> Result<Self> {
        let images = ImageStore::find(program, kernel, debian)?;
        let path = new_path()?;
        // The mode that msb gives a new home.
        DirBuilder::new().mode(0o700).create(&path)?;
        for part in SHARED {
            let shared = images.home.join(part);
            fs::create_dir_all(&shared)?;
            symlink(&shared, path.join(part))?;
        }
        Ok(Self {
            path,
            image: images.image.clone(),
            program: program.to_owned(),
            is_own: true,
            parent: None,
            _images: Some(images),
        })
    }

    /// Returns the home that the environment names, unchanged, or makes one with its own store.
    pub(crate) fn alone(program: &Path, kernel: &Path, debian: DebianImage) -> Result<Self> {
        let is_named = settings::is_set(settings::IMAGE);
        let images = ImageStore::find(program, kernel, debian)?;
        let path = if is_named {
            images.home.clone()
        } else {
            new_path()?
        };
        let home = Self {
            path,
            image: images.image.clone(),
            program: program.to_owned(),
            is_own: !is_named,
            parent: None,
            _images: is_named.then_some(images),
        };
        if home.is_own {
            let msb = Msb {
                program: program.to_owned(),
                home: home.path.clone(),
                kernel: kernel.to_owned(),
            };
            debian.load(&msb)?;
        }
        Ok(home)
    }

    /// Makes a home without images. Its store, kernels and boot disks are its own.
    pub(crate) fn empty(program: &Path, _kernel: &Path, _debian: DebianImage) -> Result<Self> {
        let path = new_path()?;
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self {
            path,
            image: String::new(),
            program: program.to_owned(),
            is_own: true,
            parent: None,
            _images: None,
        })
    }

    /// Makes a home with a umask of 000, in a directory that every user of the host can enter.
    pub(crate) fn open(program: &Path, kernel: &Path, debian: DebianImage) -> Result<Self> {
        let parent = std::env::temp_dir().join(format!("msb-open-{}", std::process::id()));
        fs::create_dir(&parent)?;
        fs::set_permissions(&parent, Permissions::from_mode(0o755))?;
        let home = Self {
            path: parent.join("home"),
            image: debian.reference(),
            program: program.to_owned(),
            is_own: true,
            parent: Some(parent),
            _images: None,
        };
        let msb = Msb {
            program: program.to_owned(),
            home: home.path.clone(),
            kernel: kernel.to_owned(),
        };
        let mut load = msb.command(&["load", "-q", "-t", &home.image]);
        succeed(&mut with_open_umask(load.arg(debian.layout()?)))?;
        Ok(home)
    }

    /// Returns the last lines of the console and of the machine's log of each sandbox.
    pub(crate) fn ends_of_logs(&self) -> String {
        let sandboxes = std::fs::read_dir(self.path.join("sandboxes"));
        let mut ends = String::new();
        for sandbox in sandboxes.into_iter().flatten().flatten() {
            for log in ["console.log", "vmm.log"] {
                let content = std::fs::read(sandbox.path().join(log)).unwrap_or_default();
                let content = String::from_utf8_lossy(&content);
                let lines: Vec<_> = content.lines().collect();
                let first = lines.len().saturating_sub(LOG_LINES);
                let id = sandbox.file_name();
                let end = lines[first..].join("\n    ");
                ends.push_str(&format!("the end of {}/{log}:\n    {end}\n", id.display()));
            }
        }
        ends
    }

    /// Checks that there is no sandbox, no sandbox's directory, and no process that has one of its
    /// files open: the space of such a file is not free yet.
    pub(crate) fn expect_nothing_left(&self, msb: &Msb) -> Result<()> {
        let listed = succeed(&mut msb.command(&["ls", "--format", "json"]))?;
        ensure!(listed.stdout.trim_ascii() == b"[]", "{}", describe(&listed));
        let sandboxes = self.path.join("sandboxes");
        let left: Vec<_> = match fs::read_dir(&sandboxes) {
            Ok(entries) => entries.collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        ensure!(left.is_empty(), "{left:?}");
        let using = processes_with(&sandboxes)?;
        ensure!(using.is_empty(), "{using:?}");
        Ok(())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        // A failed test may have left some. Errors are ignored: leftovers stay visible.
        let msb = |arguments: &[&str]| {
            let mut command = Command::new(&self.program);
            command.env("MSB_HOME", &self.path).args(arguments).output()
        };
        if let Ok(listed) = msb(&["ls", "-q"]) {
            for id in String::from_utf8_lossy(&listed.stdout).lines() {
                let _ = msb(&["rm", "-f", id]);
            }
        }
        let _ = fs::remove_dir_all(self.parent.as_ref().unwrap_or(&self.path));
    }
}

/// Returns each process whose command line or open files name a directory or a path below it, as the
/// process's number and that name.
fn processes_with(directory: &Path) -> Result<Vec<String>> {
    let directory = directory.display().to_string();
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")? {
        let process = process?;
        let Some(number) = process.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        if number.parse::<u32>().is_err() {
            continue;
        }
        // A process may end meanwhile.
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let open = std::fs::read_dir(process.path().join("fd"));
        // The work in the background may read snapshots for a moment longer.
        let is_maintenance = command.contains("__maintain");
        let open = open.into_iter().flatten().flatten();
        let open = open.filter(|_| !is_maintenance);
        let open = open.filter_map(|file| std::fs::read_link(file.path()).ok());
        let named = open.map(|file| file.display().to_string());
        let named = named
            .chain([command])
            .find(|name| name.contains(&directory));
        found.extend(named.map(|name| format!("process {number}: {name}")));
    }
    Ok(found)
}

/// Returns a path that does not exist. It is short, because paths of sockets below it have a limit.
fn new_path() -> Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = paths::kept("homes")?.join(format!("{}-{number}", std::process::id()));
    if path.exists() {
        fs::remove_dir_all(&path)?;
    }
    Ok(path)
}
