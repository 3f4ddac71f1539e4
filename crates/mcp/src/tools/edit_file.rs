use memchr::memmem;
use msb_sdk::{Bytes, ReadOptions, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool};
use crate::call::Call;
use crate::failure::{Failure, Stop};
use crate::session::Session;

/// The most bytes of a file that is edited, before and after.
const SIZE_MAX: usize = 8 << 20;

/// Replaces a text in a file.
pub(super) struct EditFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Path in the sandbox. A relative one begins at the sandbox's working directory.
    path: String,
    /// The text to replace, exactly as the file has it, with its spaces and ends of lines.
    old_text: String,
    /// The text in its place.
    new_text: String,
    /// True to replace it wherever it is; otherwise it has to be in the file once.
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Number of replacements.
    replacements: u64,
    /// Size of the file in bytes.
    bytes: u64,
}

impl SandboxTool for EditFile {
    const NAME: &'static str = "sandbox_edit_file";
    const TITLE: &'static str = "Edit a file";
    const DESCRIPTION: &'static str = "Replaces one text in a file of a sandbox by another. Nothing is changed if the \
        file does not have the text, or has it several times.";
    const EFFECT: Effect = Effect::DESTROYS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let files = sandbox.files();
        let options = ReadOptions::default().max_size(Size::new(SIZE_MAX as u64));
        let path = arguments.path.as_str();
        let content = call.awaited(files.read_with(path, options)).await?;
        let (content, replacements) = edited(&content, &arguments)?;
        let content = Bytes::from(content);
        let bytes = content.len() as u64;
        let writing = || files.write(path, content.clone());
        session.running(call, &sandbox, writing).await?;
        Ok(Output {
            replacements,
            bytes,
        })
    }
}

/// Returns a content with its replacements, and their number.
fn edited(content: &[u8], arguments: &Arguments) -> Result<(Vec<u8>, u64), Failure> {
    let (old, new) = (arguments.old_text.as_bytes(), arguments.new_text.as_bytes());
    if old.is_empty() {
        return Err(Failure::invalid("old_text is empty")
            .with_hint("write a new file with sandbox_write_file"));
    }
    let found: Vec<usize> = memmem::find_iter(content, old).collect();
    match found.len() {
        0 => {
            return Err(Failure::invalid("the file does not have old_text")
                .with_hint("read the file, and give the text exactly as it is there"));
        }
        1 => {}
        count if !arguments.all => {
            let message = format!("the file has old_text {count} times");
            return Err(Failure::invalid(message)
                .with_hint("give more of the text around it, or set all to true"));
        }
        _ => {}
    }
    let kept = content
        .len()
        .saturating_sub(found.len().saturating_mul(old.len()));
    let length = kept.saturating_add(found.len().saturating_mul(new.len()));
    if length > SIZE_MAX {
        let message = format!("the file would have {length} bytes, the limit is {SIZE_MAX}");
        return Err(Failure::invalid(message));
    }
    let mut edited = Vec::with_capacity(length);
    let mut rest = content;
    let mut position = 0;
    for start in &found {
        let (before, from) = rest.split_at(start.saturating_sub(position).min(rest.len()));
        edited.extend_from_slice(before);
        edited.extend_from_slice(new);
        rest = from.split_at(old.len().min(from.len())).1;
        position = start.saturating_add(old.len());
    }
    edited.extend_from_slice(rest);
    Ok((edited, found.len() as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arguments(old: &str, new: &str, all: bool) -> Arguments {
        Arguments {
            name: None,
            path: "/file".to_owned(),
            old_text: old.to_owned(),
            new_text: new.to_owned(),
            all,
        }
    }

    #[test]
    fn one_text_is_replaced() {
        let edited = |content: &[u8], old, new, all| {
            let (content, count) = edited(content, &arguments(old, new, all))?;
            Ok::<_, Failure>((String::from_utf8_lossy(&content).into_owned(), count))
        };
        let good = |text: &str, count| Ok((text.to_owned(), count));
        assert_eq!(
            edited(b"let a = 1;", "a", "total", false),
            good("let total = 1;", 1)
        );
        assert_eq!(edited(b"aXbXc", "X", "", true), good("abc", 2));
        assert_eq!(edited(b"aaa", "aa", "b", true), good("ba", 1));
        assert_eq!(edited(b"\xffa", "a", "b", false), good("\u{fffd}b", 1));
        assert!(edited(b"aXbXc", "X", "", false).is_err());
        assert!(edited(b"abc", "x", "y", true).is_err());
        assert!(edited(b"abc", "", "y", true).is_err());
    }

    #[test]
    fn a_file_does_not_grow_beyond_the_limit() {
        let content = vec![b'a'; 1 << 20];
        let long = "b".repeat(9);
        assert!(edited(&content, &arguments("a", &long, true)).is_err());
        let eight = edited(&content, &arguments("a", "bbbbbbbb", true));
        assert_eq!(eight.map(|(content, _)| content.len()), Ok(SIZE_MAX));
    }

    proptest! {
        #[test]
        fn all_replacements_are_those_of_the_standard_library(
            content in "[ab\n]{0,60}", old in "[ab\n]{1,3}", new in "[abc]{0,4}",
        ) {
            let expected = content.replace(&old, &new);
            match edited(content.as_bytes(), &arguments(&old, &new, true)) {
                Ok((edited, count)) => {
                    prop_assert_eq!(edited, expected.into_bytes());
                    prop_assert_eq!(count, content.matches(old.as_str()).count() as u64);
                }
                Err(_) => prop_assert!(!content.contains(&old)),
            }
        }
    }
}
