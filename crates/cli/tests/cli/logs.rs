//! Logs of a sandbox that never ran.

use std::fs;
use std::path::PathBuf;

use crate::support::{TestHome, host_architecture};

/// The full file of the log, and the current one.
const OLDER: &str = r#"{"time":"2026-11-27T02:41:03.120Z","event":"connect","flow":1,"proto":"tcp","name":"api.example.com","address":"203.0.113.9","port":443,"verdict":"allowed","rule":"api.example.com:443"}
"#;
const CURRENT: &str = r#"{"time":"2026-11-27T02:41:04.000Z","event":"connect","proto":"tcp","address":"10.0.0.5","port":5432,"verdict":"denied","rule":"10.0.0.0/8","hint":"--net-allow 10.0.0.5:5432","count":3}
not a record
{"time":"2026-11-27T02:41:05.000Z","event":"dns","name":"a\u001b[2J\u202e\nb","type":"A","verdict":"denied","rule":"listed","code":"NXDOMAIN"}
{"time":"2026-11-27T02:41:06.000Z","event":"close","flow":1,"sent":4110,"received":52011,"ms":2880,"end":"peer"}
"#;

/// Returns a home with a sandbox `box`, and the directory that its machine would write.
fn home_with_box() -> (TestHome, PathBuf) {
    let home = TestHome::new();
    home.load("app", &host_architecture());
    let created = home.msb(&["create", "-q", "--name", "box", "app"]);
    assert_eq!(created.code, Some(0), "{}", created.stderr);
    let inspected = home.msb(&["inspect", "--format", "{{.directory}}", "box"]);
    let written = PathBuf::from(inspected.stdout.trim()).join("written");
    fs::create_dir_all(&written).expect("made");
    (home, written)
}

fn printed(home: &TestHome, words: &[&str]) -> String {
    let words = [&["logs", "--source", "network"], words, &["box"]].concat();
    let said = home.msb(&words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said.stdout
}

#[test]
fn the_log_of_the_network_is_printed_for_people_and_for_programs() {
    let (home, written) = home_with_box();
    assert_eq!(printed(&home, &[]), "");
    fs::write(written.join("network.jsonl.1"), OLDER).expect("written");
    fs::write(written.join("network.jsonl"), CURRENT).expect("written");
    let refused = "2026-11-27T02:41:04.000Z refused tcp 10.0.0.5:5432 by 10.0.0.0/8, 3 times; \
                   --net-allow 10.0.0.5:5432 allows it\n";
    let name =
        "2026-11-27T02:41:05.000Z refused name a\\u{1b}[2J\\u{202e}\\nb A by listed: NXDOMAIN\n";
    let expected = format!(
        "2026-11-27T02:41:03.120Z 1 tcp api.example.com:443 (203.0.113.9) by api.example.com:443\n\
         {refused}{name}\
         2026-11-27T02:41:06.000Z 1 closed by the peer after 2.880s, 4.1kB sent, 52.0kB received\n"
    );
    assert_eq!(printed(&home, &[]), expected);
    assert_eq!(printed(&home, &["--denied"]), format!("{refused}{name}"));
    let dated = [
        "--since",
        "2026-11-27T02:41:04Z",
        "--until",
        "2026-11-27T02:41:05Z",
    ];
    assert_eq!(printed(&home, &dated), refused);
    let json = printed(&home, &["--format", "json"]);
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!(lines.len(), 4, "{json}");
    assert_eq!(lines[0], OLDER.trim_end());
    assert!(json.is_ascii() && !json.contains('\u{1b}'), "{json}");
    let last = printed(&home, &["-n", "1", "--format", "json"]);
    assert_eq!(last.trim_end(), lines[3]);
}

#[test]
fn a_log_has_only_the_options_that_it_can_follow() {
    let (home, _) = home_with_box();
    for (words, expected) in [
        (
            &["--denied"][..],
            "--denied can be used only with --source network",
        ),
        (
            &["--source", "console", "--since", "1h"],
            "--since and --until cannot be used",
        ),
        (
            &["--source", "network", "--job", "1"],
            "--job can be used only with --source output",
        ),
        (
            &["--source", "network", "-t"],
            "--timestamps can be used only with --source output",
        ),
        (
            &["--format", "json"],
            "--format json can be used only with --source asks",
        ),
    ] {
        let words = [&["logs"], words, &["box"]].concat();
        home.msb(&words).assert_refused(&[expected]);
    }
}
