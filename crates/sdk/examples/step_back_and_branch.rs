//! Steps back to a snapshot, tries another way from it, and compares the two.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{ApplyOptions, BranchOptions, CommitOptions, DiffOptions, Msb};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let sandbox = msb.sandboxes().run(image).await?;
    sandbox.shell("mkdir /work; echo one > /work/app").await?;
    let ready = sandbox.snapshots().create(Some("ready"), None).await?;

    sandbox.shell("rm -r /work").await?.check()?;
    // The files are those of the snapshot; the machine stays up.
    sandbox.rollback(Some(&ready.name)).await?;
    println!("{}", sandbox.shell("cat /work/app").await?.text());

    // Another sandbox, which shares the files and ends with its handle.
    let from_ready = BranchOptions::default().snapshot(&ready.name);
    let attempt = sandbox.branch(from_ready).await?;
    attempt.shell("echo two > /work/app").await?.check()?;
    let before = format!("{}@{}", sandbox.name(), ready.name);
    let options = DiffOptions::default().path("/work");
    let diff = msb.diff(&before, attempt.name(), options).await?;
    for change in diff.changes() {
        println!("{} {}", change.kind.letter(), change.path);
    }
    let project = std::env::temp_dir().join(format!("project-{}", attempt.id()));
    std::fs::create_dir(&project)?;
    std::fs::write(project.join("app"), "one\n")?;
    let options = ApplyOptions::default().from("/work").base(before);
    let applied = attempt.apply(&project, options).await?;
    println!("{} file is applied", applied.changes.len());
    std::fs::remove_dir_all(project)?;
    let image = attempt.commit("example:1", CommitOptions::default());
    println!("{}", image.await?.name);
    attempt.close().await?;
    sandbox.close().await
}
