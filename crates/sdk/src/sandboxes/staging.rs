//! Notices about the directories that a new sandbox has staged.

use msb_runtime::{Mount, Process, Source, StagingNotices};

use crate::{Notice, Text};

/// The number of paths that a notice names.
const NAMED: usize = 5;
/// The settings of git for staged repositories, by key.
const GIT: [(&str, &str); 3] = [
    ("core.checkStat", "minimal"),
    ("core.trustctime", "false"),
    ("safe.directory", "*"),
];
/// The end of the search path of a sandbox with staged directories, where msb-ask is.
const ASK_PATH: &str = ":/dev/msb";
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Returns the notices about staged directories.
pub(super) fn notices(found: &StagingNotices) -> Vec<Notice> {
    let mut notices = Vec::new();
    if !found.hidden.is_empty() {
        let message = format!(
            "the sandbox does not see {}, which may hold secrets; --rule PATH=allow shows one, and \
             --no-default-rules shows all",
            named(&found.hidden)
        );
        notices.push(Notice::new("staged-hidden", message));
    }
    if !found.special.is_empty() {
        let message = format!(
            "the sockets and devices {} are left out of the staged directory",
            named(&found.special)
        );
        notices.push(Notice::new("staged-left-out", message));
    }
    if !found.linked.is_empty() {
        let message = format!(
            "the files {} are left out of the staged directory: they are hard links of hidden or \
             denied files",
            named(&found.linked)
        );
        notices.push(Notice::new("staged-linked", message));
    }
    for rule in &found.unmatched {
        let message = format!("the rule {rule} matches no file");
        notices.push(Notice::new("staged-unmatched-rule", message));
    }
    if !found.elsewhere.is_empty() {
        let message = format!(
            "the repository of {} is elsewhere (a worktree or submodule), so git does not work there in the \
             sandbox; stage the directory that holds the repository",
            named(&found.elsewhere)
        );
        notices.push(Notice::new("staged-repository", message));
    }
    if !found.largest.is_empty() {
        let largest = found.largest.iter();
        let largest: Vec<String> = largest
            .map(|(path, bytes)| format!("{} ({} MiB)", quoted(path), bytes / MIB))
            .collect();
        let message = format!(
            "the staged directory is large: {}; --rule PATH=hide leaves one out",
            largest.join(", ")
        );
        notices.push(Notice::new("staged-large", message));
    }
    notices
}

/// Adds what commands need for staged directories to their environment: the directory of msb-ask, and git's
/// settings for staged repositories, unless it has some. Files of
/// such a repository have other inode numbers and change times than the index of the host has, and another
/// owner than the command.
pub(super) fn set_environment(process: &mut Process, mounts: &[Mount]) {
    let is_staged = |mount: &Mount| matches!(mount.source, Source::Staged(_));
    if mounts.iter().any(is_staged) {
        let paths = process
            .env
            .iter_mut()
            .filter(|setting| setting.starts_with("PATH="));
        paths.for_each(|path| path.push_str(ASK_PATH));
    }
    let has_own = process
        .env
        .iter()
        .any(|setting| setting.starts_with("GIT_CONFIG_COUNT="));
    if has_own || !mounts.iter().any(is_staged) {
        return;
    }
    process.env.push(format!("GIT_CONFIG_COUNT={}", GIT.len()));
    for (index, (key, value)) in GIT.iter().enumerate() {
        process.env.push(format!("GIT_CONFIG_KEY_{index}={key}"));
        process
            .env
            .push(format!("GIT_CONFIG_VALUE_{index}={value}"));
    }
}

/// Returns the first paths of a list, and the number of the others.
fn named(paths: &[Vec<u8>]) -> String {
    let mut names: Vec<String> = paths.iter().take(NAMED).map(|path| quoted(path)).collect();
    if paths.len() > NAMED {
        names.push(format!("{} more", paths.len() - NAMED));
    }
    names.join(", ")
}

fn quoted(path: &[u8]) -> String {
    if path.is_empty() {
        ".".to_owned()
    } else {
        Text::from(path).quoted()
    }
}
