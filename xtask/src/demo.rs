use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, anyhow};

use test_fixtures::command::{shown, step};
use test_fixtures::{LocalRegistry, build, images, kernel, paths, tools};

const PUBLIC_REGISTRY: &str = "https://registry-1.docker.io/v2/";
const PUBLIC_IMAGE: &str = "docker.io/library/python:3-slim";

/// The program that describes the guest.
const SCRIPT: &str = "import platform, sys
print('python', platform.python_version(), 'on', platform.system(), platform.release())
for line in open('/proc/mounts'):
    source, target, kind, options = line.split()[:4]
    if target == '/' or source.startswith('/dev/vd'):
        print(f'{target} is {kind} from {source} ({options})')
print('6 * 7 =', 6 * 7)";

/// Builds msb, pulls an image over HTTP and runs it, on a machine without preparation.
pub(crate) fn run() -> Result<ExitCode> {
    step(
        "demo: the first run compiles msb, which takes about 14 minutes of processor time; the other \
         steps take about a minute",
    );
    step("demo 1/4: programs of Debian's that make images and run virtual machines");
    tools::install()?;
    step("demo 2/4: a kernel for the guest");
    let kernel = kernel::at_hand()?;
    step("demo 3/4: msb, which is compiled, and meanwhile an image to run");
    let (msb, source) = std::thread::scope(|scope| {
        let source = scope.spawn(source);
        (build::demo(), source.join())
    });
    let msb = msb?;
    let (registry, name) = source.map_err(|_| anyhow!("the image's thread panicked"))??;
    let home = match std::env::var_os("MSB_HOME") {
        Some(home) => home.into(),
        None => paths::kept("demo-home")?,
    };
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&msb);
        command
            .env("MSB_HOME", &home)
            .env("MSB_KERNEL", &kernel)
            .args(arguments);
        command
    };
    step(&format!("demo 4/4: msb pull {name}"));
    let plain: &[&str] = if registry.is_some() {
        &["--plain-http"]
    } else {
        &[]
    };
    shown(&mut command(&[&["pull"], plain, &[name.as_str()]].concat()))?;
    step("demo 4/4: msb run, and what the guest says");
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

/// Returns a public image if one can be reached. Otherwise serves an image of Debian packages in a
/// local registry.
fn source() -> Result<(Option<LocalRegistry>, String)> {
    if public_registry_answers() {
        return Ok((None, PUBLIC_IMAGE.to_owned()));
    }
    step("no public registry can be reached; an image of Debian's packages takes its place");
    let layout = images::demo()?;
    let registry = LocalRegistry::start()?;
    let name = registry.push(&layout, "debian-python")?;
    Ok((Some(registry), name))
}

/// Returns true for any HTTP answer: without a token it is 401.
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
