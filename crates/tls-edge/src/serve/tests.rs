use super::*;

#[test]
fn the_offer_to_the_host_is_the_guest_s_without_protocols_that_are_not_served() {
    let of = |protocols: &[&str]| {
        let protocols: Vec<_> = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        offer(&protocols).map(|offer| {
            let names = offer.into_iter().map(String::from_utf8);
            names.collect::<Result<Vec<_>, _>>().unwrap()
        })
    };
    assert_eq!(of(&[]).unwrap(), [""; 0]);
    assert_eq!(of(&["h2", "http/1.1"]).unwrap(), ["h2", "http/1.1"]);
    assert_eq!(
        of(&["http/1.1", "spdy/3", "h2"]).unwrap(),
        ["http/1.1", "h2"]
    );
    assert!(matches!(of(&["acme-tls/1"]), Err(Refused::Protocol)));
    assert!(matches!(of(&["http/1.0", "h2c"]), Err(Refused::Protocol)));
}
