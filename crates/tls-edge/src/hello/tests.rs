use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::io::AsyncWriteExt as _;

use super::*;

/// Returns the hello of a client that asks for a name, in one record.
pub(crate) fn client_hello(name: &str, protocols: &[&str]) -> Vec<u8> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut bytes).unwrap();
    }
    bytes
}

/// Reads what a guest sends in pieces of this length before it closes.
async fn read_in_pieces(bytes: &[u8], length: usize) -> Opening {
    let (mut guest, mut edge) = tokio::io::duplex(64);
    let write = async {
        for piece in bytes.chunks(length) {
            if guest.write_all(piece).await.is_err() {
                break;
            }
        }
        drop(guest);
    };
    let (opening, ()) = tokio::join!(
        async {
            let opening = read(&mut edge).await.unwrap();
            drop(edge);
            opening
        },
        write
    );
    opening
}

fn bytes_of(opening: Opening) -> Vec<u8> {
    match opening {
        Opening::Other(bytes) => bytes,
        Opening::Hello(hello) => panic!("a hello for {:?}", hello.name),
    }
}

#[tokio::test]
async fn a_hello_is_read_and_kept_however_it_is_cut() {
    let bytes = client_hello("api.Example.com", &["h2", "http/1.1"]);
    for length in [1, 7, bytes.len()] {
        let Opening::Hello(hello) = read_in_pieces(&bytes, length).await else {
            panic!("no hello in pieces of {length}");
        };
        assert_eq!(hello.name.as_deref(), Some("api.example.com"));
        assert_eq!(hello.protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
        assert_eq!(hello.bytes, bytes);
    }
}

#[tokio::test]
async fn a_hello_in_many_records_is_one() {
    let bytes = client_hello("api.example.com", &[]);
    let (head, message) = bytes.split_at(5);
    let mut records = Vec::new();
    for piece in message.chunks(100) {
        records.extend_from_slice(&head[..3]);
        records.extend_from_slice(&u16::try_from(piece.len()).unwrap().to_be_bytes());
        records.extend_from_slice(piece);
    }
    let Opening::Hello(hello) = read_in_pieces(&records, 50).await else {
        panic!("no hello");
    };
    assert_eq!(hello.name.as_deref(), Some("api.example.com"));
    assert_eq!(hello.bytes, records);
}

#[tokio::test]
async fn a_hello_without_a_name_has_none() {
    let bytes = client_hello("192.0.2.1", &[]);
    let Opening::Hello(hello) = read_in_pieces(&bytes, 64).await else {
        panic!("no hello");
    };
    assert_eq!((hello.name, hello.protocols), (None, Vec::<Vec<u8>>::new()));
}

#[tokio::test]
async fn other_protocols_are_recognised_by_their_first_byte() {
    for text in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"SSH-2.0-x\r\n",
        b"\0",
        b"\x80\x2e\x01",
    ] {
        assert_eq!(bytes_of(read_in_pieces(text, 64).await), text);
    }
    assert_eq!(bytes_of(read_in_pieces(b"", 1).await), b"");
}

#[tokio::test]
async fn an_incomplete_hello_is_kept() {
    let bytes = client_hello("api.example.com", &[]);
    let (part, _) = bytes.split_at(bytes.len() - 1);
    assert_eq!(bytes_of(read_in_pieces(part, 64).await), part);
}

#[tokio::test]
async fn garbage_in_a_handshake_record_is_no_hello() {
    let record = [&[22, 3, 1, 0, 4][..], &[9, 9, 9, 9]].concat();
    assert_eq!(bytes_of(read_in_pieces(&record, 64).await), record);
}

#[tokio::test]
async fn a_hello_without_end_is_bounded() {
    // A handshake message of 16 MiB, in records that are full.
    let mut endless = vec![22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff];
    endless.resize(1 << 20, 0);
    let read = bytes_of(read_in_pieces(&endless, 4096).await);
    assert!(read.len() <= HELLO_MAX_BYTES + READ_BYTES, "{}", read.len());
    assert_eq!(read, endless[..read.len()]);
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_stalls_is_waited_for_a_bounded_time() {
    let (mut guest, mut edge) = tokio::io::duplex(64);
    guest.write_all(&[22]).await.unwrap();
    let began = Instant::now();
    let opening = read(&mut edge).await.unwrap();
    let took = began.elapsed();
    assert!(
        took >= HELLO_TIMEOUT && took < 2 * HELLO_TIMEOUT,
        "{took:?}"
    );
    assert_eq!(bytes_of(opening), [22]);
}
