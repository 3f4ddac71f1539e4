//! The kind, the details and the hints of errors of msb's other crates, compared with a recorded list.

// Each error is on one line.
#[rustfmt::skip]
mod files;
#[rustfmt::skip]
mod images;
#[rustfmt::skip]
mod machine;
#[rustfmt::skip]
mod sandboxes;

use std::fmt::Write as _;
use std::io;

use msb_sdk::{Error, Face};

/// The recorded list.
const LIST: &str = include_str!("errors.txt");

#[test]
fn errors_have_the_recorded_kinds_and_hints() {
    let errors = [
        images::errors(),
        sandboxes::errors(),
        files::errors(),
        machine::errors(),
    ];
    let mut list = String::new();
    for error in errors.iter().flatten() {
        list.push_str(&described(error));
    }
    let mut lines = list.lines().zip(LIST.lines()).enumerate();
    let changed = lines.find(|(_, (found, recorded))| found != recorded);
    assert!(changed.is_none(), "{changed:?} of\n{list}");
    assert_eq!(list.lines().count(), LIST.lines().count());
}

/// Returns the lines of an error in the list: message, kind, exit code, details, and the hints.
fn described(error: &Error) -> String {
    let mut text = format!("{error}\n  {} {}", error.kind().name(), error.exit_code());
    if !error.details().is_empty() {
        let details = serde_json::to_string(error.details()).expect("JSON");
        write!(text, " {details}").expect("a string");
    }
    text.push('\n');
    let command_line = error.hints_for(Face::CommandLine);
    for (face, hints) in [
        ("hint", command_line.clone()),
        ("rust", error.hints_for(Face::Rust)),
        ("python", error.hints_for(Face::Python)),
        ("typescript", error.hints_for(Face::TypeScript)),
    ] {
        if face == "hint" || hints != command_line {
            for hint in hints {
                writeln!(text, "  {face}: {hint}").expect("a string");
            }
        }
    }
    text
}

fn web() -> String {
    "web".to_owned()
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

fn denied() -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

fn full() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

fn broken() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
