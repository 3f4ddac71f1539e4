//! The project's recipes: `cargo xtask RECIPE`.
//!
//! Everything that a recipe needs it installs or makes; what it keeps is below `target/xtask`.

mod attacks;
mod bench_boot;
mod browser;
mod build;
mod checks;
mod demo;
mod docker;
mod engines;
mod erofs;
mod ext4;
mod fidelity;
mod fuzz;
mod image;
mod kernel;
mod kernel_check;
mod lab;
mod lab_recipe;
mod layers;
mod lint;
mod living;
mod oci_layout;
mod oracle;
mod place;
mod powercut;
mod registry;
mod run;
mod schema;
mod seccomp_list;
mod stress;
mod suites;
mod test;
mod tools;

use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// The project's recipes.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Recipe {
    /// Install what the other recipes need (Debian packages; needs root where something is missing)
    Tools,
    /// Fetch the guest kernel (libkrunfw) and print its path
    Kernel,
    /// Build target/release/msb
    Build,
    /// Build the images that the demo and the tests use
    Image,
    /// Build msb, pull an image over HTTP, run python3 in a microVM
    Demo,
    /// Run every check and test
    Test(test::Arguments),
    /// Judge every case of layer semantics against its oracle, natively and in the guest
    Fidelity(fidelity::Arguments),
    /// Judge hostile layers against what containerd, moby and umoci make of them
    Engines(engines::Arguments),
    /// Run the fuzz targets
    Fuzz(fuzz::Arguments),
    /// Cut the power at many points of a recording of msb's writes, and judge what is left
    Powercut(powercut::Arguments),
    /// Write ext4 images of many sizes and contents, and let e2fsprogs and the kernel judge them
    Ext4(ext4::Arguments),
    /// Format, clippy, dependency direction, file sizes
    Lint,
    /// Many processes on one store, a part of them killed
    Stress(stress::StressArguments),
    /// Flip bytes of a store: each is found, refused and mended
    Flips(stress::Count),
    /// Let every stage meet a full disk
    Fulldisk(stress::Count),
    /// Let every stage meet errors of the disk (EIO, a quota), put in by strace
    Faults(stress::Count),
    /// Load an image again and again: the same bytes
    Determinism(stress::Count),
    /// Prove that dependencies point one way
    Layers,
    /// Check licences, sources and duplicate versions of dependencies
    Deny,
    /// Write random trees as EROFS images and compare what every reader sees
    Erofs(erofs::Arguments),
    /// Boot the guest kernel and prove each option of kernel-config by using it
    KernelCheck,
    /// Run a command in the KVM lab: a guest with (emulated) AMD-V, where libkrun works
    Lab(lab_recipe::Arguments),
    /// Build an image with all that msb bench fs runs, and print its path
    BenchImage,
    /// Run msb bench boot in the KVM lab, under libkrun, beside a peer fetched with pip
    BenchBoot(bench_boot::Arguments),
    /// Run the table of docker's invocations under QEMU
    Docker,
    /// Judge the JSON on standard input, as a command prints it, by a schema of docs/schemas
    Schema {
        /// As `ps`, for docs/schemas/ps.schema.json
        name: String,
    },
    /// Check a built msb as its users use it
    Checks {
        #[command(flatten)]
        check: CheckArguments,
        /// Which of them
        #[arg(long, value_enum, default_value = "all")]
        part: checks::Part,
        /// Only those whose name has these words
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Attack a built msb, and fail where something gets through
    Attacks(attacks::Arguments),
    /// Try to open, lock and call what is named on standard input, and print what could be
    #[command(hide = true)]
    Intrude,
    /// Print the system calls that msb's own threads make once they are confined; needs strace
    SeccompList(CheckArguments),
    /// Kill the machine of a writing guest again and again: nothing synced is lost
    Crashes(CountedArguments),
    /// Create, run and remove sandboxes again and again: nothing is left behind
    Cycles(CountedArguments),
    /// Have many sandboxes at once
    Crowd(CountedArguments),
    /// Run other projects' filesystem suites in a guest: pjdfstest, fsx, git, SQLite under kills, and
    /// fsstress and unionmount where their checkouts are named
    Suites(suites::Arguments),
    /// Print the tree that a guest sees, made by a tree-dump that is sent into it
    GuestTree(GuestTreeArguments),
}

