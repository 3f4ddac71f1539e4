use super::*;

#[tokio::test]
async fn a_call_that_waits_ends_when_the_stream_is_closed_and_gets_no_later_item() {
    let stream = Stream::new(());
    let (item, next) = tokio::sync::oneshot::channel();
    let close = async {
        stream.close();
        item.send("late").expect("the call waits");
    };
    let (waited, ()) = tokio::join!(stream.unless_closed(next), close);
    assert!(waited.is_none(), "{waited:?}");
    assert!(stream.open().is_none());
    assert!(stream.unless_closed(async { "later" }).await.is_none());
}
