//! Questions that come over the connection of an agent, which is played by hand: frames of HTTP/2 with gRPC.

use msb_agent_protocol::Client;
use msb_agent_protocol::v1::QuestionKind;
use questions::{ANSWER_TIMEOUT, Kind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::{Instant, timeout};

use super::Questions;

/// Length of the preface of HTTP/2, in bytes.
const PREFACE_BYTES: usize = 24;
/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_HEADERS: u8 = 4;
/// `:status 200` and `content-type: application/grpc` in HPACK.
const RESPONSE: &[u8] = b"\x88\x5f\x10application/grpc";

/// An agent that has begun its answer to the call `Ask`.
struct Agent {
    port: DuplexStream,
    stream: [u8; 4],
}

impl Agent {
    async fn accept(mut port: DuplexStream) -> Self {
        let mut preface = [0; PREFACE_BYTES];
        port.read_exact(&mut preface).await.expect("a preface");
        let mut agent = Self {
            port,
            stream: [0; 4],
        };
        agent.send(SETTINGS, 0, &[]).await;
        agent.received(HEADERS).await;
        agent.send(HEADERS, END_HEADERS, RESPONSE).await;
        agent
    }

    /// Sends a frame on the stream of the call.
    async fn send(&mut self, kind: u8, flags: u8, payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
        let head = [&length[1..], &[kind, flags], &self.stream].concat();
        self.port.write_all(&head).await.expect("open");
        self.port.write_all(payload).await.expect("open");
    }

    /// Waits for a frame of this type, and returns its payload. The call's stream is that of the frame.
    async fn received(&mut self, expected: u8) -> Vec<u8> {
        loop {
            let mut head = [0; 9];
            self.port.read_exact(&mut head).await.expect("a frame");
            let [a, b, c, kind, _, stream @ ..] = head;
            let length = u32::from_be_bytes([0, a, b, c]);
            let mut payload = vec![0; usize::try_from(length).expect("short")];
            self.port.read_exact(&mut payload).await.expect("a payload");
            if kind == expected && !payload.is_empty() {
                self.stream = stream;
                return payload;
            }
        }
    }

    /// Sends the event that a process asks for a path.
    async fn ask(&mut self, path: &str) {
        let field = |number: u8, content: &[u8]| {
            let length = u8::try_from(content.len()).expect("short");
            [&[number << 3 | 2, length], content].concat()
        };
        // The token is 7.
        let event = field(1, &[vec![1 << 3, 7], field(2, path.as_bytes())].concat());
        let length = u8::try_from(event.len()).expect("short");
        let message = [&[0, 0, 0, 0, length], &event[..]].concat();
        self.send(DATA, 0, &message).await;
    }

    /// Waits for an answer to a question, and returns its text.
    async fn told(&mut self) -> String {
        let message = self.received(DATA).await;
        String::from_utf8_lossy(&message).into_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_denied_when_its_time_is_over() {
    let directory = tempfile::tempdir().expect("a directory");
    let questions = Questions::new(&directory.path().join("asks.jsonl"));
    let _listener = questions.listen().expect("listening");
    let (host, guest) = duplex(1 << 16);
    let client = Client::connect_without_limit(host).await;
    let following = questions.follow(client.expect("connected"));
    let following = tokio::spawn(following);
    let mut agent = Agent::accept(guest).await;
    agent.ask("/work/.env").await;
    let asked = Instant::now();
    let told = timeout(ANSWER_TIMEOUT * 2, agent.told()).await;
    let told = told.expect("a denial came");
    assert!(told.contains("not answered in time"), "{told}");
    assert!(asked.elapsed() >= ANSWER_TIMEOUT, "{:?}", asked.elapsed());
    drop(agent);
    following.await.expect("it ends with the agent");
}

#[test]
fn kinds_have_the_same_words_for_clients_as_in_the_journal() {
    for (shown, kind) in [
        (QuestionKind::Path, Kind::Path),
        (QuestionKind::Network, Kind::Network),
        (QuestionKind::Read, Kind::Read),
        (QuestionKind::Change, Kind::Change),
    ] {
        assert_eq!(shown.word(), kind.as_str());
    }
}
