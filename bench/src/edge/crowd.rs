use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Arguments;
use super::client::Client;
use super::proxy::Proxy;
use crate::report::Row;
use crate::timing;

/// Number of clients that open connections at once.
const CLIENTS: usize = 16;
/// Number of connections that are open at once.
const OPEN: usize = 1_000;
/// Number of requests on each of them.
const REQUESTS: usize = 3;

/// Measures many connections, some of them at once, all of which have to be answered.
pub(super) fn many(arguments: &Arguments, proxy: &Proxy) -> Result<Row> {
    let pairs = timing::alternate(
        arguments.rounds.min(3),
        || crowd(proxy, arguments.connections, false),
        || crowd(proxy, arguments.connections, true),
    )?;
    let name = format!("{} connections, {CLIENTS} at once", arguments.connections);
    Ok(Row::new(name, vec![Some(pairs.a), Some(pairs.b)]))
}

/// Measures many connections that are all open, each of which makes a request after the others.
pub(super) fn open(arguments: &Arguments, proxy: &Proxy) -> Result<Row> {
    raise_open_files()?;
    let pairs = timing::alternate(
        arguments.rounds.min(3),
        || take_turns(proxy, false),
        || take_turns(proxy, true),
    )?;
    let name = format!("{OPEN} connections open, {REQUESTS} requests on each in turn");
    Ok(Row::new(name, vec![Some(pairs.a), Some(pairs.b)]))
}

fn take_turns(proxy: &Proxy, is_ended: bool) -> Result<()> {
    let clients = (0..OPEN).map(|_| Client::connect(proxy, is_ended));
    let mut clients: Vec<_> = clients.collect::<Result<_>>()?;
    for _ in 0..REQUESTS {
        for client in &mut clients {
            client.get(1)?;
        }
    }
    Ok(())
}

/// All four ends of each connection are in this process.
fn raise_open_files() -> Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

fn crowd(proxy: &Proxy, count: usize, is_ended: bool) -> Result<()> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut answered = 0;
                    while next.fetch_add(1, Ordering::Relaxed) < count {
                        Client::connect(proxy, is_ended)?.get(1)?;
                        answered += 1;
                    }
                    anyhow::Ok(answered)
                })
            })
            .collect();
        let mut answered = 0;
        for client in clients {
            let count = client.join().ok().context("a client has panicked")?;
            answered += count?;
        }
        ensure!(
            answered == count,
            "{answered} of {count} connections were answered"
        );
        Ok(())
    })
}
