//! Runs the program `msb` like a user, in its own home and without a machine.

mod answers;
mod completion;
mod images;
mod program;
mod qemu;
mod removals;
mod sandboxes;
