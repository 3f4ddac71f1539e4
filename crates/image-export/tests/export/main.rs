//! Images of a store, pushed to registries in this process.

mod oracle;
mod pushes;
