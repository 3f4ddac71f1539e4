use nbd_server::ServeError;

use crate::memory_disk::MemoryDisk;
use crate::transcript::{FIXED_NO_ZEROES, GO, INFO, Transcript, named};

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const STRUCTURED_REPLY: u32 = 8;

const GREETING: &[u8] = b"NBDMAGICIHAVEOPT\0\x03";
const FLAGS: [u8; 2] = [0, 0b110_1101];

fn option_reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut reply = 0x0003_e889_0455_65a9_u64.to_be_bytes().to_vec();
    reply.extend(option.to_be_bytes());
    reply.extend(kind.to_be_bytes());
    reply.extend((data.len() as u32).to_be_bytes());
    reply.extend(data);
    reply
}

/// Returns what follows the greeting.
fn answers(client: &Transcript) -> (Vec<u8>, Result<(), ServeError>) {
    let (sent, outcome) = client.play(&mut MemoryDisk::new(4096));
    (sent.strip_prefix(GREETING).unwrap().to_vec(), outcome)
}

fn facts(option: u32) -> Vec<u8> {
    let export = [&[0, 0][..], &4096_u64.to_be_bytes(), &FLAGS].concat();
    let sizes = [1, 4096, 32 << 20].map(u32::to_be_bytes).concat();
    [
        option_reply(option, 3, &export),
        option_reply(option, 3, &[&[0, 3][..], &sizes].concat()),
        option_reply(option, 1, &[]),
    ]
    .concat()
}

#[test]
fn a_client_gets_the_facts_and_goes() {
    let client = Transcript::new(FIXED_NO_ZEROES).option(INFO, &named(b"", &[3]));
    let (sent, outcome) = answers(&client.option(GO, &named(b"", &[])));
    outcome.unwrap();
    assert_eq!(sent, [facts(INFO), facts(GO)].concat());
}

#[test]
fn the_oldest_choice_of_an_export_works() {
    let size = 4096_u64.to_be_bytes();
    for (flags, zeros) in [(FIXED_NO_ZEROES, 0), (1, 124)] {
        let (sent, outcome) = answers(&Transcript::new(flags).option(EXPORT_NAME, b""));
        outcome.unwrap();
        assert_eq!(sent, [&size[..], &FLAGS, &vec![0; zeros]].concat());
    }
    let (sent, outcome) = answers(&Transcript::new(1).option(EXPORT_NAME, b"other"));
    assert!(matches!(outcome, Err(ServeError::UnknownExport)));
    assert_eq!(sent, b"");
}

#[test]
fn what_is_not_offered_is_refused_and_the_client_may_go_on() {
    let client = Transcript::new(FIXED_NO_ZEROES)
        .option(STRUCTURED_REPLY, b"")
        .option(GO, &named(b"other", &[]))
        .option(GO, b"\0\0\0\x09short\0\0")
        .option(GO, b"")
        .option(LIST, b"data")
        .option(LIST, b"")
        .option(ABORT, b"");
    let (sent, outcome) = answers(&client);
    outcome.unwrap();
    let error = |kind: u32| (1 << 31) + kind;
    let length = b"the data has another length";
    let expected = [
        option_reply(STRUCTURED_REPLY, error(1), b"not supported"),
        option_reply(GO, error(6), b"the only export is the default one"),
        option_reply(GO, error(3), length),
        option_reply(GO, error(3), length),
        option_reply(LIST, error(3), b"LIST has no data"),
        option_reply(LIST, 2, &[0; 4]),
        option_reply(LIST, 1, b""),
        option_reply(ABORT, 1, b""),
    ];
    assert_eq!(sent, expected.concat());
}

#[test]
fn what_is_no_handshake_ends_it() {
    let (_, outcome) = answers(&Transcript::new(4));
    assert!(matches!(
        outcome,
        Err(ServeError::ClientFlags { flags: 4, known: 3 })
    ));
    let (_, outcome) = answers(&Transcript::new(1).bytes(b"GET / HTTP/1.1\r\n"));
    assert!(matches!(outcome, Err(ServeError::Magic { .. })));
    let long = Transcript::new(1).bytes(b"IHAVEOPT\0\0\0\x07\xff\xff\xff\xff");
    let (_, outcome) = answers(&long);
    let error = outcome.unwrap_err().to_string();
    let expected = "option 7 has 4294967295 bytes, at most 8192 are accepted";
    assert_eq!(error, expected);
    let endless = (0..65).fold(Transcript::new(1), |client, _| client.option(LIST, b""));
    let (_, outcome) = answers(&endless);
    assert!(matches!(
        outcome,
        Err(ServeError::TooManyOptions { limit: 64 })
    ));
}
