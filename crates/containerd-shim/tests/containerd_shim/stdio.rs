//! Input and output over FIFOs and files.

use std::path::{Path, PathBuf};

use containerd_protocol::Empty;
use containerd_protocol::task::CloseIoRequest;
use fs_err as fs;
use rustix::fs::{CWD, FileType, Mode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;

use crate::harness::{Harness, exec_request};

/// More than a FIFO and all buffers hold.
const LONG_BYTES: usize = 8 << 20;

fn fifo(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .expect("there is room");
    path
}

fn reader(path: &Path) -> pipe::Receiver {
    pipe::OpenOptions::new()
        .open_receiver(path)
        .expect("it is there")
}

/// Returns true if the bytes are those of the script `fill`, from one of its positions on.
fn is_filled(bytes: &[u8], position: usize) -> bool {
    bytes
        .iter()
        .enumerate()
        .all(|(index, byte)| usize::from(*byte) == (position + index) % 251)
}

#[tokio::test]
async fn input_comes_back_as_output_until_it_is_closed() {
    let shim = Harness::new().await;
    let directory = shim.directory.path();
    let (stdin, stdout) = (fifo(directory, "in"), fifo(directory, "out"));
    let mut request = shim.request("a", "cat");
    request.stdin = stdin.display().to_string();
    request.stdout = stdout.display().to_string();
    let mut output = reader(&stdout);
    shim.run(&request).await;
    let mut bytes = [0; 5];
    // A client that goes away does not end the input.
    for text in [b"first", b"again"] {
        let mut input = pipe::OpenOptions::new()
            .open_sender(&stdin)
            .expect("the shim reads");
        input.write_all(text).await.expect("the shim reads");
        output.read_exact(&mut bytes).await.expect("it is copied");
        assert_eq!(&bytes, text);
    }
    let close = CloseIoRequest {
        id: "a".into(),
        exec_id: String::new(),
        stdin: true,
    };
    assert_eq!(shim.tasks.call("CloseIO", &close).await, Ok(Empty {}));
    assert_eq!(shim.tasks.wait("a", "").await, Ok(0));
    // The output ends before the task is deleted.
    assert_eq!(output.read(&mut bytes).await.expect("it ends"), 0);
    assert_eq!(shim.tasks.delete("a", "").await, Ok(0));
}

#[tokio::test]
async fn input_that_is_closed_before_the_start_ends() {
    let shim = Harness::new().await;
    let stdin = fifo(shim.directory.path(), "in");
    let mut request = shim.request("a", "cat");
    request.stdin = stdin.display().to_string();
    shim.tasks.create(&request).await.expect("it is created");
    let close = CloseIoRequest {
        id: "a".into(),
        exec_id: String::new(),
        stdin: true,
    };
    assert_eq!(shim.tasks.call("CloseIO", &close).await, Ok(Empty {}));
    shim.tasks.start("a", "").await.expect("it is started");
    assert_eq!(shim.tasks.wait("a", "").await, Ok(0));
}

#[tokio::test]
async fn long_output_is_whole_with_readers_that_come_and_go() {
    let shim = Harness::new().await;
    let stdout = fifo(shim.directory.path(), "out");
    let mut request = shim.request("a", &format!("fill {LONG_BYTES}"));
    request.stdout = stdout.display().to_string();
    shim.run(&request).await;
    let mut position = 0;
    for part_bytes in [LONG_BYTES / 4, LONG_BYTES / 2, LONG_BYTES / 4] {
        // containerd opens the FIFO anew after its restart.
        let mut output = reader(&stdout);
        let mut part = vec![0; part_bytes];
        output.read_exact(&mut part).await.expect("the shim writes");
        assert!(
            is_filled(&part, position),
            "the output differs behind byte {position}"
        );
        position += part_bytes;
    }
    assert_eq!(shim.tasks.wait("a", "").await, Ok(0));
    assert_eq!(shim.tasks.delete("a", "").await, Ok(0));
}

#[tokio::test]
async fn the_last_bytes_come_before_the_end_of_the_output() {
    let shim = Harness::new().await;
    shim.run(&shim.request("a", "sleep")).await;
    for round in 0..50 {
        let exec_id = format!("e{round}");
        let stdout = fifo(shim.directory.path(), &exec_id);
        let mut output = reader(&stdout);
        let mut request = exec_request("a", &exec_id, "fill 100000");
        request.stdout = stdout.display().to_string();
        let added: Empty = shim
            .tasks
            .call("Exec", &request)
            .await
            .expect("it is created");
        assert_eq!(added, Empty {});
        shim.tasks
            .start("a", &exec_id)
            .await
            .expect("it is started");
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).await.expect("it ends");
        assert!(
            bytes.len() == 100_000 && is_filled(&bytes, 0),
            "{} bytes came",
            bytes.len()
        );
        assert_eq!(shim.tasks.delete("a", &exec_id).await, Ok(0));
    }
}

#[tokio::test]
async fn output_goes_to_a_file_or_nowhere() {
    let shim = Harness::new().await;
    let file = shim.directory.path().join("log");
    fs::write(&file, "before ").expect("there is room");
    let mut request = shim.request("a", "echo after");
    request.stdout = format!("file://{}", file.display());
    shim.run(&request).await;
    assert_eq!(shim.tasks.wait("a", "").await, Ok(0));
    assert_eq!(shim.tasks.delete("a", "").await, Ok(0));
    assert_eq!(
        fs::read_to_string(&file).expect("it is there"),
        "before after\n"
    );

    let shim = Harness::new().await;
    shim.run(&shim.request("a", &format!("fill {LONG_BYTES}")))
        .await;
    assert_eq!(shim.tasks.wait("a", "").await, Ok(0));
}
