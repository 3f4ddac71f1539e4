use super::*;

fn wanted(connection: &str, upgrades: &[&str]) -> Option<String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONNECTION, connection.parse().unwrap());
    for upgrade in upgrades {
        headers.append(UPGRADE, upgrade.parse().unwrap());
    }
    let wanted = wanted_protocols(&headers)?;
    Some(wanted.to_str().unwrap().to_owned())
}

#[test]
fn a_protocol_is_wanted_if_both_headers_say_so() {
    assert_eq!(
        wanted("Upgrade", &["websocket"]).as_deref(),
        Some("websocket")
    );
    assert_eq!(
        wanted("keep-alive, upgrade", &["SPDY/3.1", "websocket"]).as_deref(),
        Some("SPDY/3.1, websocket")
    );
    assert_eq!(wanted("keep-alive", &["websocket"]), None);
    assert_eq!(wanted("upgrade", &[]), None);
    assert_eq!(wanted("upgrade", &[" , "]), None);
}

#[test]
fn http_without_tls_is_never_wanted() {
    for protocol in ["h2c", "H2C", "h2", "HTTP/2.0", "http/1.1", "h2c, HTTP/2.0"] {
        assert_eq!(wanted("upgrade", &[protocol]), None, "{protocol}");
    }
    assert_eq!(
        wanted("upgrade", &["h2c, websocket"]).as_deref(),
        Some("websocket")
    );
}
