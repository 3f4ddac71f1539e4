//! Words that neither docker nor msb has and that are often tried.

/// A word, the command that it follows, and the answer.
struct Guess {
    /// Commands that the word is tried below; empty for the first word.
    paths: &'static [&'static str],
    words: &'static [&'static str],
    instead: &'static str,
}

const CREATE: &[&str] = &["run", "create"];
const HOST: &str = "msb runs sandboxes only on this host; --home or MSB_HOME sets their directory";
const DEBUG: &str = "msb has no log levels; msb logs --source machine prints what a machine and \
    its guest wrote, and MSB_TIMELINE=FILE records the steps of a start";

const ALL: &[Guess] = &[
    Guess {
        paths: &["", "snapshot"],
        words: &["restore", "revert", "checkout"],
        instead: "msb rollback SANDBOX@SNAPSHOT goes back to a snapshot, and msb snapshot import reads an exported one",
    },
    Guess {
        paths: &[""],
        words: &["clone", "copy", "duplicate"],
        instead: "msb fork SANDBOX NAME creates a sandbox from the files of another sandbox",
    },
    Guess {
        paths: &["", "container"],
        words: &["shell", "enter", "sh", "bash"],
        instead: "msb exec -it SANDBOX sh opens a shell in a sandbox",
    },
    Guess {
        paths: &["", "image"],
        words: &["scan", "scout", "sbom"],
        instead: "msb does not look for vulnerabilities; msb save IMAGE -o FILE writes an archive that scanners read",
    },
    Guess {
        paths: CREATE,
        words: &["--timeout", "--max-time", "--ttl"],
        instead: "--max-duration 5m stops a sandbox after that time, and --stop-timeout limits the \
            time that its stop takes",
    },
    Guess {
        paths: &[""],
        words: &[
            "-H",
            "--host",
            "-c",
            "--context",
            "--config",
            "--tls",
            "--tlsverify",
        ],
        instead: HOST,
    },
    Guess {
        paths: &[""],
        words: &["-D", "--debug", "-l", "--log-level"],
        instead: DEBUG,
    },
];

/// Returns the answer to a word below the command `path`; `None` if it is not known.
#[must_use]
pub fn answer(path: &str, word: &str) -> Option<&'static str> {
    let path = match path.strip_prefix("container ") {
        Some(path) if CREATE.contains(&path) => path,
        _ => path,
    };
    let found = ALL
        .iter()
        .find(|guess| guess.paths.contains(&path) && guess.words.contains(&word))?;
    Some(found.instead)
}
