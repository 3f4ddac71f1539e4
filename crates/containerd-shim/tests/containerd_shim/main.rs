//! The shim over a machine of scripts, as containerd sees it: calls over ttrpc, events, FIFOs and commands.

#[path = "../scripted_shim/pod.rs"]
mod pod;
#[path = "../scripted_shim/script.rs"]
mod script;

mod chaos;
mod command;
mod containerd;
mod events;
mod harness;
mod lifecycle;
mod model;
mod pods;
mod stdio;
