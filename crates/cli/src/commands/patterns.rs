use std::ffi::OsString;

use msb_sdk::Text;

// The patterns that choose among changes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Patterns {
    /// Pattern of paths to leave out, such as "*.log", node_modules/ or "/work/**/tmp"; can be given several
    /// times
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<OsString>,
    /// Pattern of paths to include; all others are left out, and --exclude takes precedence; can be
    /// given several times
    #[arg(long, value_name = "PATTERN")]
    include: Vec<OsString>,
}

/// The explanation of patterns in the help of a command.
macro_rules! patterns_help {
    () => {
        "--exclude and --include take patterns in the syntax of gitignore: without a slash inside, \
         a pattern matches a name in any directory, otherwise a path from the sandbox's root. * \
         and ? do not match a slash, ** matches directories, and a pattern with a slash at the end \
         matches only directories. A pattern that matches a directory also matches everything \
         below it.\n\n"
    };
}

pub(super) use patterns_help;

impl Patterns {
    pub(super) fn exclude(&self) -> Vec<Text> {
        texts(&self.exclude)
    }

    pub(super) fn include(&self) -> Vec<Text> {
        texts(&self.include)
    }
}

fn texts(patterns: &[OsString]) -> Vec<Text> {
    let patterns = patterns.iter();
    patterns.map(|text| Text::from(text.as_os_str())).collect()
}
