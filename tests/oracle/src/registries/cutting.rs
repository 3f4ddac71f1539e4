//! A line to a registry that breaks.

use std::io::{self, Read as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;

/// Starts a proxy that breaks off `cuts` connections in all, each after so many bytes of what the
/// client sends. Returns its address; it serves until the process ends.
pub(super) fn serve(target: &str, cuts: usize, after_bytes: u64) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let target = target.to_owned();
    let left = Arc::new(AtomicUsize::new(cuts));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (target, left) = (target.clone(), Arc::clone(&left));
            // A connection that fails is the client's concern.
            thread::spawn(move || connect(&client, &target, &left, after_bytes));
        }
    });
    Ok(address)
}

fn connect(
    client: &TcpStream,
    target: &str,
    left: &AtomicUsize,
    after_bytes: u64,
) -> io::Result<()> {
    let server = TcpStream::connect(target)?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Write);
    });
    let mut limited = client.take(after_bytes);
    let sent_bytes = io::copy(&mut limited, &mut &server)?;
    let fewer = |left: usize| left.checked_sub(1);
    let is_cut = sent_bytes == after_bytes
        && left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer)
            .is_ok();
    if is_cut {
        client.shutdown(Shutdown::Both)?;
        return server.shutdown(Shutdown::Both);
    }
    io::copy(&mut &*client, &mut &server)?;
    server.shutdown(Shutdown::Write)
}
