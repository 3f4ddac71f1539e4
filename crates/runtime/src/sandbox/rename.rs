use std::io;

use super::create::{check_name, write_spec};
use super::{CreateError, Sandbox};
use crate::Home;

/// Why a sandbox was not renamed.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// It has its name in the guest too.
    #[error("sandbox {name} is running; stop it first")]
    Running {
        /// Its name.
        name: String,
    },
    /// The new name cannot be had.
    #[error("cannot take the name")]
    Name(#[source] CreateError),
    /// Its description cannot be written.
    #[error("cannot rename sandbox {name}")]
    Io {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Sandbox {
    /// Gives a sandbox that does not run another name.
    ///
    /// # Errors
    /// When it runs, or the name is taken or not one.
    pub fn rename(&mut self, home: &Home, name: &str) -> Result<(), RenameError> {
        let old_name = self.spec.name.clone();
        let io_error = |source| RenameError::Io {
            name: old_name.clone(),
            source,
        };
        let Some(_lock) = self.lock().map_err(io_error)? else {
            return Err(RenameError::Running { name: old_name });
        };
        check_name(home, name).map_err(RenameError::Name)?;
        let mut spec = self.spec.clone();
        spec.name = name.to_owned();
        write_spec(&self.files, &spec).map_err(io_error)?;
        self.spec = spec;
        Ok(())
    }
}
