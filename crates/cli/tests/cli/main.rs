//! The output and effects of `msb` without a machine.

mod arguments;
mod images;
mod support;
mod unstarted;
