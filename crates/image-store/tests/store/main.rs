//! The store as its users see it: images in from registries and archives, out as artifacts.

mod archives;
mod faults;
mod images;
mod integrity;
mod lifecycle;
mod limits;
mod oracle;
mod processes;
mod pruning;
mod pulls;
mod references;
mod scenarios;
mod server;
mod space;
mod support;
