//! Events of connections whose TLS is ended, as text.

use msb_sdk::{EdgeEvent, HttpRecord, HttpVerdict, NetworkTls};

use super::traffic;

/// Returns an event as text, with the number of its flow.
pub(super) fn of(tls: &NetworkTls) -> serde_json::Result<String> {
    let text = match &tls.event {
        EdgeEvent::Hello { sni, ended: true } => format!("TLS for {sni} is ended"),
        EdgeEvent::Hello { sni, ended: false } => format!("TLS for {sni} is not ended"),
        EdgeEvent::Http(http) => request(http),
        EdgeEvent::SecretMisplaced { secret, place } => {
            format!("placeholder of {secret} in {place}: sent unchanged, without the value")
        }
        EdgeEvent::SecretReflected { secret, host, path } => {
            format!("answer of https://{host}{path} withheld: it has the value of {secret}")
        }
        EdgeEvent::SecretEncoded { secret, host, path } => {
            format!(
                "answer of https://{host}{path} withheld: it is compressed, and may have the value of {secret}"
            )
        }
        EdgeEvent::TlsRefused { sni, alert } => {
            let alert = alert.as_deref().unwrap_or("no reason given");
            format!(
                "the sandbox refused the certificate for {sni} ({alert}); its program may not trust /etc/msb/ca.pem"
            )
        }
        EdgeEvent::UpstreamCertificate { sni, reason } => {
            format!("refused {sni}: {reason}")
        }
        other => serde_json::to_string(other)?,
    };
    Ok(format!("{} {text}", tls.flow))
}

fn request(http: &HttpRecord) -> String {
    let query = if http.query { "?…" } else { "" };
    let request = format!("{} https://{}{}{query}", http.method, http.host, http.path);
    let traffic = traffic(http.ms, http.sent, http.received);
    let answer = match http.status {
        Some(status) => format!("{status} after {traffic}"),
        None => format!("no answer after {traffic}"),
    };
    if http.verdict == HttpVerdict::Denied {
        return format!("refused {request}: {answer}");
    }
    let secrets: Vec<_> = http.secrets.iter().map(ToString::to_string).collect();
    if secrets.is_empty() {
        format!("{request}: {answer}")
    } else {
        format!("{request}: {answer}, with {}", secrets.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::of_network;

    #[test]
    fn events_of_ended_tls_are_lines() {
        for (json, expected) in [
            (
                r#""event":"tls","sni":"api.example.com","ended":true"#,
                "TLS for api.example.com is ended",
            ),
            (
                r#""event":"http","method":"POST","host":"api.example.com","path":"/v1/messages","query":true,"status":200,"sent":2113,"received":48120,"ms":812,"version":"h2","secrets":["ANTHROPIC_API_KEY"],"verdict":"allowed""#,
                "POST https://api.example.com/v1/messages?…: 200 after 0.812s, 2.1kB sent, 48.1kB received, with ANTHROPIC_API_KEY",
            ),
            (
                r#""event":"http","method":"POST","host":"api.example.com","path":"/admin","status":403,"sent":0,"received":0,"ms":1,"version":"http/1.1","verdict":"denied""#,
                "refused POST https://api.example.com/admin: 403 after 0.001s, 0B sent, 0B received",
            ),
            (
                r#""event":"secret.misplaced","secret":"KEY","place":"user-agent""#,
                "placeholder of KEY in user-agent: sent unchanged, without the value",
            ),
            (
                r#""event":"secret.reflected","secret":"KEY","host":"api.example.com","path":"/debug""#,
                "answer of https://api.example.com/debug withheld: it has the value of KEY",
            ),
            (
                r#""event":"secret.encoded","secret":"KEY","host":"api.example.com","path":"/debug""#,
                "answer of https://api.example.com/debug withheld: it is compressed, and may have the value of KEY",
            ),
            (
                r#""event":"tls.refused","sni":"api.example.com","alert":"unknown_ca""#,
                "the sandbox refused the certificate for api.example.com (unknown_ca); its program may not trust /etc/msb/ca.pem",
            ),
            (
                r#""event":"upstream.certificate","sni":"a\u001b[2J.test","reason":"it has expired""#,
                r"refused a\u{1b}[2J.test: it has expired",
            ),
        ] {
            let json = format!(r#"{{"time":"2026-11-27T02:41:03.120Z","flow":17,{json}}}"#);
            let line = of_network(json.as_bytes()).expect("a record");
            assert_eq!(line, format!("2026-11-27T02:41:03.120Z 17 {expected}\n"));
        }
    }
}
