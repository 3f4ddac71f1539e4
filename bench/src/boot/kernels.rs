//! Guest kernels side by side: the time to the agent and to the first byte, the memory that the
//! kernel keeps for itself, the size of its file.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::account::{self, Account};
use super::starts::Starts;
use super::{Arguments, CPUS};
use crate::msb::Msb;
use crate::report::{Cell, Conditions, Plot, Row, Table, Target, Unit};

/// The largest allowed shares of what libkrunfw's kernel takes: of its time to the agent under
/// emulation and under hardware virtualisation, and of its memory.
const EMULATED_SHARE: f64 = 0.65;
const VIRTUALISED_SHARE: f64 = 0.75;
const MEMORY_SHARE: f64 = 0.8;

/// The start of the names of libkrunfw's files.
const LIBKRUNFW: &str = "libkrunfw";

/// The memory of the sandbox that tells what its kernel keeps, in MiB.
const MEMORY_MIB: u32 = 128;

/// Prints what the kernel says of the memory, with nothing but a shell.
const PRINT_MEMORY: &str = "while read -r line; do echo \"$line\"; done < /proc/meminfo";

/// A kernel, and the figures of all counted rounds.
struct Kernel {
    file: PathBuf,
    name: String,
    accounts: Vec<Account>,
    kept_bytes: f64,
    used_bytes: f64,
    file_bytes: f64,
}

/// Guest kernels; the others are compared with the first.
pub(super) struct Kernels(Vec<Kernel>);

impl Kernels {
    /// Measures what does not change from round to round.
    ///
    /// # Errors
    /// If a kernel does not boot.
    pub(super) fn new(arguments: &Arguments, msb: &Msb, starts: &mut Starts) -> Result<Self> {
        let kernels = arguments.kernels.iter();
        let kernels = kernels.map(|file| Kernel::new(file, arguments, msb, starts));
        Ok(Self(kernels.collect::<Result<_>>()?))
    }

    /// Returns the file of the first kernel; `None` if there is none.
    pub(super) fn first(&self) -> Option<&Path> {
        self.0.first().map(|kernel| &*kernel.file)
    }

    /// Runs each kernel once, in turn. The first rounds of all are not counted.
    pub(super) fn round(
        &mut self,
        arguments: &Arguments,
        msb: &Msb,
        starts: &mut Starts,
        is_counted: bool,
    ) -> Result<()> {
        for kernel in &mut self.0 {
            let account = account::once(arguments, &msb.with_kernel(&kernel.file), starts)?;
            if is_counted {
                kernel.accounts.push(account);
            }
        }
        Ok(())
    }

    /// Returns the tables of times and of bytes; the ratios are those to the first kernel.
    pub(super) fn tables(&self, conditions: &dyn Fn(&[&str]) -> Conditions) -> [Table; 2] {
        let table = |title: &str, unit, conditions, rows| Table {
            title: title.to_owned(),
            conditions,
            unit,
            columns: self.0.iter().map(|kernel| kernel.name.clone()).collect(),
            baseline: Some(0),
            rows,
            plot: Plot::Ratios,
        };
        let times = vec![
            self.row("to the agent", Kernel::to_agent),
            self.row("first byte", Kernel::first_byte),
        ];
        let bytes = vec![
            self.row("kept by the kernel", |kernel| Cell::once(kernel.kept_bytes)),
            self.row("used in all", |kernel| Cell::once(kernel.used_bytes)),
            self.row("file", |kernel| Cell::once(kernel.file_bytes)),
        ];
        let kept = format!(
            "kept is what MemTotal lacks of {MEMORY_MIB} MiB, used what MemFree lacks at the first command"
        );
        [
            table(
                "Guest kernels: time",
                Unit::Seconds,
                conditions(&["the kernels in turn; to the agent by the guest's own clock"]),
                times,
            ),
            table(
                "Guest kernels: bytes",
                Unit::Bytes,
                conditions(&[&kept]),
                bytes,
            ),
        ]
    }

    fn row(&self, name: &str, cell: impl Fn(&Kernel) -> Cell) -> Row {
        Row::new(
            name,
            self.0.iter().map(|kernel| Some(cell(kernel))).collect(),
        )
    }

