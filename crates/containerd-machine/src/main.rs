//! The program `containerd-shim-msb-v1`, which containerd starts for `io.containerd.msb.v1`.

use std::process::ExitCode;

use msb_containerd_machine::MsbShim;

fn main() -> ExitCode {
    msb_containerd_shim::run(&MsbShim)
}
