use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use fs_err as fs;
use serde_json::Value;
use test_fixtures::{build, images, kernel, paths, tools};

use crate::guest_slot::GuestSlot;
use crate::home::Home;
use crate::image_store::DebianImage;
use crate::msb::Msb;
use crate::process::{Speaking, describe, finish, spawn};
use crate::settings;

/// Parts of msb's messages if no command has run in the guest, so that the command may be repeated.
/// Under emulation a start occasionally fails.
const UNANSWERED: [&str; 2] = ["did not answer within", "before its agent answered"];
/// Most repeated starts of a guest that does not answer.
const FRESH_STARTS: u32 = 4;

/// The msb under test, and a working directory for one test.
/// With guests, it has a home with an image, and a slot among the tests whose guests run.
#[derive(Debug)]
pub struct TestEnv {
    /// The msb under test.
    pub program: PathBuf,
    /// The guest kernel's path.
    pub kernel: PathBuf,
    /// An empty working directory.
    pub work: PathBuf,
    guests: Option<Guests>,
}

/// The additional environment of a test with guests.
#[derive(Debug)]
struct Guests {
    home: Home,
    vmm: String,
    boot_timeout_s: u32,
    memory_mib: u32,
    fresh_starts: AtomicU32,
    _slot: Option<GuestSlot>,
}

type NewHome = fn(&Path, &Path, DebianImage) -> Result<Home>;

impl TestEnv {
    /// Prepares the environment of a test that runs msb, but no guests.
    /// `name` distinguishes its directory from others.
    ///
    /// # Errors
    /// If something that tests need can be neither found nor made.
    pub fn new(name: &str) -> Result<Self> {
        // A wrong variable is reported before msb is built.
        let kernel = kernel::guest()?;
        Ok(Self {
            program: program()?,
            kernel,
            work: paths::scratch(name)?,
            guests: None,
        })
    }

    /// Prepares the environment of a test with guests, and waits for a slot for them.
    /// Its home has no sandboxes and shares its images with the homes of other tests.
    ///
    /// # Errors
    /// Those of [`TestEnv::new`].
    pub fn with_guests(name: &str) -> Result<Self> {
        Self::with_images(name)?.wait_for_slot()
    }

    /// Prepares the same with an image that has git and virtual environments of Python.
    ///
    /// # Errors
    /// Those of [`TestEnv::new`].
    pub fn with_bench_guests(name: &str) -> Result<Self> {
        let env = Self::new(name)?.add_home(Home::sharing_images, DebianImage::Bench)?;
        env.wait_for_slot()
    }

    /// Prepares the same with an image that has container engines.
    ///
    /// # Errors
    /// Those of [`TestEnv::new`].
    pub fn with_engine_guests(name: &str) -> Result<Self> {
        let env = Self::new(name)?.add_home(Home::sharing_images, DebianImage::Engines)?;
        env.wait_for_slot()
    }

    /// Prepares the same with a home that shares nothing: the home that the environment names, or a
    /// new one.
    ///
    /// # Errors
    /// Those of [`TestEnv::new`].
    pub fn with_guests_alone(name: &str) -> Result<Self> {
        let env = Self::new(name)?.add_home(Home::alone, DebianImage::Python)?;
        env.wait_for_slot()
    }

    /// Prepares the same with a home that has no image: for a test that loads its own.
    ///
    /// # Errors
    /// Those of [`TestEnv::new`].
    pub fn with_empty_home(name: &str) -> Result<Self> {
        let env = Self::new(name)?.add_home(Home::empty, DebianImage::Python)?;
        env.wait_for_slot()
    }

    /// Prepares the same with a home that was made with a umask of 000.
    /// Only the modes that msb gives its files keep other users of the host out of it.
    ///
    /// # Errors
    /// Those of [`TestEnv::new`].
    pub fn with_open_home(name: &str) -> Result<Self> {
        let env = Self::new(name)?.add_home(Home::open, DebianImage::Python)?;
        env.wait_for_slot()
    }

    /// Prepares the environment of a test with images in its home, which starts no guests itself.
    ///
    /// # Errors
    /// Those of [`TestEnv::new`].
    pub fn with_images(name: &str) -> Result<Self> {
        Self::new(name)?.add_home(Home::sharing_images, DebianImage::Python)
    }

