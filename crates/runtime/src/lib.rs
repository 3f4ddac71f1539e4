//! thiserror
