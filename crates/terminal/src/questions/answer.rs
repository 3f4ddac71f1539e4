use std::str::FromStr;

use msb_sdk::QuestionAnswer;

use super::BY_ASKS;

/// The answer to the question with a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The number of the question.
    pub id: u64,
    /// The answer that is given to it.
    pub answer: QuestionAnswer,
}

impl FromStr for Answer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            format!(
                "'{text}' is not an answer: write ID=allow or ID=deny, with ,always to keep a rule"
            )
        };
        let (id, words) = text.split_once('=').ok_or_else(invalid)?;
        let (word, always) = match words.split_once(',') {
            Some((word, "always")) => (word, true),
            Some((word, "once")) => (word, false),
            Some(_) => return Err(invalid()),
            None => (words, false),
        };
        let answer = match word {
            "allow" => QuestionAnswer::allow(),
            "deny" => QuestionAnswer::deny(),
            _ => return Err(invalid()),
        };
        Ok(Self {
            id: id.parse().map_err(|_| invalid())?,
            answer: if always { answer.always() } else { answer }.by(BY_ASKS),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_number_and_a_word() {
        let read = |text: &str| text.parse::<Answer>();
        let expected = QuestionAnswer::allow().always().by(BY_ASKS);
        assert_eq!(
            read("3=allow,always").map(|read| (read.id, read.answer)),
            Ok((3, expected))
        );
        assert_eq!(read("4=deny").map(|read| read.answer.allow), Ok(false));
        for text in ["", "3", "3=", "=allow", "x=allow", "3=allow,never", "3=yes"] {
            let error = read(text).expect_err(text);
            assert!(error.contains("ID=allow"), "{error}");
        }
    }
}
