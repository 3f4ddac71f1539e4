use super::*;

#[test]
fn records_are_the_lines_that_are_documented() {
    for (json, is_denied) in [
        (
            r#"{"time":"2026-11-27T02:41:03.120Z","event":"connect","flow":17,"proto":"tcp","name":"api.example.com","address":"203.0.113.9","port":443,"verdict":"allowed","rule":"api.example.com:443"}"#,
            false,
        ),
        (
            r#"{"time":"2026-11-27T02:41:03.120Z","event":"connect","proto":"udp","address":"10.0.0.5","port":5432,"verdict":"denied","rule":"10.0.0.0/8","hint":"--net-allow 10.0.0.5:5432","count":12}"#,
            true,
        ),
        (
            r#"{"time":"2026-11-27T02:41:04.143Z","event":"close","flow":17,"sent":4110,"received":52011,"ms":1023,"end":"guest-reset"}"#,
            false,
        ),
        (
            r#"{"time":"2026-11-27T02:41:03.110Z","event":"dns","name":"evil.example","type":"A","verdict":"denied","rule":"listed","code":"NXDOMAIN","hint":"--net-allow evil.example"}"#,
            true,
        ),
        (
            r#"{"time":"2026-11-27T02:41:05.000Z","event":"lost","count":31}"#,
            false,
        ),
        (
            r#"{"time":"2026-11-27T02:41:05.000Z","event":"close","flow":18,"sent":0,"received":0,"ms":3,"end":"denied"}"#,
            true,
        ),
        (
            r#"{"time":"2026-11-27T02:41:03.130Z","flow":17,"event":"tls","sni":"api.example.com","ended":true}"#,
            false,
        ),
        (
            r#"{"time":"2026-11-27T02:41:03.990Z","flow":17,"event":"http","method":"POST","host":"api.example.com","path":"/v1/…","query":true,"status":200,"sent":2113,"received":48120,"ms":812,"version":"h2","secrets":["ANTHROPIC_API_KEY"],"verdict":"allowed"}"#,
            false,
        ),
        (
            r#"{"time":"2026-11-27T02:41:03.990Z","flow":17,"event":"http","method":"POST","host":"api.example.com","path":"/admin","status":403,"sent":0,"received":0,"ms":1,"version":"http/1.1","verdict":"denied"}"#,
            true,
        ),
        (
            r#"{"time":"2026-11-27T02:41:04.000Z","flow":17,"event":"secret.misplaced","secret":"KEY","place":"user-agent"}"#,
            false,
        ),
        (
            r#"{"time":"2026-11-27T02:41:04.000Z","flow":17,"event":"secret.reflected","secret":"KEY","host":"api.example.com","path":"/debug"}"#,
            true,
        ),
        (
            r#"{"time":"2026-11-27T02:41:04.000Z","flow":17,"event":"tls.refused","sni":"api.example.com","alert":"unknown_ca"}"#,
            false,
        ),
        (
            r#"{"time":"2026-11-27T02:41:04.000Z","flow":17,"event":"upstream.certificate","sni":"api.example.com","reason":"it has expired"}"#,
            true,
        ),
    ] {
        let record: NetworkRecord = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), json);
        assert_eq!(record.is_denied(), is_denied, "{json}");
        let report = NetworkReport::Record(record);
        let line = serde_json::to_string(&report).unwrap();
        assert_eq!(
            serde_json::from_str::<NetworkReport>(&line).unwrap(),
            report
        );
    }
}

#[test]
fn a_time_has_milliseconds_and_may_be_none() {
    let mut record = NetworkRecord::now(NetworkEvent::Lost { count: 1 });
    assert_eq!(record.time.len(), "2026-11-27T02:41:03.120Z".len());
    record.time = "1970-01-01T00:00:01.5Z".to_owned();
    assert_eq!(record.time_ns(), Some(1_500_000_000));
    for time in ["", "yesterday", "1969-01-01T00:00:00Z"] {
        record.time = time.to_owned();
        assert_eq!(record.time_ns(), None, "{time}");
    }
}
