//! Random layers over a few names, so that they meet often, and what they come to.

mod reference;
mod steps;

pub use reference::reference;
pub use steps::{Action, Step, layers, layers_of_seed};
