//! The secrets of a sandbox: values that programs use in requests and cannot read.

use std::sync::Arc;

use msb_cancellation::Effect;
use msb_client::blocking;
use msb_sandbox_handle::Handle;
use msb_sandbox_secrets::{NewValue, SecretInfo, SecretsError};
use msb_secrets::{SecretName, SecretSource, SecretValue};

use crate::{Operation, Sandbox};

/// The secrets of a sandbox. They are given when it is created.
///
/// ```no_run
/// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
/// for secret in sandbox.secrets().list().await? {
///     println!("{} {:?}", secret.name, secret.state);
/// }
/// sandbox.secrets().set("GH_TOKEN").await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Secrets {
    handle: Arc<Handle>,
}

impl Sandbox {
    /// Returns the secrets.
    pub fn secrets(&self) -> Secrets {
        Secrets {
            handle: self.handle(),
        }
    }
}

impl Secrets {
    /// Returns the secrets, without values, with their states if the sandbox is running.
    ///
    /// # Errors
    /// If the sandbox's description cannot be read, or its network process does not answer.
    pub fn list(&self) -> Operation<Vec<SecretInfo>> {
        let handle = Arc::clone(&self.handle);
        Operation::new(async move {
            handle.settled().await;
            let stored = handle.stored();
            blocking(move || msb_sandbox_secrets::list(&stored)).await
        })
    }

    /// Reads the value of a secret of the running sandbox from its source again.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), [`NotRunning`](crate::ErrorKind::NotRunning), or if the value
    /// cannot be read.
    pub fn set(&self, name: impl Into<String>) -> Operation<()> {
        self.set_with(name, NewValue::Recorded)
    }

    /// Gives a secret another source, which later starts read, too.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), or if the value cannot be read.
    pub fn set_from(&self, name: impl Into<String>, source: SecretSource) -> Operation<()> {
        self.set_with(name, NewValue::From(source))
    }

    /// Gives a secret of the running sandbox a value, which no file has: the next start needs its source.
    ///
    /// # Errors
    /// Fails as [`set`](Self::set) does.
    pub fn set_value(&self, name: impl Into<String>, value: SecretValue) -> Operation<()> {
        self.set_with(name, NewValue::Given(value))
    }

    /// Gives a secret another value.
    ///
    /// # Errors
    /// Fails as [`set`](Self::set) does.
    pub fn set_with(&self, name: impl Into<String>, new: NewValue) -> Operation<()> {
        self.change(name.into(), move |stored, name| {
            msb_sandbox_secrets::set(stored, name, new)
        })
    }

    /// Removes a secret. In the running sandbox, requests with its placeholder fail from now on.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), or if the sandbox's description cannot be written.
    pub fn remove(&self, name: impl Into<String>) -> Operation<()> {
        self.change(name.into(), msb_sandbox_secrets::remove)
    }

    fn change(
        &self,
        name: String,
        change: impl FnOnce(&mut msb_runtime::Sandbox, &SecretName) -> Result<(), SecretsError>
        + Send
        + 'static,
    ) -> Operation<()> {
        self.handle
            .change(Effect::Slight, move |handle| async move {
                let name: SecretName = name.parse()?;
                let mut stored = handle.stored();
                let changing = blocking(move || change(&mut stored, &name).map(|()| stored));
                handle.replace(changing.await?);
                Ok(())
            })
    }
}
