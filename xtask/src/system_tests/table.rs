use super::Effect::{
    Choice, CountInstead, Flag, Instead, Name, Part, Path, Value, WithLong, Words,
};
use super::{Opt, Tests};

/// Lists options: those that several recipes have, and then an effect and a description for each name.
macro_rules! options {
    ([$($shared:expr),*] $($name:literal $effect:expr, $help:literal;)*) => {
        &[$($shared,)* $(Opt::new($name, $help, $effect),)*]
    };
}

const MSB: Opt = Opt::new(
    "msb",
    "An msb, instead of the one that is built",
    Path("MSB_TEST_MSB"),
);
const FIRST: Opt = Opt::new(
    "first",
    "The number of the first: a number is a seed",
    Value("MSB_TEST_FIRST", None),
);

const ARCHIVES: Opt = Opt::new(
    "archives",
    "Judge the archives in this directory's directories too, one for each project",
    Path("MSB_TEST_ARCHIVES"),
);

/// The options of all tests with guests.
pub(super) const GUEST_OPTIONS: &[Opt] = options! {
    [MSB]
    "image" Value("MSB_TEST_IMAGE", None),
        "An image in the store of MSB_HOME, instead of a Debian with python3";
    "vmm" Value("MSB_TEST_VMM", None), "qemu or krun";
    "boot-timeout" Value("MSB_TEST_BOOT_TIMEOUT_S", None), "Seconds until a guest's first answer";
    "memory" Value("MSB_TEST_MEMORY_MIB", None), "Guest memory, in MiB";
};

const fn count(default: &'static str) -> Opt {
    Opt::new("count", "How often", Value("MSB_TEST_COUNT", Some(default)))
}

const fn tests(
    recipe: &'static str,
    (package, filter): (&'static str, &'static str),
    about: &'static str,
    options: &'static [Opt],
) -> Tests {
    Tests {
        recipe,
        about,
        package,
        filter,
        with_long: false,
        options,
    }
}

const fn long(mut tests: Tests) -> Tests {
    tests.with_long = true;
    tests
}

