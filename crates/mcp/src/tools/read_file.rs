use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use msb_sdk::{Error, Sandbox};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool, number};
use crate::bounded_text::without_cut_end;
use crate::call::Call;
use crate::failure::{Failure, Stop};
use crate::session::Session;

/// The bytes of a file that one call returns, unless it asks for another number.
const LIMIT: u64 = 64 << 10;
/// The most bytes that one call returns.
const LIMIT_MAX: u64 = 256 << 10;
/// The last byte at which a read can begin: what is before it is read, too.
const OFFSET_MAX: u64 = 1 << 30;

/// Reads a part of a file.
pub(super) struct ReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Path in the sandbox. A relative one begins at the sandbox's working directory.
    path: String,
    /// Number of the first byte.
    #[serde(default)]
    offset: u64,
    /// Number of bytes, at most 262144; 65536 if left out.
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    limit: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The content, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The content in base64, if it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// Size of the whole file in bytes.
    size: u64,
    /// The offset of the rest, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

impl SandboxTool for ReadFile {
    const NAME: &'static str = "sandbox_read_file";
    const TITLE: &'static str = "Read a file";
    const DESCRIPTION: &'static str =
        "Reads a file of a sandbox, or a part of it: UTF-8 as text, and anything else in base64.";
    const EFFECT: Effect = Effect::READS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let limit = number("limit", arguments.limit, LIMIT, LIMIT_MAX)?;
        let Arguments { path, offset, .. } = arguments;
        if offset > OFFSET_MAX {
            let message = format!("offset: {offset} is more than {OFFSET_MAX}");
            return Err(Failure::invalid(message)
                .with_hint("read the part with sandbox_exec, such as by tail -c")
                .into());
        }
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let reading = async {
            let size = sandbox.files().stat(path.as_str()).await?.size_bytes;
            Ok::<_, Error>((read(&sandbox, &path, offset, limit).await?, size))
        };
        let (content, size) = call.awaited(reading).await?;
        Ok(Output::new(&content, offset, size))
    }
}

/// Returns bytes of a file from an offset on.
async fn read(sandbox: &Sandbox, path: &str, offset: u64, limit: u64) -> Result<Vec<u8>, Error> {
    let stream = sandbox.files().read_stream(path).await?;
    let mut content = Vec::new();
    let (mut skipped, mut left) = (offset, usize::try_from(limit).unwrap_or(usize::MAX));
    while left > 0
        && let Some(chunk) = stream.next().await?
    {
        let before = usize::try_from(skipped)
            .unwrap_or(usize::MAX)
            .min(chunk.len());
        skipped = skipped.saturating_sub(before as u64);
        let rest = chunk.split_at(before).1;
        let rest = rest.split_at(rest.len().min(left)).0;
        content.extend_from_slice(rest);
        left = left.saturating_sub(rest.len());
    }
    Ok(content)
}

impl Output {
    fn new(content: &[u8], offset: u64, size: u64) -> Self {
        let end = offset.saturating_add(content.len() as u64);
        // The rest of a character that is cut comes with the next part.
        let whole = if end < size {
            without_cut_end(content)
        } else {
            content
        };
        let (kept, text) = match std::str::from_utf8(whole) {
            Ok(text) if !text.is_empty() || content.is_empty() => (whole, Some(text.to_owned())),
            _ => (content, None),
        };
        let next = offset.saturating_add(kept.len() as u64);
        Self {
            base64: text.is_none().then(|| STANDARD.encode(kept)),
            text,
            size,
            next_offset: (next < size).then_some(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(content: &[u8], offset: u64, size: u64) -> (Option<String>, bool, Option<u64>) {
        let output = Output::new(content, offset, size);
        assert_eq!(output.size, size);
        (output.text, output.base64.is_some(), output.next_offset)
    }

    #[test]
    fn text_is_text_and_the_rest_base64() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(output(b"abc", 0, 3), (text("abc"), false, None));
        assert_eq!(output(b"", 0, 0), (text(""), false, None));
        assert_eq!(output(b"abc", 2, 9), (text("abc"), false, Some(5)));
        assert_eq!(output(b"a\xff", 0, 2), (None, true, None));
        assert_eq!(output(b"a\xff", 0, 9), (None, true, Some(2)));
    }

    #[test]
    fn a_character_at_the_end_of_a_part_comes_with_the_next() {
        let (first, is_base64, next) = output("né".as_bytes().split_at(2).0, 0, 3);
        assert_eq!(
            (first.as_deref(), is_base64, next),
            (Some("n"), false, Some(1))
        );
        // A part that is shorter than a character goes on nevertheless.
        assert_eq!(output(b"\xc3", 1, 3), (None, true, Some(2)));
        // What a file ends in is what it has.
        assert_eq!(output(b"n\xc3", 0, 2), (None, true, None));
    }
}
