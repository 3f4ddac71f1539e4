//! Prints the system calls of msb's own threads after they are confined; needs strace.

use anyhow::Result;
use boot::seccomp_list;
use test_support::TestEnv;

fn main() -> Result<()> {
    let env = TestEnv::with_guests("seccomp-list")?;
    println!("{}", seccomp_list::run(&env)?);
    Ok(())
}
