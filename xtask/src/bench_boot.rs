//! Runs `msb bench boot` under libkrun, in the KVM lab, with a peer and libkrunfw's kernel beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches};
use test_fixtures::command::{quiet, step};
use test_fixtures::{build, images, kernel, paths};

use crate::programs::{ended, lab_command};

/// The peer's package on PyPI. Its wheel has the program and its kernel; nothing of it is linked or
/// kept beyond target/xtask.
const PEER: &str = "microsandbox==0.7.11";
/// The folder of the program and the kernel in the wheel.
const BUNDLE: &str = "microsandbox/_bundled";

/// The lab has no certificates, and the peer does not start without them.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

const IMAGE: &str = "localhost/bare:latest";
/// Nested emulation sometimes loses a start, and is slow.
const SCRIPT: &str = "cp results.md out/; export MSB_HOME=/job/home SSL_CERT_FILE=/job/certificates; \
    ./msb bench boot \"$0\" --vmm krun --rounds \"$1\" --start-limit 45 --retries 20 \
    --kernel ./msb-kernel --kernel ./libkrunfw.so.5 --peer ./peer/bin/msb --peer-archive ./image.tar --html out/boot.html --results out/results.md";

/// Returns the recipe's command line.
pub(crate) fn command() -> clap::Command {
    let option = |name, help| Arg::new(name).long(name).help(help);
    let results = "Also put the report into a Markdown file, in the place of an older one";
    let msb = "An msb to measure instead of one that is built for it";
    let about = "Run msb bench boot in the KVM lab, under libkrun, beside a peer fetched with pip and libkrunfw's kernel";
    clap::Command::new("bench-boot")
        .about(about)
        .arg(option("rounds", "Counted rounds").default_value("5"))
        .args([option("results", results), option("msb", msb)])
}

/// Prints the report, and returns the benchmark's exit code.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode> {
    let layout = images::bare()?;
    let peer = peer()?;
    let work = paths::scratch("bench-boot")?;
    let (home, archive, older) = (
        work.join("home"),
        work.join("image.tar"),
        work.join("results.md"),
    );
    let program = match arguments.get_one::<String>("msb") {
        Some(program) => PathBuf::from(program),
        None => build::release()?,
    };
    quiet(
        Command::new(&program)
            .env("MSB_HOME", &home)
            .args(["load", "-q", "-t", IMAGE])
            .arg(&layout),
    )?;
    quiet(
        Command::new("tar")
            .arg("-C")
            .arg(&layout)
            .arg("-cf")
            .arg(&archive)
            .arg("."),
    )?;
    let results = arguments.get_one::<String>("results");
    // A file that does not exist has no sections.
    let text = results.map(fs::read_to_string).and_then(Result::ok);
    fs::write(&older, text.unwrap_or_default())?;
    step("measure in the lab");
    let out = work.join("out");
    let mut lab = lab_command(["--timeout", "2400", "--out"]);
    lab.arg(&out);
    for (path, name) in [
        (program.as_path(), "msb"),
        (&program.with_file_name("msb-bench"), "msb-bench"),
        (&home, "home"),
        (&kernel::own()?, "msb-kernel"),
        (&kernel::libkrunfw()?, "libkrunfw.so.5"),
        (&archive, "image.tar"),
        (&peer, "peer"),
        (&older, "results.md"),
        (Path::new(CERTIFICATES), "certificates"),
    ] {
        lab.arg("--in").arg(format!("{}:{name}", path.display()));
    }
    let rounds = arguments.get_one::<String>("rounds");
    let rounds = rounds.context("the rounds have a default")?;
    lab.args(["--", "sh", "-c", SCRIPT, IMAGE, rounds]);
    let code = ended(&mut lab)?;
    // A missed target is no reason to withhold the report.
    if let Some(path) = results {
        fs::copy(out.join("results.md"), path)?;
    }
    Ok(code)
}

/// Returns the directory of the peer's program and library, fetched the first time.
fn peer() -> Result<PathBuf> {
    let directory = paths::kept("peer")?;
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
    // Unpacking a zip file loses its modes.
    quiet(Command::new("chmod").arg("+x").arg(bundle.join("bin/msb")))?;
    Ok(bundle)
}
