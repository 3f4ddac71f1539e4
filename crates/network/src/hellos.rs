use std::sync::Arc;

use msb_tls_edge::{Events as _, PassingHello, Seen};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::NetworkLogDetail;
use crate::gate::Gate;
use crate::recorded_flow::RecordedFlow;
use crate::tls_events::TlsEvents;

/// The port of HTTPS.
const HTTPS_PORT: u16 = 443;
/// The number of hellos that are read at once: less than 1 MiB. A hello is read within one or two segments; connections beyond
/// these pass without a record of their name.
const HELLOS_MAX: usize = 32;

/// The TLS hellos of connections that are passed on, which are read for the log.
#[derive(Debug)]
pub(crate) struct Hellos {
    /// The rules of the moment, whose requests have ports of TLS; `None` if nothing is logged.
    gate: Option<Gate>,
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
    pub(crate) fn new(log: NetworkLogDetail, gate: Gate) -> Self {
        Self {
            gate: (log != NetworkLogDetail::Off).then_some(gate),
            places: Arc::new(Semaphore::new(HELLOS_MAX)),
        }
    }

    /// Returns a reader for a connection to this port. `None` if it is not a port of TLS.
    pub(crate) fn watch(&self, port: u16, flow: &RecordedFlow) -> Option<HelloWatch> {
        self.is_of_tls(port).then(|| HelloWatch {
            events: flow.tls_events(),
            places: Arc::clone(&self.places),
            reading: None,
        })
    }

    fn is_of_tls(&self, port: u16) -> bool {
        let gate = self.gate.as_ref();
        gate.is_some_and(|gate| port == HTTPS_PORT || gate.policy().ends_tls_at(port))
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

#[cfg(test)]
mod tests {
    use msb_secrets::Secret;

    use super::*;
    use crate::asks::Asks;
    use crate::policy::Policy;
    use crate::{DefaultPolicy, NetworkRules, Settings};

    #[test]
    fn hellos_are_read_at_the_ports_of_the_present_rules() {
        let rules =
            |texts: &[&str]| NetworkRules::parse(DefaultPolicy::Listed, texts, &[]).unwrap();
        let to = vec!["b.test:7443".parse().unwrap()];
        let mut settings = Settings {
            secrets: vec![Secret::new("KEY".parse().unwrap(), to)],
            ..Settings::default()
        };
        settings.set_rules(rules(&["https://a.test:8443"]));
        let gate = Gate::new(Policy::new(&settings), Asks::new(None));
        let hellos = Hellos::new(NetworkLogDetail::Http, gate.clone());
        let ports = |hellos: &Hellos| {
            let all = [443, 7443, 8443, 9443].into_iter();
            all.filter(|port| hellos.is_of_tls(*port))
                .collect::<Vec<_>>()
        };
        assert_eq!(ports(&hellos), [443, 7443, 8443]);
        gate.follow(&rules(&["https://a.test:9443"]), false);
        assert_eq!(ports(&hellos), [443, 7443, 9443]);
        let silent = Hellos::new(NetworkLogDetail::Off, gate);
        assert!(ports(&silent).is_empty());
    }
}
