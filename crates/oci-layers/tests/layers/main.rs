//! What layers and images of layers come to.

mod archive;
mod image;
mod markers;
mod oracle_umoci;
mod reference;
mod sparse;
mod stand;
