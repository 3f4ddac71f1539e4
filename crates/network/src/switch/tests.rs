use std::fs::File;
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::*;
use crate::asks::Asks;
use crate::hellos::Hellos;
use crate::policy::Policy;
use crate::resolvers::Resolvers;
use crate::route::Routes;
use crate::{NetworkLogDetail, Settings};

fn question() -> Vec<u8> {
    let mut question = Message::query();
    let name = Name::from_ascii("example.com.").unwrap();
    question.add_query(Query::query(name, RecordType::AAAA));
    question.to_vec().unwrap()
}

#[tokio::test]
async fn answers_that_nobody_reads_do_not_gather() {
    let settings = Settings::default();
    let gate = Gate::new(Policy::new(&settings), Asks::new(None));
    let ways = Ways {
        edge: None,
        hellos: Hellos::new(&settings),
        routes: Routes::default(),
    };
    let null = File::options().write(true).open("/dev/null").unwrap();
    let recorder = Recorder::new(null, NetworkLogDetail::Http);
    let resolvers = Resolvers::new(Vec::new());
    let names = NameService::new(gate.clone(), resolvers, recorder.clone());
    let (to_guest, mut frames) = mpsc::channel(1);
    let mut switch = Switch::new(gate, Arc::new(names), ways, to_guest, recorder);
    let key = FlowKey {
        guest_port: 5300,
        remote: SocketAddrV4::new(GATEWAY_ADDRESS, DNS_PORT),
    };
    let bytes = question();
    for _ in 0..5000 {
        switch.take_datagram(key, &bytes, 0..bytes.len());
    }
    let left = || Handle::current().metrics().num_alive_tasks();
    let deadline = Instant::now() + Duration::from_secs(60);
    while left() > 0 {
        assert!(Instant::now() < deadline, "{} tasks wait", left());
        sleep(Duration::from_millis(10)).await;
    }
    assert!(frames.recv().await.is_some() && frames.is_empty());
}
