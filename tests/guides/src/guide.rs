use std::iter::Peekable;
use std::str::Lines;

/// A parsed guide, ready to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Guide {
    /// Names that the test image has while the guide runs.
    pub images: Vec<String>,
    /// Packages of the npm registry, with their versions, that are fetched before the guide runs.
    pub packages: Vec<String>,
    /// The steps of the guide, in the order of the text.
    pub steps: Vec<Step>,
}

/// A part of a guide that is run.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A command that the reader types.
    Command {
        /// Line of the guide, from 1.
        line: usize,
        /// The text behind the prompt; it may have several lines.
        command: String,
        /// The lines that the guide shows as output; `None` if it shows none.
        expected: Option<Vec<String>>,
    },
    /// Commands that the reader does not see.
    Setup {
        /// Line of the guide, from 1.
        line: usize,
        /// The commands, as a shell script.
        script: String,
    },
    /// A file that the guide shows in full.
    File {
        /// Path of the file, relative to the directory that the guide runs in.
        name: String,
        /// Content of the file.
        content: String,
    },
}

/// An error in a guide's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct ParseError {
    /// Line of the guide, from 1.
    pub line: usize,
    /// The rule that is broken.
    pub fault: Fault,
}

/// A rule about the form of a guide that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A fenced block or a comment that reaches the end of the file.
    #[error("the block has no end")]
    Open,
    /// A console block that does not begin with a prompt.
    #[error("the console block begins with output, not with '$ '")]
    NoPrompt,
    /// A `file:` comment without a block after it.
    #[error("the block of the file must follow its comment")]
    NoFile,
}

type NumberedLines<'a> = Peekable<std::iter::Enumerate<Lines<'a>>>;

impl Guide {
    /// Reads a guide from its Markdown.
    ///
    /// # Errors
    /// If a block or a comment has no end, a console block does not begin with a prompt, or the
    /// block of a file is missing.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut guide = Self::default();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            let line_number = index + 1;
            if let Some(names) = comment(line, "images:") {
                guide.images = names.split_whitespace().map(str::to_owned).collect();
            } else if let Some(names) = comment(line, "packages:") {
                guide.packages = names.split_whitespace().map(str::to_owned).collect();
            } else if let Some(name) = comment(line, "file:") {
                let content = file(&mut lines, line_number)?;
                guide.steps.push(Step::File {
                    name: name.to_owned(),
                    content,
                });
            } else if line.trim_end() == "<!-- setup" {
                let script = until(&mut lines, "-->", line_number)?;
                guide.steps.push(Step::Setup {
                    line: line_number,
                    script,
                });
            } else if line.trim_end() == "```console" {
                let block = until(&mut lines, "```", line_number)?;
                console(&block, line_number + 1, &mut guide.steps)?;
            } else if line.starts_with("```") {
                until(&mut lines, "```", line_number)?;
            }
        }
        Ok(guide)
    }
}

/// Returns the text of a one-line comment with this keyword; `None` for another line.
fn comment<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let text = line.trim_end().strip_prefix("<!-- ")?.strip_suffix("-->")?;
    text.strip_prefix(keyword).map(str::trim)
}

/// Returns the lines before the line `end`.
fn until(lines: &mut NumberedLines<'_>, end: &str, start: usize) -> Result<String, ParseError> {
    let mut text = String::new();
    for (_, line) in lines {
        if line.trim_end() == end {
            return Ok(text);
        }
        text.push_str(line);
        text.push('\n');
    }
    Err(ParseError {
        line: start,
        fault: Fault::Open,
    })
}

/// Returns the content of the fenced block that follows, perhaps after an empty line.
fn file(lines: &mut NumberedLines<'_>, start: usize) -> Result<String, ParseError> {
    while lines.next_if(|(_, line)| line.trim().is_empty()).is_some() {}
    match lines.next() {
        Some((_, fence)) if fence.starts_with("```") => until(lines, "```", start),
        _ => Err(ParseError {
            line: start,
            fault: Fault::NoFile,
        }),
    }
}

/// Adds the commands of a console block that begins at line `start`.
fn console(block: &str, start: usize, steps: &mut Vec<Step>) -> Result<(), ParseError> {
    for (index, text) in block.lines().enumerate() {
        let line = start + index;
        if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step::Command {
                line,
                command: command.to_owned(),
                expected: None,
            });
            continue;
        }
        let last = (index > 0).then(|| steps.last_mut()).flatten();
        let Some(Step::Command {
            command, expected, ..
        }) = last
        else {
            return Err(ParseError {
                line,
                fault: Fault::NoPrompt,
            });
        };
        match (text.strip_prefix("> "), &expected) {
            (Some(more), None) => {
                command.push('\n');
                command.push_str(more);
            }
            _ => expected.get_or_insert_default().push(text.to_owned()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: usize, command: &str, expected: Option<&[&str]>) -> Step {
        Step::Command {
            line,
            command: command.to_owned(),
            expected: expected.map(|lines| lines.iter().map(|&line| line.to_owned()).collect()),
        }
    }

    #[test]
    fn a_console_block_is_commands_with_their_output() {
        let guide = Guide::parse(
            "# Title\n\n```console\n$ one \\\n> two\nout\n> quoted\n$ three\n```\ntext\n",
        )
        .expect("a guide");
        assert_eq!(
            guide.steps,
            [
                command(4, "one \\\ntwo", Some(&["out", "> quoted"])),
                command(8, "three", None),
            ]
        );
    }

    #[test]
    fn comments_set_up_and_name_images_packages_and_files() {
        let text = "<!-- images: debian python:3-slim -->\n<!-- setup\nmkdir a\n-->\n\
            <!-- packages: npm@11.21.2 @openai/codex@0.171.0 -->\n<!-- file: run.sh -->\n\n```sh\nset -eu\n```\n```text\n$ not run\n```\n";
        let guide = Guide::parse(text).expect("a guide");
        assert_eq!(guide.images, ["debian", "python:3-slim"]);
        assert_eq!(guide.packages, ["npm@11.21.2", "@openai/codex@0.171.0"]);
        let steps = [
            Step::Setup {
                line: 2,
                script: "mkdir a\n".to_owned(),
            },
            Step::File {
                name: "run.sh".to_owned(),
                content: "set -eu\n".to_owned(),
            },
        ];
        assert_eq!(guide.steps, steps);
    }

    #[test]
    fn broken_blocks_are_refused_with_their_line() {
        let cases = [
            ("x\n```console\n$ one\n", 2, Fault::Open),
            ("<!-- setup\none\n", 1, Fault::Open),
            ("```console\nout\n```\n", 2, Fault::NoPrompt),
            (
                "```console\n$ a\n```\n```console\nout\n```\n",
                5,
                Fault::NoPrompt,
            ),
            ("<!-- file: a -->\ntext\n", 1, Fault::NoFile),
        ];
        for (text, line, fault) in cases {
            assert_eq!(
                Guide::parse(text),
                Err(ParseError { line, fault }),
                "{text}"
            );
        }
    }
}
