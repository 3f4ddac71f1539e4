//! The trees of layers and of images.

mod archive;
mod fixture;
mod hostile;
mod image;
mod markers;
mod memory;
mod oracle_gnu_tar;
mod oracle_umoci;
mod reference;
mod sparse;