    /// Judges the first kernel beside each libkrunfw.
    pub(super) fn targets(&self) -> Vec<Target> {
        let Some((own, others)) = self.0.split_first() else {
            return Vec::new();
        };
        let others = others
            .iter()
            .filter(|other| other.name.starts_with(LIBKRUNFW));
        let most = if msb_vmm::hardware_virtualisation().is_ok() {
            VIRTUALISED_SHARE
        } else {
            EMULATED_SHARE
        };
        others
            .flat_map(|other| {
                let share = own.to_agent().ratio_to(&other.to_agent());
                let time = share.map_or(f64::INFINITY, |share| share.median);
                [
                    judge("to the agent", time, most, &other.name),
                    judge(
                        "kept memory",
                        own.kept_bytes / other.kept_bytes,
                        MEMORY_SHARE,
                        &other.name,
                    ),
                ]
            })
            .collect()
    }
}

fn judge(what: &str, share: f64, most: f64, other: &str) -> Target {
    Target::new(
        share <= most,
        format!("{what}: {share:.2} of {other}'s (at most {most})"),
    )
}

impl Kernel {
    fn new(file: &Path, arguments: &Arguments, msb: &Msb, starts: &mut Starts) -> Result<Self> {
        let file = std::path::absolute(file)?;
        let size = std::fs::metadata(&file);
        let size = size.with_context(|| format!("cannot stat {}", file.display()))?;
        let msb = msb.with_kernel(&file);
        let memory = format!("{MEMORY_MIB}m");
        let meminfo = starts.again(|starts| {
            let mut run = msb.command();
            run.args(["run", "--quiet", "--rm", "--pull", "never"]);
            run.args(["--vmm", &arguments.vmm, "--cpus", CPUS, "--memory", &memory]);
            run.args(["--boot-timeout", &starts.limit_s(), &arguments.image]);
            starts.output(run.args(["sh", "-c", PRINT_MEMORY]))
        })?;
        Ok(Self {
            name: label(&file),
            file,
            accounts: Vec::new(),
            kept_bytes: missing_bytes(&meminfo, "MemTotal:")?,
            used_bytes: missing_bytes(&meminfo, "MemFree:")?,
            file_bytes: size.len() as f64,
        })
    }

    fn to_agent(&self) -> Cell {
        self.cell(Account::kernel_s)
    }

    fn first_byte(&self) -> Cell {
        self.cell(Account::first_byte_s)
    }

    fn cell(&self, part: fn(&Account) -> f64) -> Cell {
        Cell::from_rounds(self.accounts.iter().map(part).collect())
    }
}

/// Returns the name of a kernel's column: that of its file, or of its directory for a `vmlinux`.
fn label(file: &Path) -> String {
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let named = name(file).filter(|name| name != "vmlinux");
    named
        .or_else(|| name(file.parent()?))
        .unwrap_or_else(|| file.display().to_string())
}

/// Returns what a figure of the guest's memory lacks of the whole.
fn missing_bytes(meminfo: &str, figure: &str) -> Result<f64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(figure));
    let value = value.and_then(|value| value.trim().strip_suffix(" kB"));
    let value = value.with_context(|| format!("/proc/meminfo has no {figure}"))?;
    let value_kib: f64 = value.parse()?;
    Ok((f64::from(MEMORY_MIB) * 1024.0 - value_kib) * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_the_total_lacks() {
        let missing = |meminfo| missing_bytes(meminfo, "MemTotal:");
        let kept = missing("MemTotal:         131000 kB\nMemFree: 1 kB\n").expect("a total");
        assert_eq!(kept, 72.0 * 1024.0);
        missing("MemFree: 1 kB\n").expect_err("no total");
    }

    #[test]
    fn a_kernel_is_named_by_what_tells_it_apart() {
        assert_eq!(label(Path::new("/k/libkrunfw.so.5")), "libkrunfw.so.5");
        assert_eq!(label(Path::new("/k/The network/vmlinux")), "The network");
    }
}
