use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, ensure};

use super::Arguments;
use super::client::Client;
use super::proxy::Proxy;
use crate::report::Row;
use crate::timing;

/// Number of clients that open connections at once.
const CLIENTS: usize = 16;

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
