use std::collections::HashMap;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::frame::framed;
use super::{Answer, FAILURE, Frames, Request, fingerprint};
use crate::log::Log;

/// The request that lists the keys.
const LIST: [u8; 1] = [11];
/// The longest comment of a key in a line of the log, in characters.
const COMMENT_MAX: usize = 64;

/// One side of the filter, as messages.
struct Side<S> {
    stream: S,
    frames: Frames,
}

/// The SSH agent of the host.
struct Agent<A> {
    side: Side<A>,
    /// The comments of the keys, by their fingerprints, as the agent has listed them last.
    comments: HashMap<String, String>,
}

/// Passes requests of a program of the guest on to the agent, one after the other, until the program sends no more.
/// `who` is the program, for the log.
pub(crate) async fn pass<G, A>(guest: G, agent: A, who: &str, log: &Log) -> io::Result<()>
where
    G: AsyncRead + AsyncWrite + Unpin,
    A: AsyncRead + AsyncWrite + Unpin,
{
    let mut guest = Side::new(guest);
    let mut agent = Agent {
        side: Side::new(agent),
        comments: HashMap::new(),
    };
    while let Some(message) = guest.receive().await? {
        let answer = match Request::parse(&message) {
            request @ Request::List => agent.answer(&request, &message).await?,
            request @ Request::Sign { key } => {
                let answer = agent.answer(&request, &message).await?;
                let key = agent.describe(key).await?;
                // Without a line in the log there is no signature.
                if is_signature(&request, &answer) {
                    let line = format!("{who} signed with {key}");
                    log.line_in_time(&line).await?;
                } else {
                    log.line(&format!(
                        "{who} got no signature with {key} from the SSH agent"
                    ));
                }
                answer
            }
            refused @ Request::Other(_) => {
                let name = refused.name();
                log.line(&format!("{who} was refused: the SSH agent was to {name}"));
                vec![FAILURE]
            }
        };
        guest.send(&answer).await?;
    }
    Ok(())
}

fn is_signature(request: &Request<'_>, answer: &[u8]) -> bool {
    matches!(Answer::parse(request, answer), Ok(Answer::Signature))
}

impl<S: AsyncRead + AsyncWrite + Unpin> Side<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            frames: Frames::default(),
        }
    }

    /// Returns the next message; `None` at the end of the stream.
    async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(message) = self.frames.take().map_err(io::Error::other)? {
                return Ok(Some(message));
            }
            let length = self.stream.read(&mut buffer).await?;
            if length == 0 {
                return Ok(None);
            }
            self.frames.add(buffer.get(..length).unwrap_or_default());
        }
    }

    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.stream.write_all(&framed(message)).await
    }
}

impl<A: AsyncRead + AsyncWrite + Unpin> Agent<A> {
    /// Returns the agent's answer to a request. An answer that does not fit it is not passed on.
    async fn answer(&mut self, request: &Request<'_>, message: &[u8]) -> io::Result<Vec<u8>> {
        self.side.send(message).await?;
        let answer = self.side.receive().await?;
        let answer = answer.ok_or(io::ErrorKind::UnexpectedEof)?;
        match Answer::parse(request, &answer).map_err(io::Error::other)? {
            Answer::Keys(keys) => {
                let described = keys.iter();
                let described = described.map(|(key, comment)| (fingerprint(key), shown(comment)));
                self.comments = described.collect();
            }
            Answer::Failure | Answer::Signature => {}
        }
        Ok(answer)
    }

    /// Returns the fingerprint of a key, and its comment if the agent has the key.
    async fn describe(&mut self, key: &[u8]) -> io::Result<String> {
        let name = fingerprint(key);
        if !self.comments.contains_key(&name) {
            self.answer(&Request::List, &LIST).await?;
        }
        Ok(match self.comments.get(&name) {
            Some(comment) => format!("the key {name} ({comment})"),
            None => format!("the key {name}"),
        })
    }
}

/// Returns a comment as a line of the log may show it.
fn shown(comment: &[u8]) -> String {
    let text = String::from_utf8_lossy(comment);
    let shown: String = text.chars().take(COMMENT_MAX).collect();
    shown.escape_debug().to_string()
}

#[cfg(test)]
mod tests;
