//! Changes that follow from a seed and from what is there.

mod actions;
mod random;
mod scene;

use std::collections::BTreeMap;
use std::path::Path;

use actions::{ACTIONS, DEVICE};
pub(crate) use random::Random;
use scene::Scene;

/// Random changes of the files below a directory, of every kind that overlayfs has a form for:
/// contents, attributes, holes, hard links, renames, replaced and opaque directories, devices, and
/// names of any bytes.
///
/// The same seed makes the same changes of the same files, except for the times that the clock gives.
/// The directories must belong to root, as must the process.
///
/// ```no_run
/// use testkit::RandomChanges;
///
/// let mut changes = RandomChanges::new(7);
/// for _ in 0..40 {
///     changes.make("/cases/7".as_ref());
/// }
/// println!("{:?}", changes.made());
/// ```
#[derive(Debug)]
pub struct RandomChanges {
    random: Random,
    makes_devices: bool,
    made: BTreeMap<&'static str, u32>,
}

impl RandomChanges {
    /// Creates the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            makes_devices: true,
            made: BTreeMap::new(),
        }
    }

    /// Makes no devices, which `msb apply` refuses.
    #[must_use]
    pub fn without_devices(mut self) -> Self {
        self.makes_devices = false;
        self
    }

    /// Tries one change below `root`, or of `root` itself. Returns true if the kernel allowed it.
    pub fn make(&mut self, root: &Path) -> bool {
        let (kind, act) = ACTIONS[self.random.below(ACTIONS.len())];
        if kind == DEVICE && !self.makes_devices {
            return false;
        }
        let is_made = act(&mut Scene::new(root, &mut self.random)).is_ok();
        *self.made.entry(kind).or_default() += u32::from(is_made);
        is_made
    }

    /// Returns how many changes of each kind were made.
    pub fn made(&self) -> &BTreeMap<&'static str, u32> {
        &self.made
    }

    /// Iterates over the names of all kinds of changes.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        ACTIONS.iter().map(|(kind, _)| *kind)
    }
}
