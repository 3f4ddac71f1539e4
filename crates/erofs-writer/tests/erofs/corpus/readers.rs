use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use erofs_writer::{Image, ReadAt};
use testkit::{Content, TreeDump};

use super::case::Case;
use super::extraction::Extraction;
use super::go_erofs::GoErofs;
use super::statistics::Statistics;
use super::tally::Tally;
use crate::mounted::Mounted;

/// A reader of images.
pub(super) trait Reader {
    fn name(&self) -> &str;

    /// Reads the image of `case`; an error lists the differences.
    fn check(&mut self, case: &Case, tally: &mut Tally) -> Result<(), Vec<String>>;
}

/// Returns every reader on this machine.
pub(super) fn all() -> Vec<Box<dyn Reader>> {
    let mut readers: Vec<Box<dyn Reader>> = vec![
        Box::new(Ours),
        Box::new(Kernel),
        Box::new(Extraction::installed()),
        Box::new(Statistics),
    ];
    if let Some(roots) = std::env::var_os("MSB_EROFS_UTILS") {
        for root in std::env::split_paths(&roots) {
            readers.push(Box::new(Extraction::unpacked(&root)));
        }
    }
    if let Some(program) = std::env::var_os("MSB_GO_EROFS") {
        readers.push(Box::new(GoErofs::start(program.as_ref())));
    }
    readers
}

/// Compares two dumps; an error lists the lines that only one of them has.
pub(super) fn same(expected: &str, actual: &str) -> Result<(), Vec<String>> {
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (expected, actual) = (lines(expected), lines(actual));
    let gone = expected.difference(&actual).map(|line| format!("- {line}"));
    let new = actual.difference(&expected).map(|line| format!("+ {line}"));
    let differences: Vec<String> = gone.chain(new).collect();
    if differences.is_empty() {
        return Ok(());
    }
    Err(differences)
}

/// The reader of this crate.
struct Ours;

impl Ours {
    fn dump(image: &[u8], devices: &[&dyn ReadAt]) -> String {
        let image = Image::open(image).unwrap();
        let tree = image.read_tree().unwrap();
        let content = |data: &_| Content::read(image.file_reader(data, devices));
        TreeDump::from_tree(&tree, content).unwrap().to_string()
    }
}

impl Reader for Ours {
    fn name(&self) -> &str {
        "erofs-writer"
    }

    fn check(&mut self, case: &Case, _: &mut Tally) -> Result<(), Vec<String>> {
        let expected = &case.expected;
        let flat = fs::read(&case.flat).unwrap();
        same(expected, &Self::dump(&flat, &[]))?;
        if !case.devices.is_empty() {
            let devices: Vec<&dyn ReadAt> = case.built.devices.iter().map(|one| one as _).collect();
            same(expected, &Self::dump(&case.built.image, &devices))?;
        }
        for image in [&case.built.image].into_iter().chain(&case.built.devices) {
            let verified = Image::open(image.as_slice()).unwrap().verify();
            verified.map_err(|error| vec![format!("{error:?}")])?;
        }
        Ok(())
    }
}

/// The kernel of this machine: with devices behind the image on a loop device, and as files.
struct Kernel;

impl Reader for Kernel {
    fn name(&self) -> &str {
        "the kernel"
    }

    fn check(&mut self, case: &Case, _: &mut Tally) -> Result<(), Vec<String>> {
        let expected = &case.expected;
        let mounted = Mounted::file(&case.flat);
        same(expected, &seen(&mounted))?;
        same_links(case, &mounted)?;
        if case.devices.is_empty() {
            return Ok(());
        }
        same(
            expected,
            &seen(&Mounted::files_apart(&case.image, &case.devices)),
        )
    }
}

fn seen(mounted: &Mounted) -> String {
    TreeDump::from_directory(&mounted.root())
        .unwrap()
        .to_string()
}

/// Compares link counts, including those of directories.
fn same_links(case: &Case, mounted: &Mounted) -> Result<(), Vec<String>> {
    let links = case.tree.link_counts();
    let wrong = case.tree.walk().filter_map(|entry| {
        let path = mounted.root().join(OsStr::from_bytes(&entry.path));
        let (stored, counted) = (
            links[entry.id.index()],
            fs::symlink_metadata(path).unwrap().nlink(),
        );
        let path = entry.path.escape_ascii();
        (stored != counted).then(|| format!("/{path} has {counted} links, not {stored}"))
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
