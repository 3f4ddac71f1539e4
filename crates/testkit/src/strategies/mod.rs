//! Random layers over a few names, so that their paths often collide, and the images that they
//! make.

mod reference;
mod steps;

pub use reference::reference;
pub use steps::{Action, Step, layers, layers_of_seed};
