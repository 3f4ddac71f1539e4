//! A disk of ranges reads as the flat bytes that it stands for.

mod model;
mod refusals;
