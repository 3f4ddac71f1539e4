//! Images of a store, pushed to registries in this process.

mod hostile;
mod memory;
mod oracle;
mod pushes;
