//! A disk served over NBD, through the clients of other projects: `qemu-io`, `qemu-img`, and libnbd's
//! `nbdinfo` and `nbdcopy`.

#![allow(
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "a failed step fails its test"
)]

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use generations::{FileStorage, Pool};

const SIZE_BYTES: u64 = 8 << 20;

/// The requests that a served disk and a raw file take: each is a line of `qemu-io`. Blocks are
/// written whole and in part, over others, across cuts and at the end; zeros with and without a hole.
const REQUESTS: [&[&str]; 3] = [
    &[
        "write -P 0x11 0 1M",
        "write -P 0x22 4096 512",
        "write -P 0x33 1048064 9000",
        "write -z 64k 64k",
        "write -z -u 256k 300k",
        "flush",
        "read -P 0x22 4096 512",
    ],
    &[
        "write -P 0x44 512 512",
        "aio_write -P 0x55 2M 1M",
        "aio_write -P 0x66 4M 64k",
        "aio_flush",
        "write -f -P 0x77 8387584 1024",
        "read -P 0x11 1024 3072",
        "read -P 0x00 64k 64k",
    ],
    &[
        "write -z 0 1536",
        "write -P 0x88 3145216 1024",
        "discard 4M 64k",
        "write -P 0x99 4M 64k",
        "flush",
        "read -P 0x77 8387584 1024",
    ],
];

/// A disk in a directory, whose clients are served one after the other.
struct Server {
    pool: Pool<FileStorage>,
    socket: PathBuf,
    directory: tempfile::TempDir,
}

impl Server {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pool = Pool::new(FileStorage::open(&directory.path().join("pool")).unwrap());
        pool.create_disk(pool.new_disk_id().unwrap(), SIZE_BYTES)
            .unwrap();
        Self {
            pool,
            socket: directory.path().join("nbd.sock"),
            directory,
        }
    }

    /// Serves the next `clients`.
    fn serve(&self, clients: usize) -> JoinHandle<()> {
        let mut disk = self.pool.open_disk(self.id()).unwrap();
        let _ = fs::remove_file(&self.socket);
        let listener = UnixListener::bind(&self.socket).unwrap();
        std::thread::spawn(move || {
            for _ in 0..clients {
                let (stream, _) = listener.accept().unwrap();
                nbd_server::serve(&stream, &stream, &mut disk).unwrap();
            }
        })
    }

    fn id(&self) -> generations::DiskId {
        self.pool.disks().unwrap()[0]
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    said
}

/// Sends requests by `qemu-io`, which checks the patterns that it reads.
fn qemu_io(file: &str, requests: &[&str]) {
    let commands = requests.iter().flat_map(|request| ["-c", request]);
    let file = ["-f", "raw", "-d", "unmap", file];
    let arguments: Vec<_> = commands.chain(file).collect();
    let said = run("qemu-io", &arguments);
    assert!(!said.contains("verification failed"), "{said}");
}

fn make_raw(path: &Path) {
    fs::File::create(path).unwrap().set_len(SIZE_BYTES).unwrap();
}

#[test]
fn qemu_finds_the_same_bytes_as_in_a_raw_file() {
    let server = Server::new();
    let raw = server.file("raw");
    make_raw(&raw);
    let raw = raw.to_str().unwrap();
    for requests in REQUESTS {
        let served = server.serve(2);
        qemu_io(&server.uri(), requests);
        qemu_io(raw, requests);
        let compared = ["compare", "-f", "raw", "-F", "raw", raw, &server.uri()];
        run("qemu-img", &compared);
        served.join().unwrap();
        // The next requests meet blocks of a sealed generation.
        let mut disk = server.pool.open_disk(server.id()).unwrap();
        disk.cut().unwrap();
        disk.flush().unwrap();
    }
    // Without the server, and without what no flush has kept.
    let disk = server.pool.read_disk(server.id()).unwrap();
    let mut bytes = vec![0; SIZE_BYTES as usize];
    disk.read(&mut bytes, 0).unwrap();
    assert!(bytes == fs::read(raw).unwrap());
}

#[test]
fn libnbd_copies_a_disk_there_and_back() {
    let server = Server::new();
    let source = server.file("source");
    let pattern: Vec<u8> = (0..SIZE_BYTES).map(|index| (index / 700) as u8).collect();
    fs::write(&source, &pattern).unwrap();
    let back = server.file("back");
    let served = server.serve(3);
    // Several connections would need a server for each.
    let one = "--connections=1";
    run(
        "nbdcopy",
        &[one, "--flush", source.to_str().unwrap(), &server.uri()],
    );
    run("nbdcopy", &[one, &server.uri(), back.to_str().unwrap()]);
    let size = run("nbdinfo", &["--size", &server.uri()]);
    served.join().unwrap();
    assert_eq!(size.trim(), SIZE_BYTES.to_string());
    assert!(fs::read(back).unwrap() == pattern);
}

#[test]
fn libnbd_is_told_what_the_disk_can_do() {
    let server = Server::new();
    for (question, answer) in [
        ("flush", true),
        ("fua", true),
        ("trim", true),
        ("zero", true),
        ("read-only", false),
        ("multi-conn", false),
        ("structured-reply", false),
    ] {
        let served = server.serve(1);
        let verb = if question == "read-only" {
            "--is"
        } else {
            "--can"
        };
        let asked = Command::new("nbdinfo")
            .args([verb, question, &server.uri()])
            .output()
            .unwrap();
        // 2 is `nbdinfo`'s false; 1 is an error.
        let expected = if answer { 0 } else { 2 };
        assert_eq!(asked.status.code(), Some(expected), "{question}: {asked:?}");
        served.join().unwrap();
    }
}
