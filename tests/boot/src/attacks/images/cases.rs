use serde_json::{Value, json};
use testkit::{TarBuilder, TarEntry};

use super::program;
use test_support::oci_layout::Blob;

/// A hostile image and the expected outcome.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// The entries of the last layer, which lies over a layer with a program.
    entries: Vec<TarEntry>,
    /// Number of copies of that layer, each with other content.
    times: u32,
    /// Keys of the image's config besides the program.
    pub(super) config: Value,
    /// Options of `msb run`.
    pub(super) options: &'static [&'static str],
    pub(super) outcome: Outcome,
}

/// The expected outcome for an image.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    /// It is not loaded; the error contains this text.
    Refused(&'static str),
    /// Its program runs to its end.
    Runs,
    /// It is loaded and does not run; the error contains this text.
    Fails(&'static str),
}

impl Case {
    fn new(name: &'static str, entries: Vec<TarEntry>, outcome: Outcome) -> Self {
        Self {
            name,
            entries,
            times: 1,
            config: json!({}),
            options: &[],
            outcome,
        }
    }

    fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// Asks for a user by name, so that the guest looks into `/etc/passwd`.
    fn user(mut self) -> Self {
        self.options = &["--user", "somebody"];
        self
    }

    pub(super) fn layers(&self) -> Vec<Blob> {
        let program = TarEntry::file(&program::PATH[1..], program::elf()).mode(0o755);
        let base = Blob::plain(TarBuilder::archive([program]));
        let mut layers = vec![base];
        for number in 0..self.times {
            let mark = TarEntry::file("mark", number.to_string());
            let entries = self.entries.iter().cloned().chain([mark]);
            layers.push(Blob::plain(TarBuilder::archive(entries)));
        }
        layers
    }
}

fn pipe(path: &str) -> TarEntry {
    TarEntry::new(b'6', path)
}

pub(super) fn all() -> Vec<Case> {
    let link = |path: &str, target: &str| TarEntry::symlink(path, target);
    let file = |path: &str| TarEntry::file(path, "");
    let mut layers = Case::new("1,000 layers", vec![], Outcome::Refused("image-layers"));
    layers.times = 1000;
    let long_env = format!("LONG={}", "x".repeat(2 << 20));
    vec![
        layers,
        Case::new(
            "a whiteout of '..'",
            vec![file(".wh...")],
            Outcome::Refused("whiteout"),
        ),
        Case::new(
            "a name that leaves the root",
            vec![file("../../x")],
            Outcome::Refused("leaves the root"),
        ),
        Case::new(
            "a hard link out of the root",
            vec![TarEntry::hardlink("h", "../../etc/shadow")],
            Outcome::Refused("leaves the root"),
        ),
        Case::new(
            "names that a terminal would act on",
            vec![file("\x1b[2J\x07"), file("a\nb"), file(&"n".repeat(255))],
            Outcome::Runs,
        ),
        Case::new(
            "a pipe as /etc/passwd",
            vec![pipe("etc/passwd")],
            Outcome::Runs,
        ),
        Case::new(
            "pipes as all that the agent reads",
            [
                "etc/passwd",
                "etc/group",
                "etc/hosts",
                "etc/hostname",
                "etc/resolv.conf",
            ]
            .map(pipe)
            .to_vec(),
            Outcome::Runs,
        ),
        Case::new(
            "a pipe as /etc/passwd, and a user by name",
            vec![pipe("etc/passwd")],
            Outcome::Fails("the image has no user 'somebody'"),
        )
        .user(),
        Case::new(
            "/dev/zero as /etc/passwd",
            vec![link("etc/passwd", "/dev/zero")],
            Outcome::Fails("the image has no user 'somebody'"),
        )
        .user(),
        Case::new(
            "a device as /etc/passwd",
            vec![TarEntry::char_device("etc/passwd", 1, 5)],
            Outcome::Fails("the image has no user 'somebody'"),
        )
        .user(),
        Case::new(
            "a directory as /etc/passwd",
            vec![TarEntry::directory("etc/passwd")],
            Outcome::Fails("the image has no user 'somebody'"),
        )
        .user(),
        Case::new(
            "/etc/passwd of 10 GiB",
            vec![
                TarEntry::file("etc/passwd", "x")
                    .record("GNU.sparse.map", "0,1")
                    .record("GNU.sparse.size", (10_u64 << 30).to_string()),
            ],
            Outcome::Fails("the image has no user 'somebody'"),
        )
        .user(),
        Case::new(
            "links where files about the network go",
            vec![
                link("etc/hosts", "/proc/sysrq-trigger"),
                link("etc/hostname", "hostname"),
                link("etc/resolv.conf", "/run/msb/boot/init"),
            ],
            Outcome::Runs,
        ),
        Case::new("/etc is a loop", vec![link("etc", "etc")], Outcome::Runs),
        Case::new(
            "/proc is a file",
            vec![file("proc")],
            Outcome::Fails("cannot mount /proc"),
        ),
        Case::new(
            "an environment of 2 MiB",
            vec![],
            Outcome::Fails("pass long values in a file"),
        )
        .config(json!({"Env": [long_env]})),
        Case::new("variables that are none", vec![], Outcome::Runs)
            .config(json!({"Env": ["=x", "none", "A=\n\u{1b}[2J", "LD_PRELOAD=/nowhere"]})),
        Case::new(
            "a user that climbs",
            vec![],
            Outcome::Fails("the image has no user '../../root'"),
        )
        .config(json!({"User": "../../root"})),
        Case::new("a directory to work in that climbs", vec![], Outcome::Runs)
            .config(json!({"WorkingDir": "/proc/1/root/../../../tmp"})),
    ]
}
