use questions::Kind;
use tokio::io::Lines;

use super::*;

/// The process of a share at `/work`, played by a test.
struct Process {
    lines: Lines<BufReader<OwnedReadHalf>>,
    stream: OwnedWriteHalf,
}

impl Process {
    fn start(questions: &Questions) -> (ShareLinks, Self) {
        let (supervisor, process) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let connection = ShareConnection {
            stream: supervisor,
            targets: vec!["/work".to_owned()],
        };
        let links = ShareLinks::open(vec![connection], questions).expect("opened");
        process.set_nonblocking(true).expect("set");
        let process = UnixStream::from_std(process).expect("a stream");
        let (read, stream) = process.into_split();
        let lines = BufReader::new(read).lines();
        (links, Self { lines, stream })
    }

    async fn send(&mut self, message: FromShare) {
        let line = encode(&message).expect("written");
        self.stream.write_all(&line).await.expect("sent");
    }

    async fn received(&mut self) -> ToShare {
        let line = self.lines.next_line().await.expect("read");
        decode(format!("{}\n", line.expect("a line")).as_bytes()).expect("a message")
    }
}

fn questions() -> (tempfile::TempDir, Questions) {
    let directory = tempfile::tempdir().expect("a directory");
    let questions = Questions::new(&directory.path().join("asks.jsonl"));
    (directory, questions)
}

fn request(target: &str, rule: &str) -> ChangeRuleRequest {
    ChangeRuleRequest {
        target: target.to_owned(),
        rule: rule.as_bytes().to_vec().into(),
    }
}

#[tokio::test]
async fn a_question_of_a_share_gets_its_answer() {
    let (_directory, questions) = questions();
    let (_links, mut process) = Process::start(&questions);
    // No client listens.
    let asked = FromShare::Asked {
        token: 5,
        kind: Kind::Read,
        path: "/work/.env".to_owned(),
    };
    process.send(asked).await;
    let expected = ToShare::Told {
        token: 5,
        is_allowed: false,
    };
    assert_eq!(process.received().await, expected);
}

#[tokio::test]
async fn a_rule_is_followed_before_the_call_ends() {
    let (_directory, questions) = questions();
    let (links, mut process) = Process::start(&questions);
    let error = Some("too many".to_owned());
    for (number, error) in [(1, None), (2, error)] {
        let changing = links.clone();
        let call =
            tokio::spawn(async move { changing.change_rule(request("/work", "/a=ask")).await });
        let ToShare::Rule { number: sent, .. } = process.received().await else {
            panic!("no rule");
        };
        assert_eq!(sent, number);
        let is_refused = error.is_some();
        // An outcome of a call before is not taken for this one's.
        for number in [number - 1, number] {
            let error = error.clone();
            process.send(FromShare::Changed { number, error }).await;
        }
        let outcome = call.await.expect("no panic");
        assert_eq!(outcome.is_err(), is_refused);
    }
    for (target, rule) in [("/other", "/a=ask"), ("/work", "nonsense")] {
        let refused = links.change_rule(request(target, rule)).await;
        refused.expect_err(rule);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_gone_or_silent_ends_the_call() {
    let (_directory, questions) = questions();
    let (links, process) = Process::start(&questions);
    let silent = links.change_rule(request("/work", "/a=ask")).await;
    silent.expect_err("it is silent");
    drop(process);
    let gone = links.change_rule(request("/work", "/a=ask")).await;
    gone.expect_err("it is gone");
}
