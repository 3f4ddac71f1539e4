use anyhow::Result;
use test_support::TestEnv;
use test_support::harness::{self, Trial};

/// Returns a test named `GROUP::boot_TITLE` that boots guests and has to clean up after itself.
pub(crate) fn boot(group: &str, title: &str, check: fn(&TestEnv) -> Result<()>) -> Trial {
    boot_found(group, title, move |env| check(env).map(|()| String::new()))
}

/// Returns such a test in another environment.
pub(crate) fn boot_in(
    environment: fn(&str) -> Result<TestEnv>,
    group: &str,
    title: &str,
    check: fn(&TestEnv) -> Result<()>,
) -> Trial {
    found_in(environment, group, title, move |env| {
        check(env).map(|()| String::new())
    })
}

/// Returns such a test whose check returns a finding.
pub(crate) fn boot_found(
    group: &str,
    title: &str,
    check: impl FnOnce(&TestEnv) -> Result<String> + Send + 'static,
) -> Trial {
    found_in(TestEnv::with_guests, group, title, check)
}

fn found_in(
    environment: fn(&str) -> Result<TestEnv>,
    group: &str,
    title: &str,
    check: impl FnOnce(&TestEnv) -> Result<String> + Send + 'static,
) -> Trial {
    let name = harness::name_of(title);
    let directory = format!("{}-{name}", harness::name_of(group));
    harness::test(format!("{group}::boot_{name}"), move || {
        let env = environment(&directory)?;
        let found = check(&env).and_then(|found| env.expect_nothing_left().map(|()| found));
        let found = found.map_err(|error| env.with_logs(error))?;
        env.remove_work()?;
        Ok(found)
    })
}
