//! Patterns that choose among the paths of changes.

mod pattern;

pub use pattern::InvalidPattern;
use pattern::Pattern;

/// Chooses paths by patterns in the manner of gitignore.
///
/// A pattern without a slash, other than one at its end, matches a name in any directory; any other
/// pattern matches a path from the root. `*` and `?` do not match a slash, `**` as a whole component
/// matches any number of directories, `[a-z]` and `[!a-z]` are classes, a backslash takes the next
/// character literally, and a slash at the end matches directories only. What is below a matched
/// directory is matched, too.
///
/// A path is kept if no exclude matches it and, provided that there are includes, one of them does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathFilter {
    exclude: Vec<Pattern>,
    include: Vec<Pattern>,
}

impl PathFilter {
    /// Parses patterns.
    ///
    /// # Errors
    /// If a pattern is empty, has a component `..`, or ends within an escape or a class.
    pub fn new<T: AsRef<[u8]>>(exclude: &[T], include: &[T]) -> Result<Self, InvalidPattern> {
        let parse = |patterns: &[T]| -> Result<Vec<Pattern>, InvalidPattern> {
            let patterns = patterns.iter();
            patterns.map(|text| Pattern::parse(text.as_ref())).collect()
        };
        Ok(Self {
            exclude: parse(exclude)?,
            include: parse(include)?,
        })
    }

    /// Returns true if every path is kept.
    #[must_use]
    pub const fn keeps_all(&self) -> bool {
        self.exclude.is_empty() && self.include.is_empty()
    }

    /// Returns true if a path is kept. Everything above it is a directory.
    #[must_use]
    pub fn keeps(&self, path: &[u8], is_directory: bool) -> bool {
        if self.keeps_all() {
            return true;
        }
        let names: Vec<&[u8]> = names(path).collect();
        let is_matched = |patterns: &[Pattern]| {
            let matches = |pattern: &Pattern| pattern.matches_within(&names, is_directory);
            patterns.iter().any(matches)
        };
        !is_matched(&self.exclude) && (self.include.is_empty() || is_matched(&self.include))
    }

    /// Returns true if an include that matches the path satisfies `is_meant`, by the pattern's literal
    /// components.
    #[must_use]
    pub fn includes_by(
        &self,
        path: &[u8],
        is_directory: bool,
        is_meant: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let names: Vec<&[u8]> = names(path).collect();
        let mut include = self.include.iter();
        include.any(|pattern| {
            pattern.matches_within(&names, is_directory)
                && pattern.literals().any(|name| is_meant(&name))
        })
    }
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(exclude: &[&str], include: &[&str]) -> PathFilter {
        PathFilter::new(exclude, include).expect("patterns")
    }

    #[test]
    fn a_pattern_matches_as_in_gitignore() {
        for (pattern, path, is_directory, is_matched) in [
            ("*.log", "/var/a.log", false, true),
            ("*.log", "/var/a.log/deep/x", false, true),
            ("*.log", "/a.logs", false, false),
            ("node_modules", "/work/node_modules/a/b", false, true),
            ("build/", "/work/build", true, true),
            ("build/", "/work/build", false, false),
            ("build/", "/work/build/x", false, true),
            ("/build", "/work/build", true, false),
            ("/work/build", "/work/build/x", false, true),
            ("work/build", "/work/build", true, true),
            ("work/build", "/srv/work/build", true, false),
            ("**/cache/*.o", "/a/b/cache/x.o", false, true),
            ("**/cache/*.o", "/cache/x.o", false, true),
            ("/a/**/z", "/a/z", false, true),
            ("/a/**/z", "/a/b/c/z", false, true),
            ("/a/**", "/a", true, false),
            ("/a/**", "/a/b/c", false, true),
            ("/a/*", "/a/b", false, true),
            ("/*", "/a/b", false, true),
            ("?[a-c].[!x]", "/zb.y", false, true),
            ("?[a-c].[!x]", "/zb.x", false, false),
            ("[]a]", "/]", false, true),
            (r"\*", "/*", false, true),
            (r"\*", "/a", false, false),
            (
                "*a*a*a*a*b",
                "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                false,
                false,
            ),
        ] {
            let excluded = !filter(&[pattern], &[]).keeps(path.as_bytes(), is_directory);
            assert_eq!(excluded, is_matched, "{pattern} {path}");
        }
    }

    #[test]
    fn an_exclude_wins_over_an_include() {
        let filter = filter(&["test_*"], &["*.py", "/docs"]);
        for (path, is_kept) in [
            ("/a/x.py", true),
            ("/a/test_x.py", false),
            ("/docs/a.txt", true),
            ("/docs/test_a", false),
            ("/a.txt", false),
        ] {
            assert_eq!(filter.keeps(path.as_bytes(), false), is_kept, "{path}");
        }
        assert!(PathFilter::default().keeps(b"/x", false));
    }

    #[test]
    fn an_include_names_what_it_spells_out() {
        let filter = filter(&[], &["*", ".GIT/config"]);
        let is_git = |name: &[u8]| name.eq_ignore_ascii_case(b".git");
        assert!(filter.includes_by(b"/.GIT/config", false, is_git));
        assert!(!filter.includes_by(b"/.GIT/index", false, is_git));
    }

    #[test]
    fn a_pattern_that_is_none_is_refused_by_name() {
        for pattern in ["", "/", "a/../b", "[a", r"a\"] {
            let error = PathFilter::new(&[pattern], &[]).expect_err(pattern);
            assert!(
                error
                    .to_string()
                    .contains(&format!("'{}'", pattern.escape_default())),
                "{error}"
            );
        }
    }
}
