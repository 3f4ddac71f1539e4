use diagnosis::{Diagnose, Diagnosis, ErrorKind};

use crate::rules::{RULES_MAX, TooManyRules};
use crate::{InvalidRule, Rule, Rules};

/// The longest file of rules, in bytes: 1,000 rules of 1,048 bytes.
pub const RULES_FILE_MAX_BYTES: usize = 1 << 20;

/// Rules cannot be read from a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesFileError {
    /// The file is longer than [`RULES_FILE_MAX_BYTES`].
    #[error("the file has more than {RULES_FILE_MAX_BYTES} bytes, which is the limit")]
    TooLarge,
    /// The directory has more rules than [`RULES_MAX`].
    #[error("line {line} is one rule too many: the limit is {RULES_MAX}")]
    TooMany {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A line is not a rule.
    #[error("line {line}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// The reason.
        #[source]
        source: InvalidRule,
    },
}

impl Diagnose for RulesFileError {
    fn diagnosis(&self) -> Diagnosis {
        let diagnosis = Diagnosis::new(ErrorKind::InvalidArgument);
        match self {
            Self::TooLarge => diagnosis.detail("limit", RULES_FILE_MAX_BYTES),
            Self::TooMany { line } => diagnosis
                .detail("line", *line)
                .caused_by(TooManyRules.diagnosis()),
            Self::Line { line, source } => diagnosis
                .detail("line", *line)
                .caused_by(source.diagnosis()),
        }
    }
}

impl Rules {
    /// Adds the given rules of a file's content. Each line has one, `PATH=STATE`; an empty line, and one
    /// that begins with `#`, has none. Spaces and tabs around a line and around its last `=` are left
    /// out, so a name that ends with a space is written with `?`.
    ///
    /// # Errors
    /// If a line is not a [`Rule`], or a limit is exceeded. The rules before that line were added.
    ///
    /// # Examples
    ///
    /// ```
    /// use path_rules::{Rules, State};
    ///
    /// let mut rules = Rules::new();
    /// rules.read_file(b"# Not for agents.\nsecrets = hide\n\n/docs=read-only\n")?;
    /// assert_eq!(rules.decide(b"a/secrets/b").state, State::Hide);
    /// # Ok::<(), path_rules::RulesFileError>(())
    /// ```
    pub fn read_file(&mut self, content: &[u8]) -> Result<(), RulesFileError> {
        if content.len() > RULES_FILE_MAX_BYTES {
            return Err(RulesFileError::TooLarge);
        }
        // Editors of Windows begin a text with this mark.
        let text = content.strip_prefix("\u{feff}".as_bytes());
        let lines = text.unwrap_or(content).split(|&byte| byte == b'\n');
        for (line, text) in (1..).zip(lines) {
            let text = text.trim_ascii();
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            let rule = parse(text).map_err(|source| RulesFileError::Line { line, source })?;
            self.push(rule)
                .map_err(|TooManyRules| RulesFileError::TooMany { line })?;
        }
        Ok(())
    }
}

/// Parses a line without spaces around it.
fn parse(line: &[u8]) -> Result<Rule, InvalidRule> {
    match line.iter().rposition(|&byte| byte == b'=') {
        None => Rule::parse(line),
        Some(separator) => {
            let (path, state) = line.split_at(separator);
            let state = state.strip_prefix(b"=").unwrap_or(state);
            Rule::from_parts(path.trim_ascii_end(), state.trim_ascii_start())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8]) -> Result<Vec<String>, RulesFileError> {
        let mut rules = Rules::new();
        rules.read_file(content)?;
        Ok(rules.given().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_line_is_a_rule_a_comment_or_empty() {
        let content =
            b"\xef\xbb\xbfa=hide\r\n# b=hide\n\n  \t c d = read-only \n/#e=deny\ncaf\xe9=ask";
        let expected = ["a=hide", "c d=read-only", "/#e=deny", r"caf\xe9=ask"];
        assert_eq!(read(content).expect("read"), expected);
        assert_eq!(read(b""), Ok(Vec::new()));
    }

    #[test]
    fn an_error_names_the_line_and_the_limit() {
        for (content, line) in [
            (&b"a=hide\nb\n"[..], 2_usize),
            (b"\n\n../a=hide", 3),
            (b"a=b", 1),
        ] {
            let error = read(content).expect_err("a mistake");
            assert_eq!(error.to_string(), format!("line {line}"));
            let details = error.diagnosis();
            assert_eq!(details.details()[0], ("line", line.into()));
            assert_eq!(details.kind(), ErrorKind::InvalidArgument);
        }
        let many = "a=hide\n".repeat(RULES_MAX);
        assert_eq!(read(many.as_bytes()).expect("read").len(), RULES_MAX);
        let error = read(format!("{many}\nb=hide").as_bytes()).expect_err("one more");
        assert_eq!(
            error.to_string(),
            "line 1002 is one rule too many: the limit is 1000"
        );
        let large = vec![b'#'; RULES_FILE_MAX_BYTES + 1];
        assert_eq!(read(&large), Err(RulesFileError::TooLarge));
    }
}
