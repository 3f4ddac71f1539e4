use std::time::Duration;

use msb_agent_protocol::v1::{Asked, Told};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::{NO_HOST, Questions, TOO_MANY};
use crate::guarded_file::read_regular;

/// The time that a process has to send its question, and to read its answer.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest question, in bytes: the path, the reason, and their ends.
const QUESTION_MAX_BYTES: usize = 4096 + 1024 + 2;
/// The longest name of a process; the kernel keeps 15 bytes.
const NAME_MAX_BYTES: u64 = 64;

/// Takes the question of a process that has connected, and tells it the answer.
pub(super) async fn attend(questions: Questions, mut stream: UnixStream) {
    let (is_allowed, text) = match answer(&questions, &mut stream).await {
        Some(Ok(told)) => (told.is_allowed, told.text),
        Some(Err(refusal)) => (false, refusal.to_owned()),
        // The process is gone.
        None => return,
    };
    let word = if is_allowed { "allow" } else { "deny" };
    let line = format!("{word} {}\n", text.replace(char::is_control, " "));
    // A process that does not read has no answer.
    let _ = timeout(READ_TIMEOUT, stream.write_all(line.as_bytes())).await;
}

/// Returns the answer to the question of a process; `None` if it waits no more.
async fn answer(
    questions: &Questions,
    stream: &mut UnixStream,
) -> Option<Result<Told, &'static str>> {
    let credentials = stream.peer_cred().ok();
    let pid = credentials.and_then(|credentials| credentials.pid());
    let Some(place) = questions.enter(pid) else {
        return Some(Err(TOO_MANY));
    };
    let read = timeout(READ_TIMEOUT, read(stream)).await;
    let Some((path, reason)) = read.ok()? else {
        return Some(Err("denied: the question is not PATH, NUL, REASON, NUL"));
    };
    let asked = Asked {
        token: 0,
        path,
        reason,
        process: pid.and_then(process_name).unwrap_or_default(),
        uid: credentials.map(|credentials| credentials.uid()),
    };
    let told = match place.ask(asked) {
        Ok(told) => told,
        Err(refusal) => return Some(Err(refusal)),
    };
    tokio::select! {
        told = told => Some(told.map_err(|_| NO_HOST)),
        // The process has hung up, or says more than a question.
        _ = stream.read_u8() => None,
    }
}

/// Reads a question; `None` if it is none.
async fn read(stream: &mut UnixStream) -> Option<(String, String)> {
    let mut question = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        if let Some(found) = parse(&question) {
            return found;
        }
        let length = stream.read(&mut buffer).await.ok()?;
        question.extend_from_slice(&buffer[..length]);
        if length == 0 || question.len() > QUESTION_MAX_BYTES {
            return None;
        }
    }
}

/// Parses what was read so far. Returns `None` if the end is missing, and `Some(None)` for no question.
fn parse(question: &[u8]) -> Option<Option<(String, String)>> {
    let mut parts = question.split(|&byte| byte == 0);
    let (path, reason, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let is_one = rest.is_empty() && parts.next().is_none() && path.starts_with(b"/");
    let path = std::str::from_utf8(path).ok().filter(|_| is_one);
    let reason = String::from_utf8_lossy(reason);
    Some(path.map(|path| (path.to_owned(), reason.into_owned())))
}

/// Returns the name that the kernel has for a process.
fn process_name(pid: i32) -> Option<String> {
    let name = read_regular(format!("/proc/{pid}/comm"), NAME_MAX_BYTES).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_two_words_with_their_ends() {
        let words = |path: &str, reason: &str| Some(Some((path.to_owned(), reason.to_owned())));
        for (question, expected) in [
            (&b""[..], None),
            (b"/a\0why", None),
            (b"/a\0why\0", words("/a", "why")),
            (b"/a\0\0", words("/a", "")),
            (b"/a\0\xff\0", words("/a", "\u{fffd}")),
            (b"a\0why\0", Some(None)),
            (b"/\xff\0why\0", Some(None)),
            (b"/a\0why\0more", Some(None)),
            (b"/a\0why\0\0", Some(None)),
        ] {
            assert_eq!(parse(question), expected, "{question:?}");
        }
    }

    #[tokio::test]
    async fn what_is_no_question_is_refused_and_an_endless_one_is_bounded() {
        for question in [&b"\0\0"[..], &[b'/'; 100_000]] {
            let (here, mut there) = UnixStream::pair().expect("a pair");
            let attended = tokio::spawn(attend(Questions::default(), here));
            // The reader may hang up before everything is written.
            let _ = there.write_all(question).await;
            let mut line = String::new();
            let read = there.read_to_string(&mut line).await;
            assert!(read.is_err() || line.starts_with("deny "), "{line}");
            attended.await.expect("it ended");
        }
    }
}
