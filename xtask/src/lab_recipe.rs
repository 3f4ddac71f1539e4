use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::lab::{Job, Lab};
use crate::{image, kernel, kernel_check, place};

/// Arguments of `cargo xtask lab`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file or directory of the host, and the name under /job that it gets
    #[arg(long = "in", value_name = "PATH[:NAME]")]
    inputs: Vec<String>,
    /// Where what the job leaves in /job/out goes
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    /// Memory of the lab's machine, in MiB
    #[arg(long, default_value_t = 3072)]
    memory: u32,
    /// Without emulated virtualisation: faster
    #[arg(long)]
    no_kvm: bool,
    /// What to run
    #[arg(trailing_var_arg = true, required = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode> {
    let inputs = arguments
        .inputs
        .iter()
        .map(|input| input_of(input))
        .collect::<Result<_>>()?;
    let job = Job {
        inputs,
        command: arguments.command,
        timeout: Duration::from_secs(arguments.timeout),
        memory_mib: arguments.memory,
        nested: !arguments.no_kvm,
    };
    let outcome = with_lab(|lab| lab.run(&job))?;
    use std::io::Write as _;
    std::io::stdout().write_all(&outcome.stdout)?;
    std::io::stderr().write_all(&outcome.stderr)?;
    if outcome.outer_starts > 1 {
        eprintln!(
            "the lab's machine was started {} times",
            outcome.outer_starts
        );
    }
    if let Some(out) = arguments.out {
        std::fs::create_dir_all(&out)?;
        let everything = outcome.out.join(".");
        crate::run::quiet(
            std::process::Command::new("cp")
                .arg("-a")
                .arg(everything)
                .arg(&out),
        )?;
    }
    Ok(ExitCode::from(u8::try_from(outcome.code).unwrap_or(1)))
}

fn input_of(input: &str) -> Result<(PathBuf, String)> {
    let (path, name) = match input.rsplit_once(':') {
        Some((path, name)) => (PathBuf::from(path), name.to_owned()),
        None => {
            let path = PathBuf::from(input);
            let name = path.file_name().context("an input without a name")?;
            let name = name.to_string_lossy().into_owned();
            (path, name)
        }
    };
    Ok((path, name))
}

/// Proves the options of `kernel-config` on the kernel in use.
pub(crate) fn kernel_check() -> Result<()> {
    with_lab(kernel_check::run)
}

/// The lab on the kernel in use and the Debian base.
pub(crate) fn with_lab<T>(work: impl FnOnce(&Lab<'_>) -> Result<T>) -> Result<T> {
    let kernel_elf = kernel::elf()?;
    let root_tree = image::base_tree()?;
    let directory = place::kept("lab")?;
    work(&Lab {
        kernel_elf: &kernel_elf,
        root_tree: &root_tree,
        work: &directory,
    })
}
