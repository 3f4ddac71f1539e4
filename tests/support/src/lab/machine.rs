use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use fs_err::File;

use super::Job;
use super::disks::Disks;

/// The init script's line on the console just before the job's command.
const BEGAN: &[u8] = b"msb-lab: began";

/// The boot takes 2 to 4 s on an idle machine.
const BOOT_TIMEOUT: Duration = Duration::from_secs(180);

/// The slowest unpacking of inputs that still counts as progress.
const UNPACK_BYTES_PER_S: u64 = 2 << 20;

/// Time limit of the guest for killing an overdue command and packing its output.
const PACK_TIMEOUT: Duration = Duration::from_secs(120);

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The end of an outer guest.
pub(super) enum Ending {
    /// The emulation stalled, or the kernel or the init script failed.
    JobNeverBegan,
    /// The guest began its job and shut itself down.
    JobEnded,
}

/// An outer guest, with its disks and its job.
pub(super) struct Machine<'a> {
    pub(super) kernel_elf: &'a Path,
    pub(super) disks: &'a Disks,
    pub(super) job: &'a Job,
    /// Additional devices, as arguments of QEMU.
    pub(super) devices: &'a [String],
}

impl Machine<'_> {
    /// Boots, and waits for the guest's end. The guest's console is written to `console`.
    ///
    /// # Errors
    /// If QEMU cannot be started or fails, or if the guest is overdue after its job began.
    pub(super) fn boot_to_end(&self, console: &Path) -> Result<Ending> {
        let qemu_errors = console.with_extension("qemu-stderr");
        let mut qemu = Qemu(
            self.command(console)?
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(File::create(&qemu_errors)?.into_parts().0)
                .spawn()
                .context("cannot start qemu-system-x86_64")?,
        );
        let unpacking = Duration::from_secs(self.disks.input_bytes()? / UNPACK_BYTES_PER_S);
        let boot_deadline = Instant::now() + BOOT_TIMEOUT + unpacking;
        let end = loop {
            if has_begun(console) {
                break qemu.wait_until(Instant::now() + self.job.timeout + PACK_TIMEOUT)?;
            }
            match qemu.wait_until(Instant::now() + POLL_INTERVAL)? {
                None if Instant::now() > boot_deadline => return Ok(Ending::JobNeverBegan),
                None => {}
                end => break end,
            }
        };
        match end {
            None => bail!("the outer guest hung in its job; see {}", console.display()),
            Some(status) if !status.success() => {
                bail!(
                    "QEMU: {status}: {}",
                    fs_err::read_to_string(&qemu_errors)?.trim_end()
                )
            }
            Some(_) if has_begun(console) => Ok(Ending::JobEnded),
            Some(_) => Ok(Ending::JobNeverBegan),
        }
    }

    fn command(&self, console: &Path) -> Result<Command> {
        let job = self.job;
        let mut qemu = Command::new("qemu-system-x86_64");
        // SVM with shadow paging and one processor in a single thread: the only choice in which
        // inner guests do not hang.
        let (processor, count) = if job.nested {
            ("EPYC,+svm,-npt", "1")
        } else {
            ("max", "2")
        };
        qemu.args(["-machine", "microvm,acpi=off,rtc=on,isa-serial=off"])
            .args(["-accel", "tcg,thread=single,tb-size=512"])
            .args(["-cpu", processor, "-smp", count])
            .args(["-m", &job.memory_mib.to_string()])
            .args([
                "-nodefaults",
                "-no-user-config",
                "-display",
                "none",
                "-no-reboot",
            ])
            .arg("-kernel")
            .arg(self.kernel_elf)
            .args(["-append", &kernel_command_line()?])
            .args(["-device", "virtio-serial-device"])
            .args([
                "-chardev",
                &format!("file,id=console,path={}", option_path(console)?),
            ])
            .args(["-device", "virtconsole,chardev=console"])
            // A port for the guest to write to; unlike `null`, a ring buffer counts as connected.
            .args(["-chardev", "ringbuf,id=port"])
            .args(["-device", "virtserialport,chardev=port,name=msb-lab.port"])
            .args([
                "-device",
                "virtio-rng-device",
                "-device",
                "virtio-balloon-device",
            ]);
        let disks = self.disks;
        for (name, path, options) in [
            ("root", &disks.root, "readonly=on"),
            ("scratch", &disks.scratch, "cache=unsafe"),
            ("input", &disks.input, "readonly=on"),
            ("output", &disks.output, "cache=unsafe"),
        ] {
            let path = option_path(path)?;
            qemu.args([
                "-drive",
                &format!("id={name},file={path},format=raw,if=none,{options}"),
            ])
            .args([
                "-device",
                &format!("virtio-blk-device,drive={name},serial={name}"),
            ]);
        }
        qemu.args(self.devices);
        Ok(qemu)
    }
}

/// Returns the kernel's command line. The root is the disk whose node comes first.
/// QEMU's microvm assigns its transports so that the disk named first is `/dev/vda`.
fn kernel_command_line() -> Result<String> {
    let clock_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let tsc = match tsc_khz() {
        Some(khz) => format!("tsc=reliable tsc_early_khz={khz}"),
        None => "tsc=reliable".to_string(),
    };
    Ok(format!(
        "console=hvc0 panic=-1 reboot=t quiet no_timer_check {tsc} \
         root=/dev/vda rootfstype=erofs ro init=/sbin/msb-lab-init msb_lab.clock={clock_s}"
    ))
}

/// Returns the frequency of the host's time stamp counter, which TCG's guests read.
/// The emulated kernel's own measurement occasionally fails, and then inner guests hang.
fn tsc_khz() -> Option<u64> {
    let processors = fs_err::read_to_string("/proc/cpuinfo").ok()?;
    let line = processors
        .lines()
        .find(|line| line.starts_with("cpu MHz"))?;
    let (mhz, fraction) = line.split_once(':')?.1.trim().split_once('.')?;
    Some(mhz.parse::<u64>().ok()? * 1000 + fraction.get(..3)?.parse::<u64>().ok()?)
}

/// Returns a path for a QEMU option, in which commas are doubled.
fn option_path(path: &Path) -> Result<String> {
    let path = path
        .to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(path.replace(',', ",,"))
}

fn has_begun(console: &Path) -> bool {
    let text = fs_err::read(console).unwrap_or_default();
    text.windows(BEGAN.len()).any(|window| window == BEGAN)
}

/// A QEMU process that does not outlive this value.
struct Qemu(Child);

impl Qemu {
    /// Waits for the process's end; `None` if it still runs at `deadline`.
    fn wait_until(&mut self, deadline: Instant) -> Result<Option<ExitStatus>> {
        loop {
            let status = self.0.try_wait()?;
            if status.is_some() || Instant::now() > deadline {
                return Ok(status);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
