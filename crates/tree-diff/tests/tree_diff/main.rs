//! Comparisons of trees, checked by what their results are good for.

mod chosen;
mod hostile;
mod layer;
mod layered;
mod left_out;
mod meaning;
mod oracle_patch;
mod oracle_umoci;
mod random;
mod rebuilt;
mod trees;
