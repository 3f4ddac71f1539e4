//! A guest that is stopped, and a guest that is idle.

use std::time::Duration;

use msb_agent_protocol::v1::Exec;
use msb_agent_protocol::{Client, ClientError, VERSION};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::guest::{boot, serve, serve_clients};

/// The shortest silence that a caller judges.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time within which calls on a stopped supervisor fail.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);

/// Copies bytes while the guest is not stopped.
async fn pass_on(
    mut from: tokio::io::ReadHalf<DuplexStream>,
    mut to: tokio::io::WriteHalf<DuplexStream>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let _ = stopped.wait_for(|&stopped| !stopped).await;
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

/// Returns the two ends of a stream that can be stopped in both directions.
fn stoppable() -> (DuplexStream, DuplexStream, watch::Sender<bool>) {
    let (host, outer) = duplex(4096);
    let (inner, guest) = duplex(4096);
    let stopped = watch::Sender::new(false);
    let (outer_read, outer_write) = tokio::io::split(outer);
    let (inner_read, inner_write) = tokio::io::split(inner);
    tokio::spawn(pass_on(outer_read, inner_write, stopped.subscribe()));
    tokio::spawn(pass_on(inner_read, outer_write, stopped.subscribe()));
    (host, guest, stopped)
}

/// Returns a host's client of a guest that can be stopped.
async fn boot_stoppable() -> (Client, watch::Sender<bool>) {
    let (host, guest, stopped) = stoppable();
    serve(guest, VERSION);
    let client = Client::connect_port(host).await.expect("greeted");
    (client, stopped)
}

fn sleep() -> Exec {
    Exec {
        argv: vec!["sleep".into()],
        ..Exec::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopped_guest_is_silent_and_goes_on_where_it_stood() {
    let (mut client, stopped) = boot_stoppable().await;
    client.hello().await.expect("answered");
    stopped.send_replace(true);
    let mut asking = client.clone();
    let asked = tokio::spawn(async move { asking.hello().await });
    let began = Instant::now();
    client.heartbeat().silence(TIMEOUT).await;
    assert!(began.elapsed() <= TIMEOUT * 2, "{:?}", began.elapsed());
    assert!(!asked.is_finished());
    // Much longer than any caller would wait.
    tokio::time::sleep(TIMEOUT * 1000).await;
    stopped.send_replace(false);
    asked.await.expect("joined").expect("answered at last");
    client.hello().await.expect("answered again");
}

#[tokio::test(start_paused = true)]
async fn a_guest_with_nothing_to_say_is_not_silent() {
    let mut client = boot(VERSION).await;
    client.hello().await.expect("answered");
    let heartbeat = client.heartbeat();
    let silence = heartbeat.silence(TIMEOUT);
    assert!(timeout(TIMEOUT * 100, silence).await.is_err());
    client.hello().await.expect("answered");
}

#[tokio::test(start_paused = true)]
async fn a_guest_with_as_many_calls_as_it_takes_is_not_silent() {
    let mut client = boot(VERSION).await;
    let mut running = Vec::new();
    for _ in 0..256 {
        running.push(client.exec(sleep()).await.expect("started"));
    }
    let heartbeat = client.heartbeat();
    assert!(
        timeout(TIMEOUT * 10, heartbeat.silence(TIMEOUT))
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn calls_on_a_stopped_supervisor_fail() {
    let (host, other, stopped) = stoppable();
    serve_clients(other);
    let mut client = Client::connect(host).await.expect("connected");
    let mut command = client.exec(sleep()).await.expect("started");
    // A command that says nothing is no silence.
    let quiet = timeout(TIMEOUT * 1000, command.outputs.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    stopped.send_replace(true);
    let mut waiting = client.clone();
    let waiting = tokio::spawn(async move { waiting.hello().await });
    let failed = timeout(SILENCE_TIMEOUT, command.outputs.next()).await;
    let failed = failed.expect("in time").expect_err("silent");
    assert!(matches!(failed, ClientError::Silent { .. }), "{failed:?}");
    let expected = "has sent nothing for 15 s, as if it were stopped; msb waited for exec";
    assert!(failed.to_string().contains(expected), "{failed}");
    let waiting = timeout(SILENCE_TIMEOUT, waiting).await;
    for failed in [
        waiting.expect("in time").expect("joined"),
        client.hello().await,
    ] {
        let failed = failed.expect_err("silent");
        assert!(matches!(failed, ClientError::Silent { .. }), "{failed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_whose_guest_boots_is_waited_for() {
    let (host, other, stopped) = stoppable();
    stopped.send_replace(true);
    serve_clients(other);
    let mut client = Client::connect(host).await.expect("connected");
    let asked = tokio::spawn(async move { client.hello().await });
    tokio::time::sleep(TIMEOUT * 100).await;
    stopped.send_replace(false);
    asked.await.expect("joined").expect("answered");
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_limit_outlives_a_stopped_supervisor() {
    let (host, other, stopped) = stoppable();
    serve_clients(other);
    let connected = Client::connect_without_limit(host).await;
    let mut client = connected.expect("connected");
    client.hello().await.expect("answered");
    stopped.send_replace(true);
    tokio::time::sleep(TIMEOUT * 100).await;
    stopped.send_replace(false);
    client.hello().await.expect("answered");
}
