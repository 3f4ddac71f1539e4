//! The host's end of a test machine's agent port.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// A timeout that is longer than any boot of these tests. A machine that hangs fails its test.
const TIMEOUT: Duration = Duration::from_secs(180);

pub(crate) struct Host {
    port: BufReader<UnixStream>,
}

impl Host {
    /// Returns the host's end, and the machine's end.
    pub(crate) fn new() -> (Self, UnixStream) {
        let (host, machine) = UnixStream::pair().unwrap();
        host.set_read_timeout(Some(TIMEOUT)).unwrap();
        host.set_write_timeout(Some(TIMEOUT)).unwrap();
        (
            Self {
                port: BufReader::new(host),
            },
            machine,
        )
    }

    /// Reads the guest's report, up to "ready".
    pub(crate) fn read_report(&mut self) -> Vec<String> {
        let mut report = Vec::new();
        loop {
            let mut line = String::new();
            self.port.read_line(&mut line).expect("the guest to report");
            match line.trim_end() {
                "ready" => return report,
                "" => panic!("the guest ended after {report:?}"),
                other => report.push(other.to_owned()),
            }
        }
    }

    /// Sends `bytes`, and returns the guest's answer to them.
    pub(crate) fn echo(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut writer = self.port.get_ref().try_clone().unwrap();
        let mut received = vec![0; bytes.len()];
        thread::scope(|scope| {
            scope.spawn(move || {
                writer
                    .write_all(&u64::try_from(bytes.len()).unwrap().to_le_bytes())
                    .unwrap();
                writer.write_all(bytes).unwrap();
            });
            self.port
                .read_exact(&mut received)
                .expect("the guest to send it all back");
        });
        received
    }
}
