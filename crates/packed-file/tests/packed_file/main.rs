//! Packed files: made, read at random, changed at every byte and cut at every byte.

mod content;
mod damage;
mod reads;
mod round_trip;
