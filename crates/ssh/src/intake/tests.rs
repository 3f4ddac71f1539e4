use tokio::io::{AsyncReadExt as _, empty, sink};

use super::*;

fn chunk(bytes: usize) -> Bytes {
    Bytes::from(vec![0; bytes])
}

/// Returns true if the reader reads now.
async fn reads(streams: &mut Streams<&'static [u8], tokio::io::Sink>) -> bool {
    tokio::select! {
        biased;
        read = streams.read_u8() => {
            read.expect("a byte");
            true
        }
        () = std::future::ready(()) => false,
    }
}

#[tokio::test]
async fn the_reader_waits_while_too_many_bytes_wait() {
    let intake = Arc::new(Intake::default());
    let mut streams = Streams::new((&b"abcdef"[..], sink()), Arc::clone(&intake));
    assert!(reads(&mut streams).await);
    let small = intake.keep(chunk(1)).expect("kept");
    assert!(reads(&mut streams).await);
    let large = intake.keep(chunk(WAITING_MAX_BYTES)).expect("kept");
    assert!(!reads(&mut streams).await);
    drop(small);
    assert!(!reads(&mut streams).await);
    drop(large);
    assert!(reads(&mut streams).await);
}

#[tokio::test]
async fn the_reader_goes_on_while_output_waits_for_the_client() {
    let intake = Arc::new(Intake::default());
    let mut streams = Streams::new((&b"abcdef"[..], sink()), Arc::clone(&intake));
    let kept = intake.keep(chunk(WAITING_MAX_BYTES)).expect("kept");
    assert!(!reads(&mut streams).await);
    let starved = intake.starve();
    assert!(reads(&mut streams).await);
    let more = intake.keep(chunk(WAITING_LIMIT_BYTES - WAITING_MAX_BYTES));
    assert!(!reads(&mut streams).await);
    intake.keep(chunk(1)).expect_err("more than the limit");
    drop(more);
    drop(starved);
    assert!(!reads(&mut streams).await);
    drop(kept);
    assert!(reads(&mut streams).await);
}

#[tokio::test]
async fn a_reader_that_waits_is_woken() {
    let intake = Arc::new(Intake::default());
    let kept = intake.keep(chunk(WAITING_MAX_BYTES)).expect("kept");
    let mut streams = Streams::new((empty(), sink()), Arc::clone(&intake));
    let reading = tokio::spawn(async move { streams.read(&mut [0]).await });
    tokio::task::yield_now().await;
    drop(kept);
    assert_eq!(reading.await.expect("joined").expect("the end"), 0);
}
