use std::path::PathBuf;
use std::time::Duration;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use fs_err as fs;
use msb_runtime::{Lock, Running, Sandbox, StartError, StartOptions};
use msb_secrets::{ControlClient, resolve_one};
use tokio::time::{sleep, timeout};

use crate::control::{self, ControlFailure, LastingValue};
use crate::{GivenValues, SecretsError, recorded};

/// The time that the network process of a machine that is up may take to get its values. It listens before the
/// machine boots, so only a host that swaps needs a part of it.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval at which a process that does not listen yet is tried again.
const CONNECT_INTERVAL: Duration = Duration::from_millis(20);

/// The values of a start, on their way to the network process.
#[derive(Debug)]
pub struct Delivery {
    socket: PathBuf,
    values: Vec<LastingValue>,
}

/// A start that failed. The machine is gone, and the sandbox's disk is kept.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The machine cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The network process did not take a value.
    #[error("cannot give the sandbox its secrets")]
    Send(#[from] ControlFailure),
    /// The network process did not take the values in time.
    #[error(
        "cannot give the sandbox its secrets: its network process did not take them within {limit_s} s"
    )]
    Late {
        /// The time limit, in seconds.
        limit_s: u64,
    },
}

impl Diagnose for DeliveryError {
    fn diagnosis(&self) -> Diagnosis {
        let own = || Diagnosis::new(ErrorKind::StartError);
        match self {
            Self::Start(source) => source.diagnosis(),
            Self::Send(source) => own().caused_by(source.diagnosis()),
            Self::Late { .. } => own(),
        }
    }
}

impl Delivery {
    /// Reads the values of a sandbox's secrets from their sources on this host, or from the given ones. `None` if
    /// the sandbox has no secrets. Blocks.
    ///
    /// # Errors
    /// If a value cannot be read, or cannot be one.
    pub fn resolve(sandbox: &Sandbox, given: &GivenValues) -> Result<Option<Self>, SecretsError> {
        let mut secrets = recorded(&sandbox.spec).to_vec();
        if secrets.is_empty() {
            return Ok(None);
        }
        given.lend(&mut secrets);
        let values: Result<Vec<_>, SecretsError> = secrets
            .iter()
            .map(|secret| {
                Ok(LastingValue {
                    resolved: resolve_one(secret)?,
                    expires_ms: secret.expires_ms(),
                })
            })
            .collect();
        Ok(Some(Self {
            socket: sandbox.files.secrets_socket(),
            values: values?,
        }))
    }

    /// Returns true if a value has to be read again while the sandbox runs.
    pub fn expires(&self) -> bool {
        self.values.iter().any(|value| value.expires_ms.is_some())
    }

    /// Boots the sandbox as [`Sandbox::start`] does, and gives its network process the values meanwhile.
    ///
    /// # Errors
    /// Fails as [`Sandbox::start`] does, and if the values cannot be sent. The machine is then gone.
    pub async fn start(
        self,
        sandbox: &Sandbox,
        lock: Lock,
        options: &StartOptions,
    ) -> Result<Running, DeliveryError> {
        // The process of the last machine may still listen at this path.
        let _ = fs::remove_file(&self.socket);
        let mut starting = Box::pin(sandbox.start(lock, options));
        let mut sending = Box::pin(self.send());
        tokio::select! {
            sent = &mut sending => {
                if let Err(error) = sent {
                    // Dropped, the start kills its process, which goes in a moment.
                    drop(starting);
                    let _ = sandbox.wait().await;
                    return Err(error.into());
                }
                Ok(starting.await?)
            }
            running = &mut starting => {
                let running = running?;
                let error: DeliveryError = match timeout(DELIVERY_TIMEOUT, sending).await {
                    Ok(Ok(())) => return Ok(running),
                    Ok(Err(error)) => error.into(),
                    Err(_elapsed) => DeliveryError::Late {
                        limit_s: DELIVERY_TIMEOUT.as_secs(),
                    },
                };
                // The error of the delivery is the one that is reported.
                let _ = sandbox.kill().await;
                let _ = running.ended().await;
                Err(error)
            }
        }
    }

