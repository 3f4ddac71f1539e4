use msb_network::Told;
use tokio::io::Lines;

use super::*;

/// The network's process, played by a test.
struct Process {
    lines: Lines<BufReader<OwnedReadHalf>>,
    stream: OwnedWriteHalf,
}

impl Process {
    fn start(questions: &Questions) -> (NetworkLink, Self) {
        let (supervisor, process) = StdUnixStream::pair().expect("a pair");
        let link = NetworkLink::open(Some(supervisor), questions).expect("opened");
        process.set_nonblocking(true).expect("set");
        let process = UnixStream::from_std(process).expect("a stream");
        let (read, stream) = process.into_split();
        let lines = BufReader::new(read).lines();
        (link, Self { lines, stream })
    }

    async fn send(&mut self, message: FromNetwork) {
        let line = message_line(&message).expect("written");
        self.stream.write_all(&line).await.expect("sent");
    }

    async fn received(&mut self) -> ToNetwork {
        let line = self.lines.next_line().await.expect("read");
        message_of_line(format!("{}\n", line.expect("a line")).as_bytes()).expect("a message")
    }
}

fn questions() -> (tempfile::TempDir, Questions) {
    let directory = tempfile::tempdir().expect("a directory");
    let questions = Questions::new(&directory.path().join("asks.jsonl"));
    (directory, questions)
}

fn request(mode: &str, allow: &[&str]) -> ChangeNetworkRequest {
    ChangeNetworkRequest {
        mode: mode.to_owned(),
        allow: allow.iter().map(|&rule| rule.to_owned()).collect(),
        deny: Vec::new(),
        closes: false,
    }
}

#[tokio::test]
async fn a_question_of_the_network_gets_its_answer() {
    let (_directory, questions) = questions();
    let (_link, mut process) = Process::start(&questions);
    // No client listens.
    let subject = "a.test:443".to_owned();
    process.send(FromNetwork::Asked { token: 5, subject }).await;
    let told = Told::Unanswered;
    assert_eq!(process.received().await, ToNetwork::Told { token: 5, told });
}

#[tokio::test]
async fn rules_are_followed_before_the_call_ends() {
    let (_directory, questions) = questions();
    let (link, mut process) = Process::start(&questions);
    let error = Some("they cannot".to_owned());
    for (number, error) in [(1, None), (2, error)] {
        let changing = link.clone();
        let call =
            tokio::spawn(
                async move { changing.change_rules(&request("listed", &["a.test"])).await },
            );
        let ToNetwork::Rules {
            number: sent,
            rules,
            ..
        } = process.received().await
        else {
            panic!("no rules");
        };
        assert_eq!((sent, rules.allow.len()), (number, 1));
        let is_refused = error.is_some();
        // An outcome of a call before is not taken for this one's.
        for number in [number - 1, number] {
            let error = error.clone();
            process.send(FromNetwork::Changed { number, error }).await;
        }
        let outcome = call.await.expect("no panic");
        assert_eq!(outcome.is_err(), is_refused);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_followed_is_refused() {
    let (_directory, questions) = questions();
    let (link, process) = Process::start(&questions);
    for request in [
        request("none", &[]),
        request("listed", &["a b"]),
        request("outbound", &["https://a.test"]),
    ] {
        let refused = link.change_rules(&request).await;
        refused.expect_err("it is no set of rules");
    }
    let silent = link.change_rules(&request("listed", &[])).await;
    silent.expect_err("it is silent");
    drop(process);
    let gone = link.change_rules(&request("listed", &[])).await;
    gone.expect_err("it is gone");
    let none = NetworkLink::default();
    let none = none.change_rules(&request("listed", &[])).await;
    none.expect_err("there is no network");
}

#[tokio::test]
async fn a_reason_of_the_network_is_bounded() {
    let (_directory, questions) = questions();
    let (link, mut process) = Process::start(&questions);
    let call = tokio::spawn(async move { link.change_rules(&request("listed", &[])).await });
    process.received().await;
    let error = Some("x".repeat(100_000));
    process
        .send(FromNetwork::Changed { number: 1, error })
        .await;
    let refused = call.await.expect("no panic").expect_err("it is refused");
    assert_eq!(refused.message().len(), ERROR_MAX_CHARS);
}
