use fs_err as fs;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// A list of keys, of which there are none, and a signature.
const ANSWERS: [&[u8]; 2] = [
    &[0, 0, 0, 5, 12, 0, 0, 0, 0],
    &[0, 0, 0, 6, 14, 0, 0, 0, 1, 1],
];
/// A request to sign no data with an empty key.
const SIGN: [u8; 17] = [0, 0, 0, 13, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[tokio::test]
async fn a_signature_for_a_program_that_has_gone_is_logged() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let log = Log::new(file.reopen().expect("opened"));
    let (mut near, far) = tokio::io::duplex(FILTER_BYTES);
    let (mut agent, host) = tokio::io::duplex(FILTER_BYTES);
    // Two requests, the second of which nothing waits for.
    near.write_all(&SIGN).await.expect("sent");
    near.write_all(&SIGN).await.expect("sent");
    let (gone, has_gone) = tokio::sync::oneshot::channel();
    let joined = async move {
        has_gone.await.expect("told");
        drop(near);
        Ok(())
    };
    let answering = async {
        let mut gone = Some(gone);
        for answer in ANSWERS {
            let mut length = [0; 4];
            agent.read_exact(&mut length).await.expect("a request");
            let length = usize::try_from(u32::from_be_bytes(length)).expect("short");
            let mut request = vec![0; length];
            agent.read_exact(&mut request).await.expect("a request");
            // The program leaves while the agent works.
            if let Some(gone) = gone.take() {
                gone.send(()).expect("listening");
            }
            tokio::task::yield_now().await;
            agent.write_all(answer).await.expect("sent");
        }
        let mut more = Vec::new();
        agent.read_to_end(&mut more).await.expect("ended");
        assert!(more.is_empty(), "asked again: {more:?}");
    };
    let carrying = both(joined, ssh_agent::pass(far, host, "a test", &log));
    let (carried, ()) = tokio::join!(carrying, answering);
    carried.expect("no error");
    let text = fs::read_to_string(file.path()).expect("read");
    assert!(
        text.contains("a test signed with the key SHA256:"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
}
