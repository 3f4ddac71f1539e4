//! The output and effects of `msb` without a machine.

mod arguments;
mod diff;
mod images;
mod registries;
mod save;
mod support;
mod unstarted;
