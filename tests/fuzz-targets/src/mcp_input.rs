//! Bytes of a model's client, on the standard input of `msb mcp`.

use std::future::pending;
use std::path::Path;
use std::time::Duration;

use fs_err as fs;
use msb_mcp::{Settings, serve};
use msb_sdk::{Msb, PullPolicy};
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};

/// The bytes that wait between client and server.
const BUFFER_BYTES: usize = 64 << 10;
/// The messages that a session begins with.
const GREETING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

/// Plays a client that sends bytes, behind a greeting or without one. There is no image, and so no sandbox.
///
/// # Panics
/// If the server does not end with its client, writes anything but messages, or makes a sandbox.
pub fn run(bytes: &[u8]) {
    let Some((&choice, lines)) = bytes.split_first() else {
        return;
    };
    let greeting = if choice & 1 == 0 { GREETING } else { "" };
    let input = [greeting.as_bytes(), lines].concat();
    let home = tempfile::tempdir().expect("a directory");
    let msb = Msb::builder().home(home.path()).build().expect("a client");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (client, server) = tokio::io::duplex(BUFFER_BYTES);
        let (reader, writer) = tokio::io::split(client);
        let ended = async {
            let serving = serve(msb, settings(), tokio::io::split(server), pending::<()>());
            // A client that is refused is no fault.
            let _ = tokio::join!(serving, send(writer, &input));
        };
        let received = async {
            receive(reader).await;
            // The server's end counts, not that of its output.
            pending::<()>().await;
        };
        let both = async {
            tokio::select! {
                () = ended => {}
                () = received => {}
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(60), both).await;
        ended.expect("the server ends with its client");
    });
    assert_eq!(directories(&home.path().join("sandboxes")), 0);
}

fn settings() -> Settings {
    let mut settings = Settings {
        uses_roots: false,
        ..Settings::default()
    };
    settings.template.pull = PullPolicy::Never;
    settings
}

/// Sends the bytes, and closes the stream.
async fn send(mut writer: WriteHalf<DuplexStream>, bytes: &[u8]) {
    // The server may have ended.
    let _ = writer.write_all(bytes).await;
    let _ = writer.shutdown().await;
}

/// Reads messages until the stream ends.
async fn receive(reader: ReadHalf<DuplexStream>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while let Ok(1..) = reader.read_until(b'\n', &mut line).await {
        // The end may cut a message.
        if line.ends_with(b"\n") {
            let message: Value = serde_json::from_slice(&line).expect("a line is a message");
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
        }
        line.clear();
    }
}

fn directories(path: &Path) -> usize {
    let Ok(entries) = fs::read_dir(path) else {
        return 0;
    };
    let directories = entries.flatten().filter(|entry| entry.path().is_dir());
    directories.count()
}
