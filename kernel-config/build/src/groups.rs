//! What each group of options costs: kernels that each lack one section of the fragments.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use test_fixtures::command::step;
use test_fixtures::paths;

use crate::architecture::Architecture;
use crate::configuration::Configuration;
use crate::source::Pin;
use crate::{compile, source};

/// Builds the kernels, one after the other in one tree, and returns their paths. The directory of
/// each has the name of the section that it lacks.
///
/// # Errors
/// If one cannot be built. Options that need an omitted one are omitted as well.
pub(crate) fn build(
    architecture: &Architecture,
    pin: &Pin,
    configuration: &Configuration,
) -> Result<Vec<PathBuf>> {
    let tree = source::unpack(pin)?;
    compile::patch(architecture, &tree)?;
    let directory = paths::scratch("kernel-groups")?;
    let mut kernels = Vec::new();
    for (heading, without) in configuration.without_each() {
        step(&format!("compile the guest kernel without \"{heading}\""));
        without.offer(&tree)?;
        let built = compile::kernel(architecture, &tree)?;
        let kernel = directory.join(format!("without {heading}"));
        fs::create_dir(&kernel)?;
        let kernel = kernel.join(architecture.kernel);
        fs::write(&kernel, built)?;
        kernels.push(kernel);
    }
    Ok(kernels)
}
