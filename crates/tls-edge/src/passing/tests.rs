use super::*;
use crate::hello::tests::client_hello;

/// Looks at a connection in pieces of this length, until there is a result.
fn look(bytes: &[u8], length: usize) -> Seen {
    let mut hello = PassingHello::default();
    let mut pieces = bytes.chunks(length).map(|piece| hello.look(piece));
    pieces
        .find(|seen| *seen != Seen::Part)
        .unwrap_or(Seen::Part)
}

#[test]
fn a_name_is_seen_however_the_hello_is_cut() {
    let hello = client_hello("api.Example.com", &["h2"]);
    let with_more = [&hello[..], &[23; 100]].concat();
    let name = Seen::Hello(EdgeEvent::Hello {
        sni: "api.example.com".to_owned(),
        ended: false,
    });
    for length in [1, 7, 500, with_more.len()] {
        assert_eq!(look(&hello, length), name, "{length}");
        assert_eq!(look(&with_more, length), name, "{length}");
    }
    let (part, _) = hello.split_at(hello.len() - 1);
    assert_eq!(look(part, 100), Seen::Part);
}

#[test]
fn what_is_no_hello_with_a_name_is_left_alone() {
    let of_an_address = client_hello("192.0.2.1", &[]);
    // A record of a handshake with a message that never ends.
    let record = [
        &[22, 3, 1, 0x3F, 0xFF, 1, 0xFF, 0xFF, 0xFF][..],
        &[0; 16_379],
    ]
    .concat();
    for bytes in [
        &b"SSH-2.0-OpenSSH"[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &of_an_address,
        &record.repeat(2),
        &[22_u8; 20_000],
    ] {
        for length in [1, 4096, bytes.len()] {
            assert_eq!(look(bytes, length), Seen::Other, "{length}");
        }
    }
}
