//! The answers of the server, over streams in memory.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use sftp_server::{
    Attributes, DATA_MAX_BYTES, Extension, HANDLES_MAX, Open, PACKET_MAX_BYTES, Request, Response,
    ServeError, Status, serve,
};

/// SSH_FXP_INIT of version 3, with its length.
const INIT: [u8; 9] = [0, 0, 0, 5, 1, 0, 0, 0, 3];

/// Sends all requests at once, and returns the answers.
fn answers(requests: &[Request]) -> Vec<Response> {
    let mut input = INIT.to_vec();
    for (id, request) in (0..).zip(requests) {
        input.extend(request.to_packet(id));
    }
    let mut output = Vec::new();
    serve(&input[..], &mut output).expect("served");
    let mut packets = packets(&output).into_iter();
    assert_eq!(packets.next().expect("a version")[0], 2);
    let parsed = packets.map(|packet| Response::parse(packet).expect("an answer"));
    let answers: Vec<_> = parsed.collect();
    assert!(
        answers
            .iter()
            .map(|(id, _)| *id)
            .eq(0..requests.len() as u32)
    );
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn packets(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (packet, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        packets.push(packet);
        bytes = rest;
    }
    packets
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn handle(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn open(path: &Path, open: u32) -> Request {
    Request::Open {
        path: bytes(path),
        open: Open(open),
        attributes: Attributes::default(),
    }
}

#[test]
fn a_file_is_written_and_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    let write = |offset_bytes, data: &[u8]| Request::Write {
        handle: handle(0),
        offset_bytes,
        data: data.to_vec(),
    };
    let read = |offset_bytes, length_bytes| Request::Read {
        handle: handle(0),
        offset_bytes,
        length_bytes,
    };
    let answers = answers(&[
        open(&file, 1 | 2 | 8 | 32),
        write(2, b"cd"),
        write(0, b"ab"),
        read(1, 100),
        read(4, 1),
        Request::Extended(Extension::Fsync { handle: handle(0) }),
        Request::Close { handle: handle(0) },
        read(0, 1),
        open(&file, 2 | 8 | 32),
    ]);
    let ok = Response::Status(Status::Ok);
    assert_eq!(answers[0], Response::Handle(handle(0)));
    assert_eq!(answers[3], Response::Data(b"bcd".to_vec()));
    assert_eq!(answers[4], Response::Status(Status::Eof));
    assert_eq!([&answers[5], &answers[6]], [&ok, &ok]);
    assert_eq!(answers[7], Response::Status(Status::Failure));
    assert_eq!(answers[8], Response::Status(Status::Failure));
    assert_eq!(fs::read(&file).expect("read"), b"abcd");
}

#[test]
fn files_that_are_open_are_bounded() {
    let requests = vec![open(Path::new("/"), 1); HANDLES_MAX + 1];
    let answers = answers(&requests);
    let opened = |answer: &&Response| matches!(answer, Response::Handle(_));
    assert_eq!(answers.iter().filter(opened).count(), HANDLES_MAX);
    assert_eq!(answers[HANDLES_MAX], Response::Status(Status::Failure));
}

#[test]
fn an_answer_has_room_in_a_packet() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, vec![7; 1 << 20]).expect("written");
    for number in 0..300 {
        let name = format!("{number:0>250}");
        fs::write(directory.path().join(name), []).expect("written");
    }
    let list = Request::ReadDirectory { handle: handle(1) };
    let answers = answers(&[
        open(&file, 1),
        Request::OpenDirectory {
            path: bytes(directory.path()),
        },
        Request::Read {
            handle: handle(0),
            offset_bytes: 0,
            length_bytes: u32::MAX,
        },
        list.clone(),
        list.clone(),
        list.clone(),
        list.clone(),
        list,
    ]);
    assert!(matches!(&answers[2], Response::Data(data) if data.len() == DATA_MAX_BYTES));
    assert!(
        answers
            .iter()
            .all(|answer| answer.to_packet(0).len() <= PACKET_MAX_BYTES)
    );
    let names = answers.iter().map(|answer| match answer {
        Response::Names(names) => names.len(),
        _ => 0,
    });
    // The directory itself and its parent are among them.
    assert_eq!(names.sum::<usize>(), 303);
    assert_eq!(answers[7], Response::Status(Status::Eof));
}

#[test]
fn what_is_not_a_request_is_refused() {
    let served = |input: &[u8]| serve(input, &mut Vec::new());
    assert!(served(&[]).is_ok());
    assert!(matches!(
        served(&[0, 0, 0, 5, 3, 0, 0, 0, 3]),
        Err(ServeError::Begin)
    ));
    assert!(matches!(
        served(&[0, 0, 0, 5, 1, 0, 0, 0, 2]),
        Err(ServeError::Begin)
    ));
    for length in [0, PACKET_MAX_BYTES as u32 + 1, u32::MAX] {
        let input = [&INIT[..], &length.to_be_bytes()].concat();
        assert!(matches!(served(&input), Err(ServeError::Length(found)) if found == length));
    }
    let cut = [&INIT[..], &[0, 0, 0, 9, 3]].concat();
    assert!(matches!(served(&cut), Err(ServeError::Read(_))));
    let short = [&INIT[..], &[0, 0, 0, 2, 3, 0]].concat();
    assert!(matches!(served(&short), Err(ServeError::Request(_))));
    // A packet with a number is answered: an unknown type, and a request without its fields.
    let answered = [
        &INIT[..],
        &[0, 0, 0, 5, 99, 0, 0, 0, 1],
        &[0, 0, 0, 5, 3, 0, 0, 0, 2],
    ]
    .concat();
    let mut output = Vec::new();
    serve(&answered[..], &mut output).expect("served");
    let answers: Vec<_> = packets(&output)[1..]
        .iter()
        .map(|packet| Response::parse(packet).expect("an answer"))
        .collect();
    let expected = [(1, Status::Unsupported), (2, Status::BadMessage)];
    assert_eq!(
        answers,
        expected.map(|(id, status)| (id, Response::Status(status)))
    );
}

#[test]
fn the_limits_are_those_of_the_server() {
    let answers = answers(&[Request::Extended(Extension::Limits)]);
    let limits = [
        PACKET_MAX_BYTES,
        DATA_MAX_BYTES,
        DATA_MAX_BYTES,
        HANDLES_MAX,
    ];
    let expected: Vec<u8> = limits
        .iter()
        .flat_map(|&limit| (limit as u64).to_be_bytes())
        .collect();
    let packet = answers[0].to_packet(0);
    assert!(packet.ends_with(&expected), "{packet:?}");
}

#[test]
fn a_pipe_without_a_reader_does_not_stop_the_server() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("pipe");
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, &path, FileType::Fifo, mode, 0).expect("made");
    let attributes = Attributes {
        size_bytes: Some(0),
        ..Attributes::default()
    };
    let path = bytes(&path);
    let answers = answers(&[Request::SetStat { path, attributes }]);
    assert_eq!(answers, [Response::Status(Status::Failure)]);
}
