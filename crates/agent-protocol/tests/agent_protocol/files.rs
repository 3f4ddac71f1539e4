use std::time::Duration;

use msb_agent_protocol::v1::{GetArchiveRequest, PutArchive, WriteFile};
use msb_agent_protocol::{Bytes, ClientError, Code, VERSION};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::guest::boot;

#[tokio::test]
async fn why_not_is_told_apart_from_no_answer() {
    let mut client = boot(VERSION).await;
    let gone = client.stat(Bytes::from_static(b"/gone"), false).await;
    let Err(ClientError::Files { code, message }) = gone else {
        panic!("{gone:?}")
    };
    assert_eq!(code, Code::NotFound);
    assert!(message.contains("/gone"));
    let old = client.list(Bytes::from_static(b"/")).await;
    assert!(matches!(old, Err(ClientError::Unimplemented { .. })));
}

#[tokio::test]
async fn an_archive_that_breaks_off_says_so() {
    let mut client = boot(VERSION).await;
    let mut archive = client
        .get_archive(GetArchiveRequest::default())
        .await
        .expect("begun");
    assert_eq!(
        archive.next().await.expect("a chunk").as_deref(),
        Some(&b"tar"[..])
    );
    assert!(matches!(
        archive.next().await,
        Err(ClientError::Files {
            code: Code::PermissionDenied,
            ..
        })
    ));
}

#[tokio::test]
async fn an_archive_goes_whole_or_until_the_guest_has_enough() {
    let mut client = boot(VERSION).await;
    for (chunks, fits) in [(3_usize, true), (1000, false)] {
        let (sender, pending) = mpsc::channel(1);
        let sending = tokio::spawn(async move {
            for _ in 0..chunks {
                let chunk = Bytes::from(vec![1; 64 << 10]);
                if sender.send(chunk).await.is_err() {
                    return false;
                }
            }
            true
        });
        let put = client.put_archive(PutArchive::default(), pending);
        let reply = timeout(Duration::from_secs(60), put)
            .await
            .expect("answered");
        assert_eq!(reply.is_ok(), fits, "{reply:?}");
        let all_sent = timeout(Duration::from_secs(60), sending)
            .await
            .expect("it ends");
        assert_eq!(all_sent.expect("no panic"), fits);
    }
}

#[tokio::test]
async fn a_file_is_written_when_its_end_is_said() {
    let mut client = boot(VERSION).await;
    for is_whole in [true, false] {
        let (sender, chunks) = mpsc::channel(2);
        sender
            .try_send(Some(Bytes::from_static(b"content")))
            .expect("there is room");
        if is_whole {
            sender.try_send(None).expect("there is room");
        }
        drop(sender);
        let written = client.write_file(WriteFile::default(), chunks).await;
        match written {
            Ok(()) => assert!(is_whole),
            Err(error) => assert!(!is_whole && error.to_string().contains("cut"), "{error}"),
        }
    }
}
