use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::random::Random;

/// The names of new files: few, so that they meet what is there, and of any bytes.
const NAMES: [&[u8]; 12] = [
    b"a",
    b"b",
    b"d",
    b"f0",
    b"g0",
    b"l",
    b"new",
    b"s1",
    b"x y\t",
    b"\xff\n\"\\",
    b"caf\xc3\xa9=",
    &[b'n'; 255],
];

/// The files among which a change chooses.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) random: &'a mut Random,
    /// The root, then the directories below it.
    directories: Vec<PathBuf>,
    regular: Vec<PathBuf>,
    /// All files but directories, regular ones among them.
    files: Vec<PathBuf>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(root: &Path, random: &'a mut Random) -> Self {
        let mut scene = Self {
            random,
            directories: vec![root.to_owned()],
            regular: Vec::new(),
            files: Vec::new(),
        };
        let mut next = 0;
        while let Some(directory) = scene.directories.get(next) {
            next += 1;
            let mut found: Vec<PathBuf> = fs::read_dir(directory)
                .expect("listed")
                .map(|entry| entry.expect("an entry").path())
                .collect();
            found.sort();
            for path in found {
                // A device 0:0 of the image is sometimes listed, but never found.
                let Ok(metadata) = fs::symlink_metadata(&path) else {
                    continue;
                };
                if metadata.is_dir() {
                    scene.directories.push(path);
                    continue;
                }
                if metadata.is_file() {
                    scene.regular.push(path.clone());
                }
                scene.files.push(path);
            }
        }
        scene
    }

    /// Returns a path that may exist.
    pub(super) fn name(&mut self) -> PathBuf {
        let parent = self.any_directory();
        let name = NAMES[self.random.below(NAMES.len())];
        parent.join(OsStr::from_bytes(name))
    }

    /// Returns a directory; it may be the root.
    pub(super) fn any_directory(&mut self) -> PathBuf {
        let chosen = self.random.of(&self.directories);
        chosen.expect("the root is a directory")
    }

    /// Returns a directory that is not the root.
    pub(super) fn directory(&mut self) -> io::Result<PathBuf> {
        self.random.of(&self.directories[1..]).ok_or_else(absent)
    }

    pub(super) fn regular(&mut self) -> io::Result<PathBuf> {
        self.random.of(&self.regular).ok_or_else(absent)
    }

    /// Returns any file that is not a directory.
    pub(super) fn file(&mut self) -> io::Result<PathBuf> {
        self.random.of(&self.files).ok_or_else(absent)
    }

    /// Returns a file of any type that is not the root.
    pub(super) fn any(&mut self) -> io::Result<PathBuf> {
        let number = self.directories.len() - 1 + self.files.len();
        if number == 0 {
            return Err(absent());
        }
        let chosen = self.random.below(number);
        let mut all = self.directories.iter().skip(1).chain(&self.files);
        all.nth(chosen).cloned().ok_or_else(absent)
    }
}

fn absent() -> io::Error {
    io::ErrorKind::NotFound.into()
}
