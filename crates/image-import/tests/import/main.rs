//! The store as its users see it: images come from registries and archives, and become artifacts.

mod archives;
mod documents;
mod faults;
mod integrity;
mod layouts;
mod lifecycle;
mod limits;
mod oracle;
mod outlines;
mod packing;
mod processes;
mod pruning;
mod pulls;
mod references;
mod scenarios;
mod space;
mod support;
mod trees;

use testkit::{images, registry as server};
