//! The journal (jbd2): what an image that was not unmounted holds of newer blocks.

mod disk;
mod log;
mod replay;
mod tags;

pub(super) use replay::replay;
