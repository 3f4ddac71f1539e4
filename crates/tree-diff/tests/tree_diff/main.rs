//! Comparisons of trees, checked by what their results are good for.

mod hostile;
mod meaning;
mod oracle_patch;
mod random;
mod rebuilt;
mod trees;
