//! The words of an instruction, as docker's builder splits and expands them.

use std::iter::Peekable;
use std::str::Chars;

/// A word of an instruction. Its text is expanded when the environment is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The value of a variable; the text that replaces it if it is empty, and the text that
    /// replaces it if it is not.
    Variable {
        name: String,
        if_empty: Option<String>,
        if_set: Option<String>,
    },
}

impl Word {
    /// Returns the word with the values of its variables.
    pub(super) fn expanded(&self, value: impl Fn(&str) -> Option<String>) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable {
                name,
                if_empty,
                if_set,
            } => {
                let value = value(name).filter(|value| !value.is_empty());
                match (value, if_empty, if_set) {
                    (Some(_), _, Some(text)) | (None, Some(text), _) => text.clone(),
                    (Some(value), ..) => value,
                    (None, None, _) => String::new(),
                }
            }
        });
        parts.collect()
    }

    /// Returns true if the word has neither text nor a variable.
    pub(super) fn is_empty(&self) -> bool {
        let is_empty = |part: &Part| matches!(part, Part::Text(text) if text.is_empty());
        self.parts.iter().all(is_empty)
    }

    /// Splits the word at its first `=` outside of a variable. `None` if it has none.
    pub(super) fn pair(&self) -> Option<(Self, Self)> {
        let is_separator = |part: &Part| matches!(part, Part::Text(text) if text.contains('='));
        let index = self.parts.iter().position(is_separator)?;
        let Some(Part::Text(text)) = self.parts.get(index) else {
            return None;
        };
        let (name, value) = text.split_once('=')?;
        let (before, after) = self.parts.split_at(index);
        let word = |parts: &[&[Part]]| Self {
            parts: parts.concat(),
        };
        let text = |text: &str| [Part::Text(text.to_owned())];
        Some((
            word(&[before, &text(name)]),
            word(&[&text(value), after.get(1..).unwrap_or_default()]),
        ))
    }
}

/// Splits a line into words. Quotes and backslashes keep spaces together, and single quotes keep
/// variables as they are.
pub(super) fn words(line: &str) -> Result<Vec<Word>, String> {
    let mut scanner = Scanner {
        rest: line.chars().peekable(),
        parts: Vec::new(),
        text: String::new(),
    };
    let (mut words, mut is_word) = (Vec::new(), false);
    while let Some(character) = scanner.rest.next() {
        if character.is_whitespace() {
            words.extend(is_word.then(|| scanner.word()));
            is_word = false;
            continue;
        }
        is_word = true;
        scanner.scan(character)?;
    }
    words.extend(is_word.then(|| scanner.word()));
    Ok(words)
}

/// Returns a whole line as one word: spaces separate nothing.
pub(super) fn line(line: &str) -> Result<Word, String> {
    let mut scanner = Scanner {
        rest: line.chars().peekable(),
        parts: Vec::new(),
        text: String::new(),
    };
    while let Some(character) = scanner.rest.next() {
        scanner.scan(character)?;
    }
    Ok(scanner.word())
}

struct Scanner<'a> {
    rest: Peekable<Chars<'a>>,
    parts: Vec<Part>,
    text: String,
}

impl Scanner<'_> {
    fn word(&mut self) -> Word {
        self.end_text();
        Word {
            parts: std::mem::take(&mut self.parts),
        }
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.text)));
        }
    }

    fn scan(&mut self, character: char) -> Result<(), String> {
        match character {
            '\\' => self.text.extend(self.rest.next()),
            '\'' => loop {
                match self.rest.next() {
                    Some('\'') => break,
                    Some(character) => self.text.push(character),
                    None => return Err("a single quote is not closed".to_owned()),
                }
            },
            '"' => self.quoted()?,
            '$' => self.variable()?,
            character => self.text.push(character),
        }
        Ok(())
    }

    fn quoted(&mut self) -> Result<(), String> {
        loop {
            match self.rest.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.rest.next() {
                    Some(character @ ('"' | '\\' | '$')) => self.text.push(character),
                    Some(character) => self.text.extend(['\\', character]),
                    None => {}
                },
                Some('$') => self.variable()?,
                Some(character) => self.text.push(character),
                None => return Err("a double quote is not closed".to_owned()),
            }
        }
    }

    fn variable(&mut self) -> Result<(), String> {
        let is_braced = self.rest.next_if_eq(&'{').is_some();
        let mut name = String::new();
        let is_name = |character: &char| character.is_ascii_alphanumeric() || *character == '_';
        while let Some(character) = self.rest.next_if(is_name) {
            name.push(character);
        }
        if name.is_empty() && !is_braced {
            self.text.push('$');
            return Ok(());
        }
        let (mut if_empty, mut if_set) = (None, None);
        if is_braced {
            match (self.rest.next(), &name[..]) {
                (_, "") => return Err("a variable has no name".to_owned()),
                (Some('}'), _) => {}
                (Some(':'), _) => match self.rest.next() {
                    Some('-') => if_empty = Some(self.braced()?),
                    Some('+') => if_set = Some(self.braced()?),
                    _ => return Err(format!("write ${{{name}:-TEXT}} or ${{{name}:+TEXT}}")),
                },
                _ => return Err(format!("the variable {name} is not closed with '}}'")),
            }
        }
        // Without a value, `${NAME:+TEXT}` is empty.
        self.end_text();
        self.parts.push(Part::Variable {
            name,
            if_empty,
            if_set,
        });
        Ok(())
    }

    /// Returns the text up to the brace that closes a variable.
    fn braced(&mut self) -> Result<String, String> {
        let mut text = String::new();
        loop {
            match self.rest.next() {
                Some('}') => return Ok(text),
                Some(character) => text.push(character),
                None => return Err("a variable is not closed with '}'".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(line: &str) -> Vec<String> {
        let value = |name: &str| (name == "A").then(|| "1".to_owned());
        let words = words(line).expect("words");
        words.iter().map(|word| word.expanded(value)).collect()
    }

    #[test]
    fn words_are_split_quoted_and_expanded() {
        for (line, expected) in [
            (" a  b ", &["a", "b"][..]),
            ("'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]),
            ("'' \"\"", &["", ""]),
            (
                "$A ${A}x $B. '$A' \\$A \"$A\\\"\"",
                &["1", "1x", ".", "$A", "$A", "1\""],
            ),
            ("${B:-x y} ${A:-x}", &["x y", "1"]),
            ("${B:+x}- ${A:+x}", &["-", "x"]),
            ("$ $$", &["$", "$$"]),
        ] {
            assert_eq!(expanded(line), expected, "{line}");
        }
        for line in ["'a", "\"a", "${A", "${}", "${A:?x}", "${A-x}"] {
            assert!(words(line).is_err(), "{line}");
        }
    }

    #[test]
    fn pairs_are_split_at_the_first_sign() {
        let word = &words("A='b=c'$A").expect("words")[0];
        let (name, value) = word.pair().expect("a pair");
        let value = value.expanded(|_| Some("x".to_owned()));
        assert_eq!(
            (name.expanded(|_| None), value),
            ("A".into(), "b=cx".into())
        );
        assert_eq!(words("A").expect("words")[0].pair(), None);
    }
}
