//! Changes of staged directories, put into the directories that they were made of.

use std::io;

use msb_sdk::AppliedDirectory;
use serde::Serialize;

use super::Report;
use msb_terminal::output;

/// The changes of all staged directories, as they are printed in JSON.
#[derive(Serialize)]
struct Directories {
    directories: Vec<Directory>,
}

/// The changes of one staged directory.
#[derive(Serialize)]
struct Directory {
    target: String,
    directory: String,
    #[serde(flatten)]
    report: Report,
}

pub(super) fn print_json(applied: &[AppliedDirectory]) -> io::Result<()> {
    let directories = applied.iter().map(Directory::new).collect();
    output::print_json(&Directories { directories })
}

impl Directory {
    fn new(one: &AppliedDirectory) -> Self {
        Self {
            target: one.target.clone(),
            directory: one.directory.to_string_lossy().into_owned(),
            report: Report::new(&one.applied),
        }
    }
}
