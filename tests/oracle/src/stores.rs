use anyhow::{Result, ensure};
use fs_err as fs;
use test_fixtures::images;
use test_support::TestEnv;
use test_support::harness::{self, Trial};
use test_support::listing::{difference, list};

const NAME: &str = "oracle.test/image:latest";

/// Returns the test of two stores.
pub(crate) fn tests() -> Vec<Trial> {
    let name = "stores::two_stores_hold_the_same_bytes";
    vec![harness::test(name, load_twice)]
}

/// Loads the same image into two stores, and checks that they have the same files and bytes.
fn load_twice() -> Result<String> {
    let env = TestEnv::new("stores")?;
    let layout = images::demo()?;
    let mut listings = Vec::new();
    for home in ["first", "second"] {
        let msb = env.msb_at(home)?;
        msb.load(&layout, NAME)?;
        listings.push(list(&msb.home)?);
        fs::remove_dir_all(&msb.home)?;
    }
    ensure!(
        listings[0] == listings[1],
        "{}",
        difference(&listings[0], &listings[1])
    );
    env.remove_work()?;
    Ok(format!("{} files", listings[0].len()))
}
