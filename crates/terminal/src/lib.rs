//! Between a command of msb and its user: output, tables, templates, progress, questions, values of options, signals,
//! failures.
//!
//! Everything that a registry or a guest has written is escaped here before a terminal gets it.

pub mod byte_bar;
pub mod confirm;
pub mod failure;
pub mod foreign_output;
pub mod image_pattern;
mod interrupt_counter;
mod layer_bars;
pub mod log_lines;
pub mod mount_options;
pub mod open_metrics;
pub mod option_values;
pub mod output;
pub mod password;
pub mod progress;
pub mod push_bars;
pub mod questions;
pub mod reminder;
pub mod sandbox_filter;
pub mod secrets;
pub mod signals;
pub mod stdout_stream;
pub mod streams;
pub mod table;
pub mod template;
pub mod terminal;
pub mod text_or_base64;
pub mod until_filter;
