//! The store as its users see it: images in from registries and archives, out as artifacts.

mod archives;
mod faults;
mod images;
mod lifecycle;
mod oracle;
mod processes;
mod pulls;
mod server;
mod space;
mod support;
