//! A disk made of ranges gives the same bytes as the ranges put together.

mod model;
mod refusals;
