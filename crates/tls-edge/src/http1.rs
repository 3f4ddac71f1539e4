//! An ended connection in HTTP/1.1, which speaks HTTP in turns and rests in between.
//!
//! A connection has its turn, which is one of a bounded number, from the first byte of a request until both bodies have
//! ended. hyper's two ends and their buffers exist only during a turn. In between the connection holds two sessions of
//! TLS, and nothing is read from either side: whoever sends waits in its own kernel.

use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep_until, timeout};

use crate::forward::Exchange;
use crate::limits::{HANDSHAKE_TIMEOUT, LULL_TIMEOUT, TURN_TIMEOUT};
use crate::pending::{Pending, is_clean};
use crate::raw::Rest;
use crate::served::Refused;
use crate::side::Side;
use crate::turn::{Ends, Event};

/// The two sides of a connection that rests. There is no host if it did not prove its name.
struct Sides<G, H> {
    guest: Side<G>,
    host: Option<Side<H>>,
}

/// The end of a turn.
enum TurnEnd<G, H> {
    /// The connection rests.
    Rests(Sides<G, H>),
    /// The connection has ended, with an answer that was broken off if it is false.
    Ended(bool),
}

/// Answers the requests of a guest until a side ends. Returns false if an answer was broken off.
///
/// # Errors
///
/// Fails if the connection waited too long for its turn.
pub(crate) async fn serve<G, H>(
    (guest, host): (G, Option<H>),
    exchange: &Arc<Exchange>,
    pending: &mut Pending<'_>,
) -> Result<bool, Refused>
where
    G: Rest + Send + 'static,
    H: Rest + Send + 'static,
{
    let mut sides = Sides {
        guest: Side::new(guest),
        host: host.map(Side::new),
    };
    let mut turn = None;
    loop {
        // What came with the handshake is in the sessions: the first turn waits for no arrival.
        if turn.is_none() {
            let acquired = timeout(TURN_TIMEOUT, exchange.active().acquire()).await;
            let Ok(Ok(permit)) = acquired else {
                return Err(Refused::Waited);
            };
            turn = Some(permit);
        }
        // What it needs is not kept while the connection rests.
        let ended = Box::pin(take_turn(sides, exchange, pending)).await;
        sides = match ended {
            TurnEnd::Rests(sides) => sides,
            TurnEnd::Ended(is_clean) => return Ok(is_clean),
        };
        pending.deliver_all();
        // A part of the next head takes more memory than a connection that rests, so that it keeps the turn.
        if !sides.guest.has_ahead() {
            turn = None;
            sides.arrival().await;
        }
    }
}

impl<G: Rest, H: Rest> Sides<G, H> {
    /// Waits until something arrives from a side, which may be its end.
    async fn arrival(&mut self) {
        let Some(host) = &mut self.host else {
            return self.guest.arrival().await;
        };
        tokio::select! {
            () = self.guest.arrival() => {}
            () = host.arrival() => {}
        }
    }
}

/// Speaks HTTP until the connection rests or ends.
async fn take_turn<G, H>(
    Sides { guest, host }: Sides<G, H>,
    exchange: &Arc<Exchange>,
    pending: &mut Pending<'_>,
) -> TurnEnd<G, H>
where
    G: Rest + Send + 'static,
    H: Rest + Send + 'static,
{
    let Ok(mut ends) = Ends::begin(guest, host, exchange).await else {
        return TurnEnd::Ended(false);
    };
    let event = drive(&mut ends, exchange, pending).await;
    match event {
        Event::Rests => match ends.rest().await {
            Some((guest, host)) => TurnEnd::Rests(Sides { guest, host }),
            None => TurnEnd::Ended(false),
        },
        Event::Served(Ok(())) => TurnEnd::Ended(match exchange.take_change() {
            Some(change) => match ends.hand_over().await {
                Some((guest, host)) => change.copy(guest, host).await.is_ok(),
                None => false,
            },
            None => true,
        }),
        Event::Served(result) => TurnEnd::Ended(is_clean(&result)),
        Event::Broken => TurnEnd::Ended(false),
        Event::Lull => {
            // A guest that does not read is not waited for.
            let _ = timeout(HANDSHAKE_TIMEOUT, ends.into_guest().shutdown()).await;
            TurnEnd::Ended(true)
        }
    }
}

/// Drives both ends of HTTP until the turn ends.
async fn drive<G, H>(
    ends: &mut Ends<G, H>,
    exchange: &Arc<Exchange>,
    pending: &mut Pending<'_>,
) -> Event
where
    G: Rest + Send + 'static,
    H: Rest + Send + 'static,
{
    let control = exchange.control();
    let mut is_closing = false;
    let mut active = Instant::now();
    loop {
        tokio::select! {
            biased;
            // A request has ended, or tells of something.
            () = pending.deliver() => active = Instant::now(),
            () = control.ended.notified() => return Event::Broken,
            () = control.closing.notified(), if !is_closing => {
                is_closing = true;
                ends.close();
            }
            event = ends.next(is_closing) => return event,
            () = sleep_until(active + LULL_TIMEOUT) => {
                if !exchange.exchanges().are_under_way() {
                    return Event::Lull;
                }
                active = Instant::now();
            }
        }
    }
}