    fn wait_for_slot(mut self) -> Result<Self> {
        let slot = GuestSlot::acquire()?;
        if let Some(guests) = &mut self.guests {
            guests._slot = Some(slot);
        }
        Ok(self)
    }

    fn add_home(mut self, home: NewHome, debian: DebianImage) -> Result<Self> {
        self.guests = Some(Guests {
            home: home(&self.program, &self.kernel, debian)?,
            vmm: settings::vmm(),
            boot_timeout_s: settings::parsed(settings::BOOT_TIMEOUT_S)?.unwrap_or(120),
            memory_mib: settings::parsed(settings::MEMORY_MIB)?.unwrap_or(512),
            fresh_starts: AtomicU32::new(0),
            _slot: None,
        });
        Ok(self)
    }

    fn guests(&self) -> &Guests {
        let guests = self.guests.as_ref();
        guests.expect("a test with guests prepares them")
    }

    /// Returns the msb under test with a new, empty home of this name in the test's directory.
    ///
    /// # Errors
    /// If the home of an earlier run cannot be removed.
    pub fn msb_at(&self, home: &str) -> Result<Msb> {
        let home = self.work.join(home);
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        Ok(self.msb_in(home))
    }

    /// Returns the msb under test with this home.
    #[must_use]
    pub fn msb_in(&self, home: PathBuf) -> Msb {
        Msb {
            program: self.program.clone(),
            home,
            kernel: self.kernel.clone(),
        }
    }

