//! Invocations and their results, as docker's documentation describes them.
//!
//! "run" is the reference of `docker container run`, "running" the page "Running containers",
//! "Dockerfile" the Dockerfile reference.

mod command;
mod mounts;
mod sandbox;

use super::row::Row;

/// Returns all rows, grouped by what they are about.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    let groups = [command::ROWS, mounts::ROWS, sandbox::ROWS];
    groups.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_invocations_have_names_of_their_own() {
        let mut names: Vec<&str> = rows().map(|row| row.case).collect();
        assert!(names.len() >= 100, "{} rows", names.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows().count());
    }
}
