use std::fs::File;

use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use super::*;

/// A sign request of this key.
fn sign(key: &[u8]) -> Vec<u8> {
    [&[13][..], &framed(key), &framed(b"data"), &[0; 4]].concat()
}

fn log() -> Log {
    Log::new(tempfile::tempfile().expect("a file"))
}

/// An agent with one key, which counts the messages that it gets.
async fn agent(stream: DuplexStream) -> Vec<Vec<u8>> {
    let mut side = Side::new(stream);
    let mut got = Vec::new();
    while let Ok(Some(message)) = side.receive().await {
        let answer = match message.first() {
            Some(11) => [&[12, 0, 0, 0, 1][..], &framed(b"key"), &framed(b"me\n")].concat(),
            Some(13) => [&[14][..], &framed(b"signature")].concat(),
            _ => vec![6],
        };
        got.push(message);
        side.send(&answer).await.expect("sent");
    }
    got
}

/// The messages that the agent gets, once it has ended.
type Got = JoinHandle<Vec<Vec<u8>>>;

/// A program, the filter and the agent.
fn begin() -> (Side<DuplexStream>, JoinHandle<io::Result<()>>, Got) {
    let (program, guest) = tokio::io::duplex(1 << 16);
    let (near, far) = tokio::io::duplex(1 << 16);
    let passing = tokio::spawn(async move { pass(guest, near, "a test", &log()).await });
    (Side::new(program), passing, tokio::spawn(agent(far)))
}

#[tokio::test]
async fn lists_and_signatures_pass_and_nothing_else_reaches_the_agent() {
    let (mut program, passing, agent) = begin();
    let mut asked = Vec::new();
    for (request, kind) in [
        (LIST.to_vec(), 12),
        (vec![19], 5),
        (vec![27, 0, 0, 0, 0], 5),
        (sign(b"key"), 14),
        (sign(b"key")[..19].to_vec(), 5),
        (vec![], 5),
    ] {
        program.send(&request).await.expect("sent");
        let answer = program.receive().await.expect("read").expect("an answer");
        assert_eq!(answer.first(), Some(&kind), "{request:?}");
        if kind != 5 {
            asked.push(request);
        }
    }
    drop(program);
    passing.await.expect("no panic").expect("it ended");
    assert_eq!(agent.await.expect("no panic"), asked);
}

#[tokio::test]
async fn a_key_that_was_not_listed_is_described() {
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(agent(far));
    let mut agent = Agent {
        side: Side::new(near),
        comments: HashMap::new(),
    };
    let described = agent.describe(b"key").await.expect("listed");
    assert!(described.ends_with("(me\\n)"), "{described}");
    let unknown = agent.describe(b"other").await.expect("listed");
    assert!(unknown.starts_with("the key SHA256:") && !unknown.contains('('));
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_connection() {
    let (mut program, passing, _agent) = begin();
    program.stream.write_all(&[255; 8]).await.expect("sent");
    passing.await.expect("no panic").expect_err("too long");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_not_passed_on() {
    let (program, guest) = tokio::io::duplex(1 << 16);
    let (near, far) = tokio::io::duplex(1 << 16);
    let mut program = Side::new(program);
    let mut agent = Side::new(far);
    let passing = tokio::spawn(async move { pass(guest, near, "a test", &log()).await });
    program.send(&LIST).await.expect("sent");
    agent.receive().await.expect("read").expect("a request");
    agent.send(&[14, 0, 0, 0, 0]).await.expect("sent");
    passing
        .await
        .expect("no panic")
        .expect_err("another answer");
    assert_eq!(program.receive().await.expect("read"), None);
}

#[tokio::test]
async fn without_a_line_in_the_log_there_is_no_signature() {
    let (program, guest) = tokio::io::duplex(1 << 16);
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(agent(far));
    let mut program = Side::new(program);
    let full = File::options().write(true).open("/dev/full");
    let log = Log::new(full.expect("opened"));
    let passing = tokio::spawn(async move { pass(guest, near, "a test", &log).await });
    program.send(&sign(b"key")).await.expect("sent");
    passing.await.expect("no panic").expect_err("a full disk");
    assert_eq!(program.receive().await.expect("read"), None);
}
