use fs_err as fs;
use msb_network::{FromNetwork, Told, message_line, message_of_line};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::lines::ERROR_MAX_CHARS;
use super::*;

/// The network's process, played by a test.
struct Process {
    lines: Lines<BufReader<OwnedReadHalf>>,
    stream: OwnedWriteHalf,
}

impl Process {
    fn start(questions: &Questions) -> (NetworkLink, Self) {
        Self::of(questions, PathBuf::from("/nonexistent"))
    }

    /// Starts a process of a sandbox with this description.
    fn of(questions: &Questions, description: PathBuf) -> (NetworkLink, Self) {
        let (supervisor, process) = StdUnixStream::pair().expect("a pair");
        let link = NetworkLink::open(Some(supervisor), questions, description);
        let link = link.expect("opened");
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
    // A line that is no message is left out.
    process
        .stream
        .write_all(b"nonsense\n{}\n")
        .await
        .expect("sent");
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

#[tokio::test]
async fn rules_are_followed_exactly_if_they_are_kept_wherever_the_client_is_killed() {
    // The client is killed before it writes the description, after that, or not at all.
    for (is_written, is_said) in [(false, false), (true, false), (true, true)] {
        let (directory, questions) = questions();
        let description = directory.path().join("sandbox.json");
        fs::write(&description, "old").expect("written");
        let (link, mut process) = Process::of(&questions, description.clone());
        let client = async move {
            if is_written {
                let new = description.with_extension("new");
                fs::write(&new, "new").expect("written");
                fs::rename(&new, &description).expect("renamed");
            }
            is_said
        };
        let keeping = link.clone();
        let call = tokio::spawn(async move {
            let rules = rules(&request("listed", &["a.test"])).expect("rules");
            let link = keeping.link().expect("a link");
            link.follow_kept(rules, false, || {}, client).await
        });
        if is_written {
            assert!(matches!(
                process.received().await,
                ToNetwork::Rules { number: 1, .. }
            ));
            let error = None;
            process
                .send(FromNetwork::Changed { number: 1, error })
                .await;
        }
        let followed = call.await.expect("no panic");
        assert_eq!(followed.is_ok(), is_written, "{followed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_stopped_holds_up_others_for_a_bounded_time() {
    let (_directory, questions) = questions();
    let (link, mut process) = Process::start(&questions);
    let link = link.link().expect("a link");
    let set = || rules(&request("listed", &[])).expect("rules");
    let stopped = link.follow_kept(set(), false, || {}, std::future::pending());
    let status = stopped.await.expect_err("it keeps nothing");
    assert_eq!(status.code(), msb_agent_protocol::Code::Aborted);
    let next = link.follow_kept(set(), false, || {}, async { true });
    let answers = async {
        process.received().await;
        let error = None;
        process
            .send(FromNetwork::Changed { number: 1, error })
            .await;
    };
    let (followed, ()) = tokio::join!(next, answers);
    followed.expect("it is the next one's turn");
}

#[tokio::test(start_paused = true)]
async fn of_rules_that_wait_for_a_slow_process_the_newest_is_sent() {
    let (_directory, questions) = questions();
    let (link, mut process) = Process::start(&questions);
    let label = "a".repeat(63);
    let names: Vec<_> = (0..1000)
        .map(|number| format!("{number}.{label}.test"))
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for _ in 0..20 {
        let late = link.change_rules(&request("listed", &names)).await;
        late.expect_err("the process does not read");
    }
    let late = link.change_rules(&request("outbound", &[])).await;
    late.expect_err("the process does not read");
    let mut numbers = Vec::new();
    while numbers.last() != Some(&21) {
        let ToNetwork::Rules { number, .. } = process.received().await else {
            panic!("no rules");
        };
        numbers.push(number);
    }
    // Some were in the socket already.
    assert!(numbers.len() < 8, "{numbers:?}");
}
