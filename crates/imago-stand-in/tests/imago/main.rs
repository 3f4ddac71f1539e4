//! Tests of the disks that libkrun gets, through the calls that libkrun makes.

mod as_libkrun;
mod expected;
mod registered;
mod requests;
mod vmdk;
