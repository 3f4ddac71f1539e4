use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::registry::Registry;
use crate::run::{shown, step};
use crate::{build, image, kernel, place, tools};

const PUBLIC_REGISTRY: &str = "https://registry-1.docker.io/v2/";
const PUBLIC_IMAGE: &str = "docker.io/library/python:3-slim";

/// What the guest says about itself.
const SCRIPT: &str = "import platform, sys
print('python', platform.python_version(), 'on', platform.system(), platform.release())
for line in open('/proc/mounts'):
    source, target, kind, options = line.split()[:4]
    if target == '/' or source.startswith('/dev/vd'):
        print(f'{target} is {kind} from {source} ({options})')
print('6 * 7 =', 6 * 7)";

/// The main job on a bare machine: build, pull over HTTP, run.
pub(crate) fn run() -> Result<ExitCode> {
    tools::install()?;
    let kernel = kernel::fetch()?;
    let msb = build::release()?;
    let (registry, name) = source()?;
    let home = match std::env::var_os("MSB_HOME") {
        Some(home) => home.into(),
        None => place::kept("demo-home")?,
    };
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&msb);
        command
            .env("MSB_HOME", &home)
            .env("MSB_KERNEL", &kernel)
            .args(arguments);
        command
    };
    step(&format!("msb pull {name}"));
    let plain: &[&str] = if registry.is_some() {
        &["--plain-http"]
    } else {
        &[]
    };
    shown(&mut command(&[&["pull"], plain, &[name.as_str()]].concat()))?;
    step("msb run: what the guest says");
    let status = command(&[
        "run", "--rm", "--pull", "never", &name, "python3", "-c", SCRIPT,
    ])
    .status()
    .context("cannot run msb")?;
    let code = status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1);
    Ok(ExitCode::from(code))
}

/// A public image where one can be reached, else one of Debian's packages in a registry here.
fn source() -> Result<(Option<Registry>, String)> {
    if public_registry_answers() {
        return Ok((None, PUBLIC_IMAGE.to_owned()));
    }
    step("no public registry can be reached; an image of Debian's packages takes its place");
    let layout = image::demo()?;
    let registry = Registry::start()?;
    let name = registry.push(&layout, "debian-python")?;
    Ok((Some(registry), name))
}

/// Any HTTP answer will do: without a token it is 401.
fn public_registry_answers() -> bool {
    let arguments = [
        "--silent",
        "--head",
        "--max-time",
        "5",
        "--output",
        "/dev/null",
    ];
    let answer = Command::new("curl")
        .args(arguments)
        .arg(PUBLIC_REGISTRY)
        .status();
    answer.is_ok_and(|status| status.success())
}