/// Which msb, image and VMM to check.
#[derive(Debug, clap::Args)]
struct CheckArguments {
    #[arg(long)]
    msb: PathBuf,
    #[arg(long)]
    image: String,
    #[arg(long)]
    vmm: String,
    #[arg(long, default_value_t = 60)]
    boot_timeout: u32,
    /// Guest memory, in MiB
    #[arg(long, default_value_t = 512)]
    memory: u32,
}

#[derive(Debug, clap::Args)]
struct CountedArguments {
    #[command(flatten)]
    check: CheckArguments,
    /// How often
    #[arg(long, default_value_t = 20)]
    count: u32,
}

#[derive(Debug, clap::Args)]
struct GuestTreeArguments {
    #[command(flatten)]
    check: CheckArguments,
    /// A static tree-dump
    #[arg(long)]
    tree_dump: PathBuf,
}

impl CheckArguments {
    fn bed(&self) -> checks::Bed {
        checks::Bed {
            msb: self.msb.clone(),
            image: self.image.clone(),
            vmm: self.vmm.clone(),
            boot_timeout_s: self.boot_timeout,
            memory_mib: self.memory,
            fresh_starts: Cell::new(0),
        }
    }
}

fn main() -> ExitCode {
    match dispatch(Recipe::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(recipe: Recipe) -> Result<ExitCode> {
    match recipe {
        Recipe::Tools => tools::install()?,
        Recipe::Kernel => println!("{}", kernel::fetch()?.display()),
        Recipe::Build => println!("{}", build::release()?.display()),
        Recipe::Image => println!("{}", image::demo()?.display()),
        Recipe::Demo => return demo::run(),
        Recipe::Test(arguments) => test::run(&arguments)?,
        Recipe::Fidelity(arguments) => println!("{}", fidelity::run(&arguments)?),
        Recipe::Engines(arguments) => println!("{}", engines::run(&arguments)?),
        Recipe::Crashes(arguments) => {
            println!(
                "{}",
                living::crashes(&arguments.check.bed(), arguments.count)?
            );
        }
        Recipe::Cycles(arguments) => {
            println!(
                "{}",
                living::cycles(&arguments.check.bed(), arguments.count)?
            );
        }
        Recipe::Crowd(arguments) => {
            println!(
                "{}",
                living::crowd(&arguments.check.bed(), arguments.count)?
            );
        }
        Recipe::Schema { name } => schema::judge_input(&name)?,
        Recipe::Docker => println!("{}", test::docker()?),
        Recipe::Fuzz(arguments) => println!("{}", fuzz::run(&arguments)?),
        Recipe::Powercut(arguments) => println!("{}", powercut::run(&arguments)?),
        Recipe::Ext4(arguments) => println!("{}", ext4::run(&arguments)?),
        Recipe::Lint => lint::run()?,
        Recipe::Stress(arguments) => stress::stress(&arguments)?,
        Recipe::Flips(count) => stress::flips(&count)?,
        Recipe::Fulldisk(count) => stress::full_disks(&count)?,
        Recipe::Faults(count) => stress::faults(&count)?,
        Recipe::Determinism(count) => stress::determinism(&count)?,
        Recipe::Layers => layers::check()?,
        Recipe::Deny => lint::deny()?,
        Recipe::Erofs(arguments) => erofs::run(&arguments)?,
        Recipe::KernelCheck => lab_recipe::kernel_check()?,
        Recipe::BenchImage => println!("{}", image::bench()?.display()),
        Recipe::BenchBoot(arguments) => return bench_boot::run(&arguments),
        Recipe::Lab(arguments) => return lab_recipe::run(arguments),
        Recipe::Attacks(arguments) => println!("{}", attacks::run(arguments)?),
        Recipe::Intrude => attacks::intrude()?,
        Recipe::Checks { check, part, only } => checks::run(&check.bed(), part, &only)?,
        Recipe::SeccompList(arguments) => println!("{}", seccomp_list::run(&arguments.bed())?),
        Recipe::Suites(arguments) => suites::run(&arguments.check.bed(), &arguments)?,
        Recipe::GuestTree(arguments) => {
            let bed = arguments.check.bed();
            print!("{}", oracle::guest_tree(&bed, &arguments.tree_dump)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}
