//! The limit on the number of names.

use std::fs;
use std::path::{Path, PathBuf};

use path_rules::Rules;

use super::walk;
use crate::{Source, StageError};

const NAMES_MAX: usize = 1_000;

/// Makes a directory with so many empty files.
fn directory(parent: &Path, name: &str, files: usize) -> PathBuf {
    let directory = parent.join(name);
    fs::create_dir_all(&directory).expect("made");
    for number in 0..files {
        fs::write(directory.join(number.to_string()), "").expect("written");
    }
    directory
}

/// Walks directories with the same rules. Returns the number of files in their image, or the directory that has
/// too many.
fn walked(directories: &[&Path], given: &[&str]) -> Result<usize, PathBuf> {
    let mut rules = Rules::new();
    for rule in given {
        rules.push(rule.parse().expect("a rule")).expect("room");
    }
    let sources = directories.iter().map(|directory| Source {
        directory,
        rules: &rules,
    });
    match walk(&sources.collect::<Vec<_>>(), NAMES_MAX) {
        Ok(found) => Ok(found.tree.walk().count()),
        Err(StageError::TooMany { directory, limit }) => {
            assert_eq!(limit, NAMES_MAX);
            Err(directory)
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn the_names_of_all_sources_are_counted() {
    let root = tempfile::tempdir().expect("a directory");
    let most = directory(root.path(), "most", NAMES_MAX);
    // The root and the source are directories of the image, too.
    assert_eq!(walked(&[&most], &[]), Ok(NAMES_MAX + 2));
    let one = directory(root.path(), "one", 1);
    assert_eq!(walked(&[&most, &one], &[]), Err(one.clone()));
    assert_eq!(walked(&[&one, &most], &[]), Err(most.clone()));
    fs::write(most.join("more"), "").expect("written");
    assert_eq!(walked(&[&most], &[]), Err(most));
}

#[test]
fn names_of_every_kind_are_counted() {
    let root = tempfile::tempdir().expect("a directory");
    let project = directory(root.path(), "project", NAMES_MAX / 2);
    let deep = directory(&project, "deep", 0);
    for number in 0..NAMES_MAX / 2 {
        let name = format!("{number}.log");
        fs::hard_link(project.join("0"), deep.join(name)).expect("linked");
    }
    // Other names of a file, denied files and hidden ones are names of their directory all the same.
    let none: [&str; 0] = [];
    for given in [&none[..], &["*.log=deny"], &["*.log=hide"]] {
        assert_eq!(
            walked(&[&project], given),
            Err(project.clone()),
            "{given:?}"
        );
    }
    fs::remove_file(deep.join("0.log")).expect("removed");
    assert_eq!(walked(&[&project], &[]), Ok(NAMES_MAX + 2));
}

#[test]
fn a_hidden_directory_is_counted_if_a_file_in_it_may_be_shown() {
    let root = tempfile::tempdir().expect("a directory");
    let project = directory(root.path(), "project", 1);
    let large = directory(&project, "large", NAMES_MAX + 1);
    for state in ["hide", "deny"] {
        let rule = format!("large={state}");
        assert!(walked(&[&project], &[&rule]).is_ok(), "{rule}");
        // It is not left out without a word.
        let shown = [&*rule, "large/7=allow"];
        assert_eq!(walked(&[&project], &shown), Err(project.clone()), "{rule}");
    }
    fs::remove_dir_all(&large).expect("removed");
    directory(&project, "large", 10);
    let files = walked(&[&project], &["large=hide", "large/7=allow"]);
    // Those are the root, the source, its file, the directory and the file that is shown.
    assert_eq!(files, Ok(5));
}
