use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use msb_sdk::{Bytes, WriteOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool};
use crate::call::Call;
use crate::failure::{Failure, Stop};
use crate::session::Session;

/// The permission bits of a file.
const MODE_MAX: u32 = 0o7777;

/// Creates or replaces a file.
pub(super) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Path in the sandbox. A relative one begins at the sandbox's working directory; missing directories are made.
    path: String,
    /// The content as text. Either text or base64 is given.
    text: Option<String>,
    /// The content in base64.
    base64: Option<String>,
    /// Permission bits in octal, such as 755. An existing file keeps its own, and a new one gets 644, if left out.
    mode: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Number of bytes that were written.
    bytes: u64,
}

impl SandboxTool for WriteFile {
    const NAME: &'static str = "sandbox_write_file";
    const TITLE: &'static str = "Write a file";
    const DESCRIPTION: &'static str = "Creates a file of a sandbox, or replaces it as a whole.";
    const EFFECT: Effect = Effect::DESTROYS.idempotent();
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let content = content(arguments.text, arguments.base64)?;
        let mut options = WriteOptions::default().parents();
        options.mode = arguments.mode.as_deref().map(mode).transpose()?;
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let bytes = content.len() as u64;
        let files = sandbox.files();
        let writing = || files.write_with(arguments.path.as_str(), content.clone(), options);
        session.running(call, &sandbox, writing).await?;
        Ok(Output { bytes })
    }
}

fn content(text: Option<String>, base64: Option<String>) -> Result<Bytes, Failure> {
    match (text, base64) {
        (Some(text), None) => Ok(text.into()),
        (None, Some(base64)) => {
            let bytes = STANDARD.decode(base64);
            let bytes = bytes.map_err(|error| Failure::invalid(format!("base64: {error}")))?;
            Ok(bytes.into())
        }
        _ => Err(Failure::invalid("either text or base64 has to be given")),
    }
}

fn mode(text: &str) -> Result<u32, Failure> {
    let mode = u32::from_str_radix(text, 8).ok();
    let mode = mode.filter(|mode| *mode <= MODE_MAX && !text.starts_with('+'));
    mode.ok_or_else(|| {
        let text = terminal_text::escaped(text);
        Failure::invalid(format!(
            "mode: '{text}' is not an octal number such as 644 or 0755"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_given_once() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(content(text("a"), None), Ok(Bytes::from_static(b"a")));
        assert_eq!(content(text(""), None), Ok(Bytes::new()));
        assert_eq!(content(None, text("/w==")), Ok(Bytes::from_static(b"\xff")));
        assert!(content(None, text("no base64")).is_err());
        assert!(content(None, None).is_err());
        assert!(content(text("a"), text("YQ==")).is_err());
    }

    #[test]
    fn modes_are_octal() {
        assert_eq!(
            (mode("644"), mode("0755"), mode("7777")),
            (Ok(0o644), Ok(0o755), Ok(0o7777))
        );
        for text in ["", "8", "+644", "-1", "10000", "u+x"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }
}
