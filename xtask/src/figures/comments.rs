/// The words that a doc comment does not begin with (STYLE.md).
const QUESTIONS: [&str; 7] = ["What", "How", "Where", "Whether", "Why", "Which", "Who"];
/// The most words of a comment that says hardly anything.
const SHORT_WORDS: usize = 3;

/// Numbers of doc comments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Comments {
    pub(super) comments: usize,
    /// Comments that begin with a question's word.
    pub(super) questions: usize,
    /// Comments of at most [`SHORT_WORDS`] words.
    pub(super) short: usize,
}

/// Counts the doc comments of files. Lines that follow each other are one comment.
pub(super) fn count<'a>(texts: impl Iterator<Item = &'a str>) -> Comments {
    let mut counted = Comments::default();
    for text in texts {
        let mut comment: Vec<&str> = Vec::new();
        for line in text.lines().chain([""]) {
            let line = line.trim_start();
            match line.strip_prefix("///").or(line.strip_prefix("//!")) {
                Some(words) => comment.push(words),
                None => counted.add(&std::mem::take(&mut comment)),
            }
        }
    }
    counted
}

impl Comments {
    fn add(&mut self, lines: &[&str]) {
        let mut words = lines.iter().flat_map(|line| line.split_whitespace());
        let Some(first) = words.next() else { return };
        self.comments += 1;
        let first = first.trim_end_matches(|character: char| !character.is_alphabetic());
        self.questions += usize::from(QUESTIONS.contains(&first));
        self.short += usize::from(words.count() < SHORT_WORDS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_follow_each_other_are_one_comment() {
        let text = "//! A crate.\n//! It has two lines.\n\n/// How.\nfn a() {}\n    /// Returns it.\n\
                    /// # Errors\n/// None at all.\nfn b() {}\n// Why not counted.\n";
        let expected = Comments {
            comments: 3,
            questions: 1,
            short: 1,
        };
        assert_eq!(count([text].into_iter()), expected);
    }
}
