use std::fs::File;

use tokio::sync::mpsc;

use super::*;
use crate::asks::Asks;
use crate::policy::Policy;
use crate::{DefaultPolicy, NetworkLogDetail, Settings};

#[tokio::test]
async fn a_query_that_has_no_place_to_wait_asks_the_user_nothing() {
    let (messages, mut sent) = mpsc::channel(4);
    let settings = Settings {
        reach: DefaultPolicy::Listed,
        asks: true,
        ..Settings::default()
    };
    let gate = Gate::new(Policy::new(&settings), Asks::new(Some(messages)));
    let null = File::options().write(true).open("/dev/null").unwrap();
    let recorder = Recorder::new(null, NetworkLogDetail::Off);
    let service = NameService::new(gate, Resolvers::new(Vec::new()), recorder);
    let name = DomainName::parse("a.test").unwrap();
    let denied = Decision::denied(Reason::Default(DefaultPolicy::Listed));
    let places = u32::try_from(ASKED_QUERIES_MAX).unwrap();
    let places = service.asked.acquire_many(places).await.unwrap();
    assert!(service.ask_user(&name, denied).await.is_none());
    assert!(sent.try_recv().is_err());
    drop(places);
    tokio::select! {
        biased;
        _ = service.ask_user(&name, denied) => panic!("there was no answer"),
        message = sent.recv() => assert!(message.is_some()),
    }
}
