use std::time::Duration;

use msb_agent_protocol::v1::exit_status::Status;
use msb_agent_protocol::v1::{Exec, ExitStatus, WindowSize};
use msb_agent_protocol::{
    Bytes, CHUNK_MAX_BYTES, ClientError, Command, OLDEST_VERSION, Output, VERSION,
};

use crate::guest::boot;

fn program(name: &'static str) -> Exec {
    Exec {
        argv: vec![Bytes::from(name)],
        ..Exec::default()
    }
}

fn ended() -> Option<Output> {
    Some(Output::Exited(ExitStatus {
        status: Some(Status::Code(3)),
        ..ExitStatus::default()
    }))
}

#[tokio::test]
async fn two_hundred_commands_share_one_port() {
    let mut client = boot(VERSION).await;
    let mut running = Vec::new();
    for _ in 0..200 {
        running.push(client.exec(program("cat")).await.expect("started"));
    }
    for (index, command) in running.into_iter().enumerate() {
        let Command {
            inputs,
            mut outputs,
            ..
        } = command;
        let bytes = Bytes::from(vec![u8::try_from(index).expect("small"); CHUNK_MAX_BYTES]);
        assert!(inputs.send(bytes.clone()).await);
        drop(inputs);
        let output = outputs.next().await.expect("read");
        assert_eq!(output, Some(Output::Stdout(bytes)));
        assert_eq!(outputs.next().await.expect("read"), ended());
        assert_eq!(outputs.next().await.expect("read"), None);
    }
}

#[tokio::test]
async fn readers_that_sleep_stop_nobody_else() {
    let mut client = boot(VERSION).await;
    let mut asleep = Vec::new();
    for _ in 0..100 {
        asleep.push(client.exec(program("yes")).await.expect("started"));
    }
    let mut reader = client.exec(program("yes")).await.expect("started");
    for _ in 0..100 {
        let output = reader.outputs.next().await.expect("read");
        assert!(matches!(output, Some(Output::Stdout(_))));
    }
    assert_eq!(client.hello().await.expect("answered").version, VERSION);
}

#[tokio::test]
async fn a_signal_does_not_wait_for_what_the_command_does_not_read() {
    let mut client = boot(VERSION).await;
    let Command {
        inputs,
        mut outputs,
        mut control,
        ..
    } = client.exec(program("sleep")).await.expect("started");
    let chunk = Bytes::from(vec![0; CHUNK_MAX_BYTES]);
    let stuck = tokio::spawn(async move { while inputs.send(chunk.clone()).await {} });
    tokio::task::yield_now().await;
    control.signal(15).await.expect("sent");
    assert_eq!(outputs.next().await.expect("read"), ended());
    stuck.abort();
}

#[tokio::test]
async fn an_older_agent_is_named_as_the_reason() {
    let mut client = boot(OLDEST_VERSION).await;
    let mut command = client.exec(program("sleep")).await.expect("started");
    let resized = command.control.resize(WindowSize::default()).await;
    let error = resized.expect_err("unknown there");
    assert!(
        matches!(error, ClientError::Unimplemented { call: "resize" }),
        "{error}"
    );
    let error = boot(OLDEST_VERSION - 1).await.hello().await;
    let error = error.expect_err("too old").to_string();
    assert!(
        error.contains("speaks protocol version 1, this msb speaks versions 2 to 2"),
        "{error}"
    );
}

#[tokio::test]
async fn a_disk_is_frozen_until_it_is_thawed() {
    let mut client = boot(VERSION).await;
    for (limit, was_frozen) in [(Duration::from_secs(600), true), (Duration::ZERO, false)] {
        let frozen = client.freeze(limit).await.expect("frozen");
        assert_eq!(frozen.thaw().await.expect("thawed"), was_frozen);
    }
}

#[tokio::test]
async fn a_guest_that_goes_away_ends_its_calls() {
    let (host, guest) = tokio::io::duplex(4096);
    let served = tokio::spawn(async move {
        // The guest sends only the greeting.
        use tokio::io::AsyncWriteExt as _;
        let mut guest = guest;
        guest
            .write_all(b"msb guest \r\n\0\0\0\x02")
            .await
            .expect("written");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    });
    let mut client = msb_agent_protocol::Client::connect_port(host)
        .await
        .expect("greeted");
    assert!(client.hello().await.is_err());
    served.await.expect("joined");
}
