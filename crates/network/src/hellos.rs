use std::sync::Arc;

use msb_tls_edge::{Events as _, PassingHello, Seen};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::recorded_flow::RecordedFlow;
use crate::tls_events::TlsEvents;
use crate::{NetworkLogDetail, Settings};

/// The port of HTTPS.
const HTTPS_PORT: u16 = 443;
/// The number of hellos that are read at once: less than 1 MiB. A hello is read within one or two segments; connections beyond
/// these pass without a record of their name.
const HELLOS_MAX: usize = 32;

/// The TLS hellos of connections that are passed on, which are read for the log.
#[derive(Debug)]
pub(crate) struct Hellos {
    /// The ports of TLS; empty if nothing is logged.
    ports: Vec<u16>,
    places: Arc<Semaphore>,
}

/// A reader of the hello of one connection, from the guest's first bytes until the hello ends.
pub(crate) struct HelloWatch {
    events: TlsEvents,
    places: Arc<Semaphore>,
    /// On the heap: most connections have none, and all have room for one in place.
    reading: Option<Box<Reading>>,
}

struct Reading {
    hello: PassingHello,
    _place: OwnedSemaphorePermit,
}

impl Hellos {
    pub(crate) fn new(settings: &Settings) -> Self {
        let secrets = settings.secrets.iter().flat_map(|secret| &secret.to);
        let destinations = settings.requests.iter().chain(secrets);
        let mut ports: Vec<_> = destinations.map(|to| to.port).collect();
        ports.push(HTTPS_PORT);
        if settings.log == NetworkLogDetail::Off {
            ports.clear();
        }
        Self {
            ports,
            places: Arc::new(Semaphore::new(HELLOS_MAX)),
        }
    }

    /// Returns a reader for a connection to this port. `None` if it is not a port of TLS.
    pub(crate) fn watch(&self, port: u16, flow: &RecordedFlow) -> Option<HelloWatch> {
        self.ports.contains(&port).then(|| HelloWatch {
            events: flow.tls_events(),
            places: Arc::clone(&self.places),
            reading: None,
        })
    }
}

impl HelloWatch {
    /// Looks at the guest's next bytes. Returns true if further ones are of interest.
    pub(crate) fn look(&mut self, bytes: &[u8]) -> bool {
        if self.reading.is_none() {
            self.reading = self.begin();
        }
        let Some(reading) = &mut self.reading else {
            return false;
        };
        match reading.hello.look(bytes) {
            Seen::Part => true,
            Seen::Other => false,
            Seen::Hello(event) => {
                self.events.event(event);
                false
            }
        }
    }

    /// Takes a place among the hellos that are read. `None` if there is none.
    fn begin(&self) -> Option<Box<Reading>> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Box::new(Reading {
            hello: PassingHello::default(),
            _place: place,
        }))
    }
}
