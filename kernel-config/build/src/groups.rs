//! What each group of options costs: kernels that each lack one section of the fragments.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use test_fixtures::command::step;
use test_fixtures::paths;

use crate::architecture::Architecture;
use crate::cache::Entry;
use crate::configuration::Configuration;
use crate::source::Pin;
use crate::{compile, source};

/// Builds the kernels that the cache lacks, one after the other in one tree, and returns the paths of all.
/// The directory of each has the name of the section that it lacks.
///
/// # Errors
/// If one cannot be built. Options that need an omitted one are omitted as well.
pub(crate) fn build(
    architecture: &Architecture,
    pin: &Pin,
    configuration: &Configuration,
    entry: impl Fn(&Configuration) -> Result<Entry>,
) -> Result<Vec<PathBuf>> {
    let directory = paths::scratch("kernel-groups")?;
    let mut tree = None;
    let mut kernels = Vec::new();
    for (heading, without) in configuration.without_each() {
        let entry = entry(&without)?;
        if !entry.kernel().exists() {
            let tree = match &mut tree {
                Some(tree) => tree,
                none => none.insert(patched(architecture, pin)?),
            };
            step(&format!("compile the guest kernel without \"{heading}\""));
            without.offer(tree)?;
            entry.keep(&compile::kernel(architecture, tree)?, &[])?;
        }
        let kernel = directory.join(format!("without {heading}"));
        fs::create_dir(&kernel)?;
        let kernel = kernel.join(architecture.kernel);
        fs::copy(entry.kernel(), &kernel)?;
        kernels.push(kernel);
    }
    Ok(kernels)
}

/// Returns a freshly unpacked tree with the architecture's patches.
fn patched(architecture: &Architecture, pin: &Pin) -> Result<PathBuf> {
    let tree = source::unpack(pin)?;
    compile::patch(architecture, &tree)?;
    Ok(tree)
}
