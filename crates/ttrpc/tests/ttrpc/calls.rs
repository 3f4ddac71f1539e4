//! Calls of the client.

use std::time::Duration;

use proptest::prelude::*;
use tokio::runtime::Builder;
use ttrpc::{CallError, CallOptions, Client, Code};

use crate::service::{SERVICE, answer, client, request, send, served};

fn code(error: CallError) -> Code {
    match error {
        CallError::Status(status) => status.code(),
        other => panic!("another error: {other}"),
    }
}

async fn call(client: &Client, method: &str, options: &CallOptions) -> Result<String, CallError> {
    let text = "hello".to_owned();
    client.call(SERVICE, method, &text, options).await
}

#[tokio::test]
async fn answers_errors_and_metadata_arrive() {
    let client = client();
    let mut options = CallOptions::default();
    assert_eq!(
        call(&client, "Echo", &options).await.expect("it answers"),
        "hello"
    );
    let missing = call(&client, "Missing", &options)
        .await
        .expect_err("it fails");
    assert_eq!(missing.to_string(), "it is gone (NOT_FOUND)");
    let unknown = call(&client, "Unknown", &options)
        .await
        .expect_err("it fails");
    assert_eq!(code(unknown), Code::Unimplemented);
    options.metadata.insert("namespace", "k8s.io");
    let namespace = call(&client, "Namespace", &options).await;
    assert_eq!(namespace.expect("it answers"), "k8s.io");
}

#[tokio::test]
async fn calls_of_one_connection_do_not_wait_for_each_other() {
    let client = client();
    let options = CallOptions::default();
    tokio::select! {
        biased;
        never = call(&client, "Never", &options) => panic!("it answered {never:?}"),
        echo = call(&client, "Echo", &options) => assert_eq!(echo.expect("it answers"), "hello"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_with_its_timeout_on_both_sides() {
    let (mut near, service, _server) = served();
    let mut frame = request(1, "Never");
    // Field 4, the timeout: 50 ns.
    frame.message.extend([32, 50]);
    send(&mut near, &frame).await;
    assert_eq!(answer(&mut near).await, (1, Code::DeadlineExceeded));
    assert_eq!(service.open.load(std::sync::atomic::Ordering::SeqCst), 0);

    let (near, _far) = tokio::io::duplex(1024);
    let options = CallOptions {
        timeout: Some(Duration::from_secs(1)),
        ..CallOptions::default()
    };
    let late = call(&Client::new(near), "Echo", &options).await;
    assert!(matches!(late, Err(CallError::TimedOut(_))), "{late:?}");
}

#[tokio::test]
async fn messages_above_the_limit_are_refused_and_the_connection_lives_on() {
    let client = client();
    let options = CallOptions::default();
    let long = call(&client, "Long", &options)
        .await
        .expect_err("it is too long");
    assert_eq!(code(long), Code::ResourceExhausted);
    let text = "a".repeat(4 << 20);
    let long = client
        .call::<_, String>(SERVICE, "Echo", &text, &options)
        .await;
    assert!(matches!(long, Err(CallError::TooLong(_))));
    let text = "a".repeat((4 << 20) - 1024);
    let whole: String = client
        .call(SERVICE, "Echo", &text, &options)
        .await
        .expect("it fits");
    assert!(whole == text);
}

#[tokio::test]
async fn the_end_of_the_server_ends_all_calls() {
    let (near, _, server) = served();
    let client = Client::new(near);
    let options = CallOptions::default();
    let calls = async {
        tokio::join!(
            call(&client, "Never", &options),
            call(&client, "Never", &options)
        )
    };
    let end = async {
        tokio::task::yield_now().await;
        server.abort();
    };
    let ((one, two), ()) = tokio::join!(calls, end);
    assert!(matches!(one, Err(CallError::Disconnected)), "{one:?}");
    assert!(matches!(two, Err(CallError::Disconnected)), "{two:?}");
    let after = call(&client, "Echo", &options).await;
    assert!(matches!(after, Err(CallError::Disconnected)), "{after:?}");
    assert!(client.is_closed());
}

#[tokio::test]
async fn the_end_of_the_client_ends_its_calls_at_the_server() {
    let (mut near, service, server) = served();
    send(&mut near, &request(1, "Never")).await;
    send(&mut near, &request(3, "Echo")).await;
    assert_eq!(answer(&mut near).await, (3, Code::Ok));
    drop(near);
    server
        .await
        .expect("it ends")
        .expect("the client closed the connection");
    // The calls are dropped with the server, as soon as their tasks are scheduled.
    while service.open.load(std::sync::atomic::Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_payload_comes_back_to_its_call(payloads in prop::collection::vec(".{0,2000}", 1..20)) {
        let runtime = Builder::new_current_thread().enable_all().build().expect("it starts");
        runtime.block_on(async {
            let client = std::sync::Arc::new(client());
            let calls: Vec<_> = payloads.into_iter().map(|payload: String| {
                let client = std::sync::Arc::clone(&client);
                tokio::spawn(async move {
                    let options = CallOptions::default();
                    let echo: String = client.call(SERVICE, "Echo", &payload, &options).await.expect("it answers");
                    assert!(echo == payload);
                })
            }).collect();
            for call in calls {
                call.await.expect("it holds");
            }
        });
    }
}
