//! Errors: their kinds and their hints, where no guest is needed or one fails to start.

use anyhow::{Context as _, Result, ensure};
use msb_sdk::{Error, ErrorKind, Force, Mount, Msb, Network, PullPolicy, Size};
use test_support::TestEnv;

use super::client;

pub(super) async fn check(env: &TestEnv) -> Result<()> {
    let msb = client(env)?;
    let image = || msb.images().get(env.image());
    ensure!(!image().await?.digest().is_empty(), "the image is there");
    expect(
        msb.images().get("no/such:image").await,
        ErrorKind::ImageNotFound,
    )?;
    expect(
        msb.sandboxes().get("nobody").await,
        ErrorKind::SandboxNotFound,
    )?;
    expect(
        msb.volumes().get("nothing").await,
        ErrorKind::VolumeNotFound,
    )?;
    options(&msb, env).await?;
    volumes(&msb, env).await?;
    stopped(&msb, env).await?;
    programs(env).await
}

async fn options(msb: &Msb, env: &TestEnv) -> Result<()> {
    let run = || msb.sandboxes().run(env.image()).pull(PullPolicy::Never);
    let invalid = ErrorKind::InvalidArgument;
    expect(run().memory("lots").await, invalid)?;
    expect(run().memory("1M").await, invalid)?;
    expect(run().name("no name!").await, invalid)?;
    expect(run().network(Network::none().allow("a.b")).await, invalid)?;
    let missing = Mount::bind("/no/such/directory", "/a");
    expect(run().mount(missing).await, ErrorKind::PathNotFound)?;
    let absent = msb.sandboxes().run("no/such:image").pull(PullPolicy::Never);
    let error = expect(absent.await, ErrorKind::ImageNotFound)?;
    ensure!(error.hint().is_some(), "{error:?}");
    Ok(())
}

async fn volumes(msb: &Msb, env: &TestEnv) -> Result<()> {
    let size = Some(Size::new(16 << 20));
    let volume = msb.volumes().create("data", size).await?;
    ensure!(volume.info().size_bytes == 16 << 20, "{volume:?}");
    expect(
        msb.volumes().create("data", size).await,
        ErrorKind::NameTaken,
    )?;
    let create = msb.sandboxes().create(env.image()).pull(PullPolicy::Never);
    let sandbox = create.mount(Mount::volume("data", "/data")).await?;
    expect(volume.remove().await, ErrorKind::VolumeInUse)?;
    sandbox.remove(Force::No).await?;
    volume.remove().await?;
    Ok(())
}

async fn stopped(msb: &Msb, env: &TestEnv) -> Result<()> {
    let create = || {
        msb.sandboxes()
            .create(env.image())
            .pull(PullPolicy::Never)
            .name("idle")
    };
    let sandbox = create().await?;
    expect(create().await, ErrorKind::NameTaken)?;
    let error = expect(sandbox.exec(["true"]).await, ErrorKind::NotRunning)?;
    ensure!(error.hint().is_some(), "{error:?}");
    expect(sandbox.kill().await, ErrorKind::NotRunning)?;
    expect(sandbox.jobs().job(1).wait().await, ErrorKind::JobNotFound)?;
    expect(
        msb.images().remove(env.image(), Force::No).await,
        ErrorKind::ImageInUse,
    )?;
    sandbox.remove(Force::Yes).await?;
    Ok(())
}

/// Another program of the name msb starts nothing, and a missing kernel is named.
async fn programs(env: &TestEnv) -> Result<()> {
    let builder = || Msb::builder().home(env.home());
    let foreign = builder().program("/bin/true").build()?;
    expect(foreign.program().await, ErrorKind::VersionMismatch)?;
    let run = |msb: &Msb| msb.sandboxes().run(env.image()).pull(PullPolicy::Never);
    expect(run(&foreign).await, ErrorKind::VersionMismatch)?;
    let kernel = builder().program(&env.program).kernel("/no/such/kernel");
    let error = expect(run(&kernel.build()?).await, ErrorKind::KernelMissing)?;
    ensure!(error.hint().is_some(), "{error:?}");
    let left = client(env)?
        .sandboxes()
        .list(msb_sdk::SandboxFilter::all())
        .await?;
    ensure!(left.is_empty(), "failed starts leave {left:?}");
    Ok(())
}

fn expect<T: std::fmt::Debug>(outcome: Result<T, Error>, kind: ErrorKind) -> Result<Error> {
    let error = outcome.err().with_context(|| format!("no {kind}"))?;
    ensure!(error.kind() == kind, "{kind} was expected: {error:?}");
    Ok(error)
}