pub(super) const TESTS: &[Tests] = &[
    tests(
        "checks",
        ("boot", "checks::"),
        "Check a built msb as its users use it",
        options! {
            []
            "part" Choice(&[("all", "checks::"), ("machine", "checks::machine::")]),
                "Those of the machine alone, for a second VMM";
            "only" Words, "Only those whose title has these words";
        },
    ),
    tests(
        "docker",
        ("boot", "docker::"),
        "Run the table of docker's invocations",
        &[],
    ),
    tests(
        "attacks",
        ("boot", "attacks::"),
        "Attack a built msb, and fail where something gets through",
        options! {
            []
            "part" Choice(&[
                ("all", "attacks::"),
                ("images", "attacks::boot_images"),
                ("disks", "attacks::disks"),
                ("network", "attacks::network"),
                ("agent", "attacks::agent"),
                ("users", "attacks::boot_users"),
            ]), "Which attacks to make";
            "minutes" Value("MSB_TEST_MINUTES", Some("1")),
                "How long attacks go on that have no end of their own, for each part";
        },
    ),
    tests(
        "kernel-check",
        ("boot", "kernel::"),
        "Boot the guest kernel and prove each option of kernel-config by using it",
        &[],
    ),
    long(tests(
        "crashes",
        ("boot", "soak::boot_crashes"),
        "Kill the machine of a writing guest again and again: nothing synced is lost",
        &[count("20")],
    )),
    long(tests(
        "cycles",
        ("boot", "soak::boot_cycles"),
        "Create, run and remove sandboxes again and again: nothing is left behind",
        &[count("20")],
    )),
    long(tests(
        "crowd",
        ("boot", "soak::boot_crowd"),
        "Have many sandboxes at once",
        &[count("20")],
    )),
    long(tests(
        "suites",
        ("boot", "suites::boot_"),
        "Run other projects' filesystem suites in a guest: pjdfstest, fsx, git, SQLite under kills, docker \
            and podman, and fsstress and unionmount where they are named",
        options! {
            []
            "only" Name, "Only this suite";
            "fsstress" Path("MSB_TEST_FSSTRESS"),
                "An fsstress (of LTP or of xfstests) that runs in the guest";
            "unionmount" Path("MSB_TEST_UNIONMOUNT"), "A checkout of unionmount-testsuite";
            "kills" Value("MSB_TEST_COUNT", Some("20")),
                "How often SQLite's machine is killed, for each journal";
        },
    )),
    long(tests(
        "gallery",
        ("boot", "gallery::boot_"),
        "Run images of well-known services: as root and as a user, with a reload, a stop and a new start",
        options! {
            []
            "only" Name, "Only this service";
        },
    )),
    long(tests(
        "lab-checks",
        ("boot", "lab::"),
        "Run the walk, and the checks of the machine and of the disk, under libkrun in the lab",
        &[],
    )),
    tests(
        "fidelity",
        ("oracle", "fidelity::"),
        "Judge every case of layer semantics against its oracle, natively and in the guest",
        options! {
            [MSB]
            "row" Name, "Only the rows whose identifier begins so";
            "large" WithLong(None), "Judge the large rows too, which take minutes";
            "record" WithLong(Some("MSB_TEST_RECORD")),
                "Write docs/fidelity.md from this run, large rows included";
        },
    ),
    tests(
        "engines",
        ("oracle", "engines::hostile"),
        "Judge hostile layers against what containerd, moby and umoci make of them",
        options! {
            [MSB, ARCHIVES, FIRST]
            "case" Value("MSB_TEST_CASE", None), "Only cases whose name holds this";
            "own" Flag("MSB_TEST_OWN"), "Leave out the archives of other projects";
            "sequences" CountInstead("engines::random"),
                "Judge so many random sequences of layers instead";
            "verbose" Flag("MSB_TEST_VERBOSE"), "Print every case";
        },
    ),
    tests(
        "guest-changes",
        ("oracle", "guest_changes::"),
        "Change files at random in guests: commit and apply make what the guests saw",
        &[MSB, count("1000"), FIRST],
    ),
    tests(
        "three-trees",
        ("msb-host-changes", "three_trees"),
        "Edit a directory at random in a sandbox and on the host: apply ends as a model says",
        &[count("10000"), FIRST],
    ),
    tests(
        "saved",
        ("oracle", "saved::"),
        "Load layers of many programs, hostile ones too: msb save gives the same tars",
        &[MSB, ARCHIVES],
    ),
    tests(
        "erofs",
        ("oracle", "erofs::every_reader"),
        "Write random trees as EROFS images and compare what every reader sees",
        options! {
            [FIRST]
            "trees" Value("MSB_TEST_COUNT", Some("200")), "How many random trees";
            "installed" Flag("MSB_TEST_INSTALLED"),
                "Only the readers that are installed: no newer erofs-utils, no go-erofs";
            "sizes" Instead("erofs::sizes"),
                "Write and mount images at the limits of sizes and counts instead";
        },
    ),
    tests(
        "ext4",
        ("oracle", "ext4::"),
        "Write ext4 images of many sizes and contents, and let e2fsprogs and the kernel judge them",
        options! {
            [count("40"), FIRST]
            "used" Value("MSB_TEST_USED", Some("3")),
                "How many images to use in the host's kernel, and to crash";
            "work" Path("MSB_TEST_EXT4_DIRECTORY"),
                "Where images are written; a file system in memory is the fastest";
        },
    ),
    tests(
        "fleet",
        ("fleet", "ctr::"),
        "Run containers of a containerd in machines",
        options! {
            [MSB]
            "part" Part(&[("ctr", "ctr::")]), "What runs them";
            "vmm" Value("MSB_TEST_VMM", None), "qemu or krun";
        },
    ),
    tests(
        "stress",
        ("store", "stress::"),
        "Many processes on one store, a part of them killed",
        options! {
            [MSB]
            "rounds" Value("MSB_TEST_ROUNDS", Some("10")),
                "Rounds of twenty pulls with kills, removals, prunings and verifications";
            "crowds" Value("MSB_TEST_CROWDS", Some("3")), "Rounds of 64 pulls of one image";
            "kills" Value("MSB_TEST_KILLS", Some("1000")),
                "Pulls that are killed, two to eight at once";
        },
    ),
    tests(
        "kills",
        ("store", "kills::"),
        "Kill msb load at random moments, and changes of sandboxes at each step",
        &[MSB, count("1000")],
    ),
    tests(
        "flips",
        ("store", "flips::"),
        "Flip bytes of a store: each is found, refused and mended",
        &[MSB, count("1000")],
    ),
    tests(
        "fulldisk",
        ("store", "full_disks::"),
        "Let every stage meet a full disk",
        &[MSB, count("60")],
    ),
    tests(
        "faults",
        ("store", "faults::"),
        "Let every stage meet errors of the disk (EIO, a quota), put in by strace",
        &[MSB, count("60")],
    ),
    tests(
        "determinism",
        ("store", "determinism::"),
        "Load an image again and again: the same bytes",
        &[MSB, count("100")],
    ),
    tests(
        "powercut",
        ("store", "power_cuts::"),
        "Cut the power at many points of a recording of msb's writes, and judge what is left",
        options! {
            [MSB]
            "points" Value("MSB_TEST_COUNT", Some("1000")), "How many power cuts";
            "filesystem" Value("MSB_TEST_FILESYSTEM", None),
                "What the store lies on: ext4, xfs or btrfs";
            "seed" Value("MSB_TEST_SEED", None),
                "Where the cuts are and what they take follows from this and the recording [default: the time]";
            "again" Flag("MSB_TEST_AGAIN"),
                "Use the last run's recordings instead of making new ones";
            "only" Value("MSB_TEST_ONLY", None),
                "Only the cut of this number, which is printed in full";
        },
    ),
];
