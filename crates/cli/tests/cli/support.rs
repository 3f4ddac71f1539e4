use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oci_image::Digest;
use serde_json::json;
use tempfile::TempDir;

/// An `MSB_HOME` of one test.
pub(crate) struct TestHome {
    directory: TempDir,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    /// Returns the directory of the test; the home lies below it.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// Returns `msb` with these arguments, in this home and an environment that is otherwise empty.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_msb"));
        command.args(arguments).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", self.directory.path());
        command.env("MSB_HOME", self.directory.path().join("home"));
        // Nothing is to change a home between two commands.
        command.env("MSB_MAINTENANCE", "off");
        command
    }

    /// Runs `msb` to its end and returns its output.
    pub(crate) fn msb(&self, arguments: &[&str]) -> Said {
        Said::from_output(&self.command(arguments).output().expect("started"))
    }

    /// Makes all sandboxes such that began with their images, so that what was copied into them when they were
    /// created counts as changes that their guests made.
    pub(crate) fn forget_bases(&self) {
        let sandboxes = self.directory.path().join("home/sandboxes");
        for sandbox in fs::read_dir(sandboxes).expect("read") {
            // Most have none.
            let _ = fs::remove_file(sandbox.expect("read").path().join("base.ext4"));
        }
    }

    /// Adds files to the first staged directory of a sandbox that never ran, as its guest would. Their content is
    /// `of the sandbox`.
    pub(crate) fn change_staged(&self, sandbox: &str, names: &[&str]) {
        let directory = self.msb(&["inspect", "-f", "{{.directory}}", sandbox]);
        let disk = disk_file(Path::new(directory.stdout.trim()));
        let (file, commands) = (self.path().join("change"), self.path().join("debugfs"));
        fs::write(&file, "of the sandbox").expect("written");
        let lines = names.iter().map(|name| {
            let file = file.display();
            format!("write {file} /staged/0/upper/{name}\n")
        });
        fs::write(&commands, lines.collect::<String>()).expect("written");
        let mut debugfs = Command::new("debugfs");
        let output = debugfs.args(["-w", "-f"]).arg(commands).arg(disk).output();
        let output = output.expect("debugfs is there");
        assert!(output.status.success(), "{output:?}");
    }

    /// Loads an image with one file into the store.
    pub(crate) fn load(&self, name: &str, architecture: &str) {
        self.load_layer(name, architecture, tar(&[("greeting", b"hello".to_vec())]));
    }

    /// Loads an image with one layer into the store.
    pub(crate) fn load_layer(&self, name: &str, architecture: &str, layer: Vec<u8>) {
        self.load_layers(name, architecture, vec![layer]);
    }

    /// Loads an image with layers, the base first, into the store.
    pub(crate) fn load_layers(&self, name: &str, architecture: &str, layers: Vec<Vec<u8>>) {
        let digests = layers
            .iter()
            .map(|layer| Digest::compute(layer).to_string());
        let diff_ids: Vec<String> = digests.collect();
        let names: Vec<String> = (0..layers.len()).map(|n| format!("{n}.tar")).collect();
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "config": {"Cmd": ["/bin/true"]},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        });
        let manifest = json!([{"Config": "config.json", "Layers": names}]);
        let mut files = vec![
            ("manifest.json", manifest.to_string().into_bytes()),
            ("config.json", config.to_string().into_bytes()),
        ];
        files.extend(names.iter().map(String::as_str).zip(layers));
        let archive = tar(&files);
        let path = self.directory.path().join("image.tar");
        fs::write(&path, archive).expect("written");
        let platform = format!("linux/{architecture}");
        let path = path.to_str().expect("text");
        let loaded = self.msb(&["load", "-q", "-t", name, "--platform", &platform, path]);
        assert_eq!(loaded.code, Some(0), "{}", loaded.stderr);
    }
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn from_output(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Checks that msb failed with a one-line message that contains each of the words.
    #[track_caller]
    pub(crate) fn assert_refused(&self, words: &[&str]) {
        assert_eq!(self.code, Some(125), "{}", self.stderr);
        let lines: Vec<&str> = self.stderr.lines().collect();
        let said = lines.iter().filter(|line| !line.starts_with("hint: "));
        assert_eq!(said.count(), 1, "{}", self.stderr);
        for word in words {
            assert!(lines[0].contains(word), "{word}: {}", self.stderr);
        }
    }

    /// Checks that one of the hints contains the words.
    #[track_caller]
    pub(crate) fn assert_hint(&self, words: &str) {
        let mut hints = self
            .stderr
            .lines()
            .filter(|line| line.starts_with("hint: "));
        assert!(hints.any(|hint| hint.contains(words)), "{}", self.stderr);
    }
}

/// Returns this host's architecture as images name it.
pub(crate) fn host_architecture() -> String {
    oci_image::Platform::host().architecture
}

/// Returns files as a tar.
pub(crate) fn tar(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, name, content.as_slice())
            .expect("appended");
    }
    builder.into_inner().expect("finished")
}

/// Returns the file that is the disk of a sandbox which was never cut: it has all blocks.
pub(crate) fn disk_file(sandbox: &Path) -> PathBuf {
    let files = fs::read_dir(sandbox.join("generations")).expect("a disk");
    let mut paths = files.map(|file| file.expect("read").path());
    let is_data = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "data")
    };
    paths.find(is_data).expect("it has a file")
}
