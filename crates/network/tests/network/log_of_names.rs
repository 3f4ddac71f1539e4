use std::net::SocketAddrV4;

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use msb_network::{DefaultPolicy, Settings, Verdict};

use crate::guest::{Host, datagram};
use crate::names::{ADDRESS, AT, ask, resolver};
use crate::reported::{Reported, settle};

#[test]
fn queries_have_their_codes_and_give_addresses_their_names() {
    let mut settings = Settings {
        deny: vec!["*.evil.example".parse().unwrap()],
        ..Settings::default()
    };
    let questions = resolver(&mut settings);
    let mut host = Host::new(settings);
    ask(&mut host, "Files.example.", RecordType::A);
    ask(&mut host, "files.example.", RecordType::AAAA);
    ask(&mut host, "www.evil.example.", RecordType::A);
    ask(&mut host, "files.example.", RecordType::ANY);
    questions.recv().unwrap();
    let mut hostile = Message::query();
    let labels = [&b"a\n\x1b[2J\"$(x)"[..], b"\xff"];
    let name = Name::from_labels(labels).unwrap();
    hostile.add_query(Query::query(name, RecordType::from(4000)));
    host.link
        .send(&datagram(5300, AT, &hostile.to_vec().unwrap()));
    let to = SocketAddrV4::new(ADDRESS, 9);
    host.link.send(&datagram(5000, to, b""));
    settle(&mut host);
    let reported = Reported::of(host);
    let queries: Vec<_> = reported
        .queries()
        .iter()
        .map(|query| {
            format!(
                "{} {} {} {}",
                query.name, query.record_type, query.rule, query.code
            )
        })
        .collect();
    assert_eq!(
        queries[..4],
        [
            "files.example A outbound NOERROR",
            "files.example AAAA outbound NOERROR",
            "www.evil.example A *.evil.example NXDOMAIN",
            "files.example ANY never REFUSED",
        ]
    );
    let hostile = &queries[4];
    assert!(hostile.ends_with(" TYPE4000 never REFUSED"), "{hostile}");
    assert!(
        hostile.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
        "{hostile}"
    );
    // What a guest chose is not to be pasted.
    assert!(reported.queries().iter().all(|query| query.hint.is_none()));
    let connects = reported.connects();
    assert_eq!(connects[0].name.as_deref(), Some("files.example"));
    assert_eq!(reported.totals.queries, 5);
    assert_eq!(reported.totals.refused_queries, 3);
}

#[test]
fn a_name_that_is_not_listed_says_what_would_open_it() {
    let mut host = Host::new(Settings {
        reach: DefaultPolicy::Listed,
        ..Settings::default()
    });
    ask(&mut host, "files.example.", RecordType::A);
    let reported = Reported::of(host);
    let queries = reported.queries();
    assert_eq!(
        (queries[0].rule.as_str(), queries[0].verdict),
        ("listed", Verdict::Denied)
    );
    assert_eq!(
        queries[0].hint.as_deref(),
        Some("--net-allow files.example")
    );
}
