//! A guest that is stopped, and a guest that is idle.

use std::time::Duration;

use msb_agent_protocol::{Client, VERSION};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::guest::{boot, serve};

const TIMEOUT: Duration = Duration::from_secs(30);

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

/// Returns a host's client of a guest that can be stopped in both directions.
async fn boot_stoppable() -> (Client, watch::Sender<bool>) {
    let (host, outer) = duplex(4096);
    let (inner, guest) = duplex(4096);
    serve(guest, VERSION);
    let stopped = watch::Sender::new(false);
    let (outer_read, outer_write) = tokio::io::split(outer);
    let (inner_read, inner_write) = tokio::io::split(inner);
    tokio::spawn(pass_on(outer_read, inner_write, stopped.subscribe()));
    tokio::spawn(pass_on(inner_read, outer_write, stopped.subscribe()));
    let client = Client::connect_port(host).await.expect("greeted");
    (client, stopped)
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
        let exec = msb_agent_protocol::v1::Exec {
            argv: vec!["sleep".into()],
            ..Default::default()
        };
        running.push(client.exec(exec).await.expect("started"));
    }
    let heartbeat = client.heartbeat();
    assert!(
        timeout(TIMEOUT * 10, heartbeat.silence(TIMEOUT))
            .await
            .is_err()
    );
}
