//! Generates the messages and both sides of the services from `proto/`, without `protoc`.

use std::error::Error;

const PROTOS: [&str; 2] = ["msb/v1/sandbox.proto", "msb/v1/containers.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    tonic_prost_build::configure()
        .build_transport(false)
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
