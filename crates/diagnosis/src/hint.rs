//! Remedies, in the words of the face that shows them.

/// A face of msb, whose users read an error in its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Face {
    /// The program `msb`.
    CommandLine,
    /// The crate `msb-sdk`.
    Rust,
    /// The Python package.
    Python,
    /// The npm package.
    TypeScript,
}

/// A remedy. Without words for a face, it has those of the command line there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    command_line: String,
    /// The words of Rust, Python and TypeScript, in which `()` ends the name of a method.
    languages: Option<[String; 3]>,
}

impl Hint {
    /// Returns the words for a face.
    pub fn words(&self, face: Face) -> &str {
        let language = match face {
            Face::CommandLine => return &self.command_line,
            Face::Rust => 0,
            Face::Python => 1,
            Face::TypeScript => 2,
        };
        match &self.languages {
            Some(languages) => &languages[language],
            None => &self.command_line,
        }
    }

    /// Returns a remedy whose words differ between the languages.
    pub fn worded(command_line: String, [rust, python, typescript]: [&str; 3]) -> Self {
        Self {
            command_line,
            languages: Some([rust.to_owned(), python.to_owned(), typescript.to_owned()]),
        }
    }

    /// Returns a remedy that is the same call in all languages.
    pub fn called(command_line: String, call: &str) -> Self {
        Self::worded(command_line, [call; 3])
    }

    /// Returns the remedy of a stopped sandbox.
    pub fn start(name: &str) -> Self {
        Self::called(
            format!("start it with msb start {name}"),
            "start it with start()",
        )
    }

    /// Returns the remedy of a running sandbox.
    pub fn stop(name: &str) -> Self {
        Self::called(
            format!("stop it with msb stop {name}"),
            "stop it with stop()",
        )
    }

    /// Returns the remedy of a running sandbox whose files are wanted.
    pub fn stop_keeping_files(name: &str) -> Self {
        Self::called(
            format!("stop it with msb stop {name}; its files are kept"),
            "stop it with stop(); its files are kept",
        )
    }

    /// Returns the remedies of a running sandbox that is to be removed.
    pub fn stop_or_remove(name: &str) -> Self {
        let words = "stop it with stop(), or kill and remove it with remove";
        Self::worded(
            format!("stop it with msb stop {name}, or kill and remove it with msb rm -f {name}"),
            [
                &format!("{words}(Force::Yes)"),
                &format!("{words}(force=True)"),
                &format!("{words}({{ force: true }})"),
            ],
        )
    }

    /// Returns the remedy of a paused sandbox.
    pub fn unpause(name: &str) -> Self {
        Self::called(
            format!("continue it with msb unpause {name}"),
            "continue it with unpause()",
        )
    }

    /// Returns the remedy of a sandbox that is running already.
    pub fn run_command(name: &str) -> Self {
        Self::called(
            format!("run a command in it with msb exec {name}"),
            "run a command in it with exec()",
        )
    }

    /// Returns the remedy of a snapshot that does not exist.
    pub fn list_snapshots(sandbox: &str) -> Self {
        Self::worded(
            format!("list them with msb snapshot ls {sandbox}"),
            [
                "list them with snapshots().list()",
                "list them with snapshots.list()",
                "list them with snapshots.list()",
            ],
        )
    }

    /// Returns the remedy of a sandbox without snapshots.
    pub fn take_snapshot(sandbox: &str) -> Self {
        Self::worded(
            format!("take one with msb snapshot create {sandbox}"),
            [
                "take one with snapshots().create()",
                "take one with snapshots.create()",
                "take one with snapshots.create()",
            ],
        )
    }

    /// Returns the remedy of a disk with too many generations.
    pub fn remove_snapshots() -> Self {
        let words = |of| {
            format!("remove snapshots with {of}.remove(), then merge the rest with {of}.merge()")
        };
        Self::worded(
            "remove snapshots with msb snapshot rm, then merge the rest with msb snapshot prune"
                .to_owned(),
            [
                &words("snapshots()"),
                &words("snapshots"),
                &words("snapshots"),
            ],
        )
    }

    /// Returns the remedy of a full writable disk.
    pub fn enlarge_disk(name: &str) -> Self {
        Self::worded(
            format!("enlarge the disk with msb update --upper-size SIZE {name}"),
            [
                "enlarge the disk with update(Changes::default().disk(size))",
                "enlarge the disk with update(disk=...)",
                "enlarge the disk with update({ disk: ... })",
            ],
        )
    }

    /// Returns the remedy of a guest that did not answer in time.
    pub fn more_time_to_boot() -> Self {
        Self::worded(
            "on a slow host, give it more time with --boot-timeout".to_owned(),
            [
                "on a slow host, give it more time with boot_timeout()",
                "on a slow host, give it more time with boot_timeout=...",
                "on a slow host, give it more time with bootTimeoutMs",
            ],
        )
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self {
            command_line: text,
            languages: None,
        }
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_speaks_the_language_of_its_face() {
        let all = [
            Hint::start("web"),
            Hint::stop("web"),
            Hint::stop_keeping_files("web"),
            Hint::stop_or_remove("web"),
            Hint::unpause("web"),
            Hint::run_command("web"),
            Hint::list_snapshots("web"),
            Hint::take_snapshot("web"),
            Hint::remove_snapshots(),
            Hint::enlarge_disk("web"),
        ];
        for hint in all {
            assert!(hint.words(Face::CommandLine).contains("msb "), "{hint:?}");
            for face in [Face::Rust, Face::Python, Face::TypeScript] {
                let words = hint.words(face);
                assert!(!words.contains("msb ") && !words.contains("--"), "{words}");
                assert!(words.contains('('), "{words}");
            }
        }
        let python = Hint::stop_or_remove("web");
        assert!(python.words(Face::Python).contains("remove(force=True)"));
    }
}