    /// Sends the values once the network process listens.
    async fn send(self) -> Result<(), ControlFailure> {
        let Self { socket, values } = self;
        let mut client = connected(socket).await;
        let sending = tokio::task::spawn_blocking(move || {
            let mut values = values.into_iter();
            values.try_for_each(|value| control::set(&mut client, value))
        });
        // The runtime is shut down, or the thread has panicked.
        sending.await.map_err(|_| ControlFailure::Unanswered)?
    }
}

/// Connects to the network process, however long it takes to listen: its machine's start has a time limit.
async fn connected(socket: PathBuf) -> ControlClient {
    loop {
        let path = socket.clone();
        let connecting = tokio::task::spawn_blocking(move || control::connect(&path));
        if let Ok(Ok(client)) = connecting.await {
            return client;
        }
        sleep(CONNECT_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use msb_secrets::{ControlAnswer, ControlRequest, Secret, SecretSource, SecretValue};

    use super::*;
    use crate::network_process::{TEST_TIMEOUT, listen};

    fn delivery(socket: PathBuf) -> Delivery {
        let mut secret: Secret = "K@api.example.com".parse().expect("a secret");
        secret.from = SecretSource::Given;
        secret.value = Some(SecretValue::new("hunter22").expect("a value"));
        let value = LastingValue {
            resolved: resolve_one(&secret).expect("given"),
            expires_ms: None,
        };
        Delivery {
            socket,
            values: vec![value],
        }
    }

    #[tokio::test]
    async fn values_are_sent_once_the_network_process_listens() {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("secrets.sock");
        let mut sending = Box::pin(delivery(socket.clone()).send());
        let early = timeout(CONNECT_INTERVAL * 3, &mut sending).await;
        assert!(early.is_err(), "nobody listens");
        let requests = listen(&socket, |_| ControlAnswer::Done);
        let sent = timeout(TEST_TIMEOUT, sending).await.expect("in time");
        sent.expect("sent");
        let request = requests.recv_timeout(TEST_TIMEOUT).expect("a request");
        let is_set =
            matches!(&request, ControlRequest::Set { value, .. } if value.expose() == "hunter22");
        assert!(is_set, "{request:?}");
    }

    #[tokio::test]
    async fn a_value_that_is_refused_fails_the_delivery() {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("secrets.sock");
        let _requests = listen(&socket, |_| ControlAnswer::Refused {
            message: "no such secret".to_owned(),
        });
        let sent = timeout(TEST_TIMEOUT, delivery(socket).send()).await;
        let error = DeliveryError::from(sent.expect("in time").expect_err("refused"));
        assert_eq!(error.diagnosis().kind(), ErrorKind::StartError);
    }

    #[test]
    fn a_value_that_a_program_gave_is_needed_for_a_start() {
        let home = tempfile::tempdir().expect("a directory");
        let mut spec = testkit::sandboxes::spec("box");
        let mut secret: Secret = "K@api.example.com".parse().expect("a secret");
        secret.from = SecretSource::Given;
        spec.network = Some(msb_runtime::network::Settings {
            secrets: vec![secret.clone()],
            ..Default::default()
        });
        let sandbox = Sandbox::at(&msb_runtime::Home::new(home.path()), spec);
        let missing = Delivery::resolve(&sandbox, &GivenValues::default());
        let error = missing.expect_err("no value").to_string();
        assert!(error.contains("the secret K"), "{error}");
        secret.value = Some(SecretValue::new("hunter22").expect("a value"));
        let given = GivenValues::of(&[secret]);
        let delivery = Delivery::resolve(&sandbox, &given).expect("given");
        let delivery = delivery.expect("it has a secret");
        assert!(!delivery.expires() && !format!("{delivery:?}").contains("hunter22"));
    }
}
