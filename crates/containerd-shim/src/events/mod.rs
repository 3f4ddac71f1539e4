//! Events: kept in one order until containerd has taken them.

mod publisher;
mod queue;

pub(crate) use publisher::Publisher;
pub(crate) use queue::EventQueue;
