use std::collections::BTreeMap;
use std::sync::Arc;

use oci_image::Reference;
use oci_registry::{Client, CredentialSource, RegistryError, Repository};
use tokio::sync::Mutex;

use super::{PushOptions, PushProgress, ReportedRetries};

/// The repositories that layers were pulled from, each connected to once.
#[derive(Debug)]
pub(super) struct Origins {
    options: PushOptions,
    /// Registry of the destination, which the option of plain text and a given credential are for.
    registry: String,
    progress: Arc<dyn PushProgress>,
    connected: Mutex<BTreeMap<String, Arc<Repository>>>,
}

impl Origins {
    pub(super) fn new(
        options: &PushOptions,
        destination: &Reference,
        progress: Arc<dyn PushProgress>,
    ) -> Self {
        Self {
            options: options.clone(),
            registry: destination.registry().to_owned(),
            progress,
            connected: Mutex::default(),
        }
    }

    /// Returns the repository with a layer, by its name such as `docker.io/library/debian`; `None`
    /// if the name cannot be parsed.
    pub(super) async fn connect(
        &self,
        name: &str,
    ) -> Result<Option<Arc<Repository>>, RegistryError> {
        let Ok(reference) = name.parse::<Reference>() else {
            return Ok(None);
        };
        let mut connected = self.connected.lock().await;
        if let Some(repository) = connected.get(name) {
            return Ok(Some(Arc::clone(repository)));
        }
        let is_destination = reference.registry() == self.registry;
        let credentials = match &self.options.credentials {
            CredentialSource::Given(_) if !is_destination => &CredentialSource::None,
            source => source,
        };
        let client = Client {
            plain_http: self.options.plain_http && is_destination,
            credentials,
            registries: &self.options.registries,
            limits: &self.options.registry_limits,
            listener: Arc::new(ReportedRetries(Arc::clone(&self.progress))),
        };
        let repository = Arc::new(Repository::connect(&client, &reference).await?);
        connected.insert(name.to_owned(), Arc::clone(&repository));
        Ok(Some(repository))
    }
}
