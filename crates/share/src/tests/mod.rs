//! Requests of a hostile guest, through the ring to the directory.

mod asked;
mod beside;
mod disk;
mod entries;
mod guest;
mod links;
mod listed;
mod memory;
mod names;
mod opened;
mod read_only;
mod ring;
mod ruled;
mod users;

use fuse_backend_rs::abi::fuse_abi::{
    CreateIn, LinkIn, MkdirIn, MknodIn, Opcode, Rename2In, RenameIn,
};

use self::guest::{NOTHING, body};

/// A request that creates, changes or removes an entry: its title, its operation and its body.
type Request = (&'static str, Opcode, Vec<u8>);

/// Returns one request of each kind for the entry `name` of the root. `there` is an existing file
/// of the root, and `node` is its node.
fn requests(name: &str, there: &str, node: u64) -> Vec<Request> {
    let create = |flags: i32| CreateIn {
        flags: flags.unsigned_abs(),
        mode: 0o644,
        ..CreateIn::default()
    };
    let newdir = fuse_backend_rs::abi::fuse_abi::ROOT_ID;
    let rename = RenameIn { newdir };
    let rename2 = Rename2In {
        newdir,
        ..Rename2In::default()
    };
    let fifo = MknodIn {
        mode: libc::S_IFIFO | 0o644,
        ..MknodIn::default()
    };
    let link = LinkIn { oldnodeid: node };
    vec![
        (
            "create",
            Opcode::Create,
            body(create(libc::O_RDWR), &[name]),
        ),
        (
            "create, O_EXCL",
            Opcode::Create,
            body(create(libc::O_EXCL), &[name]),
        ),
        ("mkdir", Opcode::Mkdir, body(MkdirIn::default(), &[name])),
        ("mknod", Opcode::Mknod, body(fifo, &[name])),
        (
            "symlink",
            Opcode::Symlink,
            body(NOTHING, &[name, "anywhere"]),
        ),
        ("link", Opcode::Link, body(link, &[name])),
        ("rename from", Opcode::Rename, body(rename, &[name, "new"])),
        ("rename to", Opcode::Rename, body(rename, &[there, name])),
        (
            "rename2 from",
            Opcode::Rename2,
            body(rename2, &[name, "new"]),
        ),
        ("rename2 to", Opcode::Rename2, body(rename2, &[there, name])),
        ("rmdir", Opcode::Rmdir, body(NOTHING, &[name])),
        ("unlink", Opcode::Unlink, body(NOTHING, &[name])),
    ]
}
