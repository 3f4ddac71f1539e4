use msb_runtime::{Mount, Process, Source};

/// The settings of git for staged repositories, by key.
const GIT: [(&str, &str); 3] = [
    ("core.checkStat", "minimal"),
    ("core.trustctime", "false"),
    ("safe.directory", "*"),
];
/// The end of the search path of a sandbox with staged directories, where msb-ask is.
const ASK_PATH: &str = ":/dev/msb";

/// Adds what commands need for staged directories to their environment: the directory of msb-ask, and git's
/// settings for staged repositories, unless it has some. Files of
/// such a repository have other inode numbers and change times than the index of the host has, and another
/// owner than the command.
pub fn set_staged_environment(process: &mut Process, mounts: &[Mount]) {
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
