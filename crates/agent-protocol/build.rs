//! Generates the messages and both sides of the service from `proto/`, without `protoc`.

use std::error::Error;

const PROTO: &str = "msb/v1/sandbox.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile([PROTO], ["proto"])?;
    tonic_prost_build::configure()
        .build_transport(false)
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
