//! The values that the answers of a host are searched for: all that its secrets have or had, in the whole sandbox.
//!
//! A host may answer one request with what another one held, on another connection, or much later in an answer that is
//! still open.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use msb_secrets::SecretName;

use crate::reflect::{Reflected, Scan, Watched};
use crate::settings::Destination;
use crate::values::Values;

/// The secrets of a host, whose values its answers are searched for.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    values: Values,
    secrets: Arc<[SecretName]>,
}

/// The search of one body, also for values that become known while it is open.
#[derive(Debug)]
pub(crate) struct LiveScan {
    watch: Watch,
    /// The number of known values that the search knows all of.
    generation: u64,
    scan: Scan,
}

impl Watch {
    /// Returns the secrets of a host. `None` if it has none, and only rules.
    pub(crate) fn new(values: &Values, destination: &Destination) -> Option<Self> {
        let secrets = destination.secrets.iter();
        let secrets: Arc<[_]> = secrets.map(|secret| secret.name.clone()).collect();
        (!secrets.is_empty()).then(|| Self {
            values: values.clone(),
            secrets,
        })
    }

    /// Returns the values that are known now, to search what is there as a whole.
    pub(crate) fn now(&self) -> Watched {
        Watched::new(self.values.known(&self.secrets))
    }

    /// Returns the search of a body that begins now.
    pub(crate) fn scan(&self) -> LiveScan {
        let mut scan = LiveScan {
            watch: self.clone(),
            generation: self.values.generation(),
            scan: Scan::default(),
        };
        scan.learn();
        scan
    }
}

impl LiveScan {
    /// Takes the next bytes of a body, as [`Scan::feed`] does.
    ///
    /// # Errors
    ///
    /// Fails if the body holds a value, and from then on.
    pub(crate) fn feed(&mut self, bytes: &Bytes) -> Result<Bytes, Reflected> {
        let generation = self.watch.values.generation();
        if generation != self.generation {
            self.generation = generation;
            self.learn();
        }
        self.scan.feed(bytes)
    }

    /// Returns the bytes that were held back, at the end of the body.
    pub(crate) fn finish(&mut self) -> Bytes {
        self.scan.finish()
    }

    /// Searches the trailers after the body.
    ///
    /// # Errors
    ///
    /// Fails if they hold a value.
    pub(crate) fn trailers(&self, trailers: &HeaderMap) -> Result<(), Reflected> {
        self.watch.now().headers(trailers)
    }

    fn learn(&mut self) {
        let known = self.watch.values.known(&self.watch.secrets);
        self.scan.watch(known);
    }
}