    /// Returns the small image's OCI layout.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn small_image(&self) -> Result<PathBuf> {
        images::small()
    }

    /// Removes the test's directory: for a test that has passed.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove_work(&self) -> Result<()> {
        Ok(fs::remove_dir_all(&self.work)?)
    }

    /// Returns msb with the home of the guests.
    ///
    /// # Panics
    /// If the test has no guests. The functions below panic for the same reason.
    #[must_use]
    pub fn home_msb(&self) -> Msb {
        self.msb_in(self.home().to_owned())
    }

    /// Returns a command of msb with the home of the guests, which also starts processes in the background.
    #[must_use]
    pub fn msb(&self) -> Command {
        let mut command = self.home_msb().command(&[]);
        command.env_remove("MSB_MAINTENANCE");
        command
    }

    /// Returns the home of the guests.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.guests().home.path
    }

    /// Returns the process ID of a running sandbox's machine, from `msb inspect`.
    ///
    /// # Errors
    /// If the sandbox does not run.
    pub fn machine_pid(&self, name: &str) -> Result<u32> {
        let inspected = self.msb().args(["inspect", name]).output()?;
        let json: Value =
            serde_json::from_slice(&inspected.stdout).with_context(|| describe(&inspected))?;
        let pid = json[0]["machine_pid"].as_u64();
        Ok(u32::try_from(pid.context("no machine_pid")?)?)
    }

    /// Returns the name of the guests' image.
    #[must_use]
    pub fn image(&self) -> &str {
        &self.guests().home.image
    }

    /// Returns the name of the VMM.
    #[must_use]
    pub fn vmm(&self) -> &str {
        &self.guests().vmm
    }

    /// Returns the memory of a guest, in MiB.
    #[must_use]
    pub fn memory_mib(&self) -> u32 {
        self.guests().memory_mib
    }

    /// Returns the number of repeated starts of guests that did not answer.
    #[must_use]
    pub fn fresh_starts(&self) -> u32 {
        self.guests().fresh_starts.load(Ordering::Relaxed)
    }

    /// Runs `msb run --rm` with `options`, then the image, then `command`.
    ///
    /// # Errors
    /// If msb cannot be run, or no guest answers.
    pub fn run(&self, options: &[&str], command: &[&str]) -> Result<Output> {
        self.run_with_input(options, command, &[])
    }

    /// Runs the same command with bytes on standard input.
    ///
    /// # Errors
    /// Those of [`TestEnv::run`].
    pub fn run_with_input(
        &self,
        options: &[&str],
        command: &[&str],
        input: &[u8],
    ) -> Result<Output> {
        let mut all = vec!["--rm"];
        all.extend_from_slice(options);
        self.retried(|| self.run_command(&all, command), input)
    }

    /// Runs a script in a guest's `sh` and returns its output.
    ///
    /// # Errors
    /// If the script ends with another status than 0, or its output is not UTF-8.
    pub fn sh(&self, script: &str) -> Result<String> {
        let output = self.run(&[], &["sh", "-c", script])?;
        ensure!(
            output.status.success(),
            "`{script}` gave {}",
            describe(&output)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Returns `msb SUBCOMMAND` for the VMM of this environment: `run`, `start` or `restart`.
    #[must_use]
    pub fn machine_command(&self, subcommand: &str) -> Command {
        let Guests {
            vmm,
            boot_timeout_s,
            ..
        } = self.guests();
        let mut line = self.msb();
        line.args([subcommand, "--vmm", vmm]);
        line.args(["--boot-timeout", &boot_timeout_s.to_string()]);
        line
    }

    /// Returns `msb run` with `options`, then the image, then `command`.
    #[must_use]
    pub fn run_command(&self, options: &[&str], command: &[&str]) -> Command {
        let memory = format!("{}M", self.memory_mib());
        let mut line = self.machine_command("run");
        line.args(["--cpus", "1", "--memory", &memory, "--pull", "never"]);
        line.args(options).arg(self.image()).args(command);
        line
    }

    /// Runs a command to its end, and repeats it while no guest answers.
    ///
    /// # Errors
    /// If the command cannot be run, or no guest answers in five starts.
    pub fn retried(&self, line: impl Fn() -> Command, input: &[u8]) -> Result<Output> {
        self.repeated(|| finish(spawn(&mut line())?, input))
    }

    /// Calls `run`, which runs a command to its end, until a guest answers.
    ///
    /// # Errors
    /// If `run` fails, or no guest answers in five starts.
    pub fn repeated(&self, run: impl Fn() -> Result<Output>) -> Result<Output> {
        self.until_answered(|| {
            let output = run()?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_silent = is_unanswered(&said) && output.stdout.is_empty();
            Ok(if is_silent { Err(said) } else { Ok(output) })
        })
    }

    /// Starts a command whose first line is `first`, and repeats it while no guest answers.
    ///
    /// # Errors
    /// If the first line is another, or no guest answers in five starts.
    pub fn speaking(&self, first: &str, line: impl Fn() -> Result<Command>) -> Result<Speaking> {
        self.until_answered(|| match Speaking::heard(spawn(&mut line()?)?, first) {
            Err(error) if is_unanswered(&error.to_string()) => Ok(Err(error.to_string())),
            other => other.map(Ok),
        })
    }

    /// Repeats `start` while its inner error has the message of a guest that did not answer.
    #[expect(clippy::print_stderr, reason = "a lost start is reported, not hidden")]
    fn until_answered<T>(
        &self,
        start: impl Fn() -> Result<std::result::Result<T, String>>,
    ) -> Result<T> {
        for _ in 0..=FRESH_STARTS {
            match start()? {
                Ok(answered) => return Ok(answered),
                Err(said) => eprintln!("a fresh start: {}", said.trim_end()),
            }
            let fresh_starts = &self.guests().fresh_starts;
            fresh_starts.fetch_add(1, Ordering::Relaxed);
        }
        bail!("no guest answered in {} starts", FRESH_STARTS + 1)
    }

    /// Adds the ends of its sandboxes' consoles and machine logs to a test's error.
    #[must_use]
    pub fn with_logs(&self, error: Error) -> Error {
        let logs = self.guests().home.ends_of_logs();
        if logs.is_empty() {
            return error;
        }
        anyhow!("{logs}").context(format!("{error:#}"))
    }

    /// Checks that the test left no sandbox, no sandbox's directory and no process.
    ///
    /// # Errors
    /// If the test left one of them.
    pub fn expect_nothing_left(&self) -> Result<()> {
        self.guests().home.expect_nothing_left(&self.home_msb())
    }
}

fn is_unanswered(said: &str) -> bool {
    UNANSWERED.iter().any(|words| said.contains(words))
}

/// Returns the msb under test, which is built if none is named.
fn program() -> Result<PathBuf> {
    static PROGRAM: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let find = || -> Result<PathBuf> {
        if let Some(program) = paths::in_variable(settings::MSB)? {
            return Ok(program);
        }
        tools::install()?;
        build::msb()
    };
    let program = PROGRAM.get_or_init(|| find().map_err(|error| format!("{error:#}")));
    program.clone().map_err(|error| anyhow!(error))
}
