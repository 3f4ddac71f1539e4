//! `msb bench boot` under real libkrun, in the KVM lab, with a peer beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::lab::Job;
use crate::oracle::Msb;
use crate::run::{quiet, step};
use crate::{build, image, kernel, lab_recipe, place};

/// The peer, as PyPI has it. Its wheel has the program and its kernel; nothing of it is linked or kept
/// beyond target/xtask.
const PEER: &str = "microsandbox==0.7.11";
/// Where the wheel has them.
const BUNDLE: &str = "microsandbox/_bundled";

/// The lab has no certificates, without which the peer does not begin, whatever it is to do.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

const IMAGE: &str = "localhost/bare:latest";
/// Nested emulation loses a start now and then, and is slow.
const SCRIPT: &str = "cp results.md out/; export MSB_HOME=/job/home MSB_KERNEL=/job/libkrunfw.so SSL_CERT_FILE=/job/certificates; \
    ./msb bench boot \"$0\" --vmm krun --rounds \"$1\" --start-limit 45 --retries 20 \
    --peer ./peer/bin/msb --peer-archive ./image.tar --html out/boot.html --results out/results.md";

/// Arguments of `cargo xtask bench-boot`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Counted rounds
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Also put the report into a Markdown file, in the place of an older one
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// An msb to measure instead of one that is built for it
    #[arg(long)]
    msb: Option<PathBuf>,
}

/// Prints the report; ends as the benchmark does.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let layout = image::bare()?;
    let peer = peer()?;
    let work = place::scratch("bench-boot")?;
    let msb = Msb {
        program: match &arguments.msb {
            Some(program) => program.clone(),
            None => build::release()?,
        },
        home: work.join("home"),
    };
    msb.load(&layout, IMAGE)?;
    let archive = work.join("image.tar");
    quiet(
        Command::new("tar")
            .arg("-C")
            .arg(&layout)
            .arg("-cf")
            .arg(&archive)
            .arg("."),
    )?;
    let results = work.join("results.md");
    // A file that is not there yet has no sections.
    let older = arguments.results.as_ref().map(fs::read_to_string);
    fs::write(&results, older.and_then(Result::ok).unwrap_or_default())?;
    let rounds = arguments.rounds.to_string();
    let input = |path: &Path, name: &str| (path.to_owned(), name.to_owned());
    let job = Job {
        inputs: vec![
            input(&msb.program, "msb"),
            input(&msb.home, "home"),
            input(&kernel::fetch()?, "libkrunfw.so"),
            input(&archive, "image.tar"),
            input(&peer, "peer"),
            input(&results, "results.md"),
            input(Path::new(CERTIFICATES), "certificates"),
        ],
        command: ["sh", "-c", SCRIPT, IMAGE, &rounds]
            .map(str::to_owned)
            .to_vec(),
        timeout: Duration::from_secs(2400),
        memory_mib: 3072,
        nested: true,
    };
    step("measure in the lab");
    let outcome = lab_recipe::with_lab(|lab| lab.run(&job))?;
    print!("{}", String::from_utf8_lossy(&outcome.stdout));
    eprint!("{}", String::from_utf8_lossy(&outcome.stderr));
    // A missed target is no reason to keep the report back.
    if let Some(path) = &arguments.results {
        fs::copy(outcome.out.join("results.md"), path)?;
    }
    Ok(ExitCode::from(u8::try_from(outcome.code).unwrap_or(1)))
}

/// The peer's program with its library, fetched the first time.
fn peer() -> Result<PathBuf> {
    let directory = place::kept("peer")?;
    let bundle = directory.join("unpacked").join(BUNDLE);
    if bundle.join("bin/msb").exists() {
        return Ok(bundle);
    }
    step("fetch the peer");
    quiet(
        Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--no-deps", PEER])
            .arg("--dest")
            .arg(&directory),
    )?;
    let wheel = fs::read_dir(&directory)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .context("pip downloaded no wheel")?;
    quiet(
        Command::new("python3")
            .args(["-m", "zipfile", "--extract"])
            .arg(wheel)
            .arg(directory.join("unpacked")),
    )?;
    // A zip file's modes are lost.
    quiet(Command::new("chmod").arg("+x").arg(bundle.join("bin/msb")))?;
    Ok(bundle)
}
