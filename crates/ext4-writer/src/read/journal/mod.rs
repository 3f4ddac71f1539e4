//! The journal (jbd2), which holds newer blocks of an image that was not unmounted.

mod disk;
mod log;
mod replay;
mod tags;

pub(super) use replay::replay;
