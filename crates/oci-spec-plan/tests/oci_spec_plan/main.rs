//! Specifications as containerd, Kubernetes, docker and runc write them, and what becomes of each field.

mod documents;
mod hostile;
mod limits;
mod mounts;
mod namespaces;
mod process;
mod seccomp;
mod specification;
mod written;
