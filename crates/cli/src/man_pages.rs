//! The manual pages: one for msb, and one for each command that is listed in its help.

use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use durable_files::publish_bytes;

/// The section of the manual for programs that users run.
const SECTION: &str = "1";
/// The title of the manual, at the top of each page.
const MANUAL: &str = "msb";

/// Writes every page of a grammar into a directory, which exists, and returns their number.
///
/// # Errors
/// If a page cannot be written.
pub(crate) fn write(grammar: Command, directory: &Path) -> io::Result<usize> {
    let mut command = grammar.disable_help_subcommand(true);
    command.build();
    write_tree(&command, directory)
}

fn write_tree(command: &Command, directory: &Path) -> io::Result<usize> {
    let page = page(command)?;
    let name = format!("{}.{SECTION}", title(command));
    publish_bytes(&directory.join(name), &page)?;
    let mut listed = command.get_subcommands().filter(|each| !each.is_hide_set());
    listed.try_fold(1, |pages, each| Ok(pages + write_tree(each, directory)?))
}

fn title(command: &Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

/// Returns the page of a built command, in the language of roff.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .section(SECTION)
        .source(concat!("msb ", env!("CARGO_PKG_VERSION")))
        .manual(MANUAL);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|each| !each.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|each| !each.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_help() {
        notes(&text.to_string()).to_writer(&mut page)?;
    }
    Ok(page)
}

/// Returns the section of the text behind the options. Indented lines are lines to paste, so they
/// keep their breaks; the others are filled.
fn notes(text: &str) -> Roff {
    let mut notes = Roff::default();
    notes.control("SH", ["NOTES AND EXAMPLES"]);
    let mut is_literal = false;
    for line in text.lines() {
        let is_indented = line.starts_with(' ');
        if is_indented != is_literal {
            notes.control(if is_indented { "nf" } else { "fi" }, []);
            is_literal = is_indented;
        }
        if line.is_empty() {
            notes.control("PP", []);
        } else {
            notes.text([roman(line)]);
        }
    }
    if is_literal {
        notes.control("fi", []);
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_command_has_a_page_with_its_examples() {
        let directory = tempfile::tempdir().expect("a directory");
        let pages = write(crate::args::ordered(), directory.path()).expect("written");
        let names: Vec<String> = fs_names(directory.path());
        assert_eq!(names.len(), pages);
        for name in ["msb.1", "msb-run.1", "msb-image-ls.1"] {
            assert!(names.iter().any(|each| each == name), "{name} in {names:?}");
        }
        assert!(!names.iter().any(|each| each.contains("__vmm")));
        let run = std::fs::read_to_string(directory.path().join("msb-run.1")).expect("a page");
        assert!(
            run.starts_with(".ie") || run.contains(".TH msb-run 1"),
            "{run}"
        );
        assert!(
            run.contains("\n.nf\n") && run.contains("Examples:"),
            "{run}"
        );
    }

    fn fs_names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).expect("readable");
        entries
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }
}
