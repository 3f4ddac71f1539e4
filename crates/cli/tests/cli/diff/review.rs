//! `msb apply -i`: changes that are chosen at a terminal.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{home, printed};
use crate::support::TestHome;

/// Lines, of which some were changed.
fn lines(changed: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = (0..30).map(|number| format!("line {number}\n")).collect();
    for (number, text) in changed {
        lines[*number] = format!("{text}\n");
    }
    lines.concat()
}

/// Makes the sandboxes `before` and `agent`, and a directory with the files of the first one.
fn project(home: &TestHome) -> PathBuf {
    let before = [
        ("a", lines(&[])),
        ("b", "b\n".into()),
        (".envrc", "echo\n".into()),
    ];
    let changed = lines(&[(2, "two"), (4, "four"), (25, "evil\u{202e}")]);
    let agent = [
        ("a", changed),
        ("b", "b2\n".into()),
        (".envrc", "evil\n".into()),
        ("c", "c\n".into()),
    ];
    for (name, files) in [("before", &before[..]), ("agent", &agent[..])] {
        let directory = home.path().join(name);
        fs::create_dir(&directory).expect("made");
        for (path, text) in files {
            fs::write(directory.join(path), text).expect("written");
        }
        let copy = format!("{}:/work", directory.display());
        printed(home, &["create", "--name", name, "--copy", &copy, "app:1"]);
    }
    home.path().join("before")
}

/// The outcome of a command at a terminal.
pub(super) struct Reviewed {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    /// Standard error and the echo of the typed text.
    pub(super) shown: String,
}

/// Runs msb with a terminal as its standard input and error, at which a text is typed.
pub(super) fn typed(home: &TestHome, words: &[&str], text: &str) -> Reviewed {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let open = || {
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        rustix::fs::open(&name, flags, Mode::empty()).expect("opened")
    };
    let mut command = home.command(words);
    command.stdin(open()).stderr(open()).stdout(Stdio::piped());
    let mut master = File::from(master);
    // The last line is ^D, the end of the input.
    master.write_all(text.as_bytes()).expect("typed");
    master.write_all(b"\x04").expect("typed");
    let child = command.spawn().expect("started");
    // The last copies of the terminal's other end are msb's.
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // The read fails once the other end is closed.
        let _ = master.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
    });
    let output = child.wait_with_output().expect("ended");
    Reviewed {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        shown: reader.join().expect("read"),
    }
}

fn review(home: &TestHome, directory: &Path, text: &str) -> Reviewed {
    let directory = directory.to_str().expect("text");
    let words = [
        "apply", "-i", "--from", "/work", "--base", "before", "agent", directory,
    ];
    typed(home, &words, text)
}

#[test]
fn files_and_hunks_are_chosen_at_a_terminal() {
    let home = home();
    let project = project(&home);
    let read = |name: &str| fs::read_to_string(project.join(name)).expect("read");
    // The changes are .envrc, a (two hunks, the first of two edits), b and c.
    let reviewed = review(&home, &project, "n\n?\ns\nn\ny\nn\nd\ny\n");
    assert_eq!(reviewed.code, Some(0), "{}", reviewed.shown);
    let path = |name: &str| project.join(name).display().to_string();
    let expected = format!("C {}\nA {}\n", path("a"), path("c"));
    assert_eq!(reviewed.stdout, expected, "{}", reviewed.shown);
    for text in [
        "direnv runs commands that it names",
        "(1/2) Apply this hunk [y,n,q,a,d,s,?]? ",
        "s - split this hunk",
        "(2/3) Apply this hunk [y,n,q,a,d,?]? ",
        "evil\\u{202e}",
        "Apply this change [y,n,q,a,d,?]? ",
    ] {
        assert!(reviewed.shown.contains(text), "{text}: {}", reviewed.shown);
    }
    assert_eq!(read("a"), lines(&[(4, "four")]));
    assert_eq!(
        (read("b"), read(".envrc"), read("c")),
        ("b\n".into(), "echo\n".into(), "c\n".into())
    );
    // What is left is asked for again, and merged with what is there.
    let reviewed = review(&home, &project, "y\na\nq\n");
    assert_eq!(reviewed.code, Some(0), "{}", reviewed.shown);
    assert_eq!(
        read("a"),
        lines(&[(2, "two"), (4, "four"), (25, "evil\u{202e}")])
    );
    assert_eq!((read("b"), read(".envrc")), ("b\n".into(), "evil\n".into()));
}

#[test]
fn an_edit_of_lines_that_the_host_changed_is_a_conflict() {
    let home = home();
    let project = project(&home);
    let host = lines(&[(25, "mine"), (15, "mine, too")]);
    fs::write(project.join("a"), &host).expect("written");
    let reviewed = review(&home, &project, "n\nn\ny\nq\n");
    assert_eq!(reviewed.code, Some(125), "{}", reviewed.shown);
    assert!(
        reviewed.shown.contains("the hunk cannot be applied"),
        "{}",
        reviewed.shown
    );
    assert!(
        reviewed.shown.contains("it differs from both"),
        "{}",
        reviewed.shown
    );
    let read = || fs::read_to_string(project.join("a")).expect("read");
    assert_eq!(read(), host);
    let reviewed = review(&home, &project, "n\ny\nn\nq\n");
    assert_eq!(reviewed.code, Some(0), "{}", reviewed.shown);
    let merged = lines(&[(2, "two"), (4, "four"), (15, "mine, too"), (25, "mine")]);
    assert_eq!(read(), merged);
}

#[test]
fn without_answers_nothing_is_applied() {
    let home = home();
    let project = project(&home);
    let reviewed = review(&home, &project, "y\ny\n");
    assert_eq!(reviewed.code, Some(125), "{}", reviewed.shown);
    assert!(
        reviewed.shown.contains("nothing was applied"),
        "{}",
        reviewed.shown
    );
    let read = |name: &str| fs::read_to_string(project.join(name)).expect("read");
    assert_eq!((read("a"), read(".envrc")), (lines(&[]), "echo\n".into()));
    let directory = project.to_str().expect("text");
    let piped = home.msb(&["apply", "-i", "--base", "before", "agent", directory]);
    piped.assert_refused(&["msb apply -i asks at a terminal"]);
}

#[test]
fn the_question_about_commands_is_for_the_plan_that_was_shown() {
    let home = home();
    let project = project(&home);
    let directory = project.to_str().expect("text");
    let words = [
        "apply", "--from", "/work", "--base", "before", "agent", directory,
    ];
    let declined = typed(&home, &words, "n\n");
    assert_eq!(declined.code, Some(125), "{}", declined.shown);
    assert!(!project.join("c").exists());
    let agreed = typed(&home, &words, "y\n");
    assert_eq!(agreed.code, Some(0), "{}", agreed.shown);
    assert_eq!(agreed.shown.matches("Continue?").count(), 1);
    assert!(project.join("c").exists());
}
