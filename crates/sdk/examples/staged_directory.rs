//! Gives a sandbox a project of the host, and applies the changes that its rules accept.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{ApplyOptions, Mount, Msb};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let project = std::env::temp_dir().join(format!("staged-{}", std::process::id()));
    std::fs::create_dir(&project)?;
    std::fs::write(project.join("app"), "one\n")?;
    std::fs::write(project.join("LICENSE"), "MIT\n")?;

    let msb = Msb::new()?;
    let work = Mount::staged(project.to_string_lossy(), "/work")
        .rule("target=hide")?
        .rule("LICENSE=read-only")?;
    let sandbox = msb.sandboxes().run(image).mount(work).await?;
    // The host's files are unchanged.
    let script = "cd /work && echo two > app && echo mine > LICENSE";
    sandbox.shell(script).await?.check()?;

    let plan = ApplyOptions::default().dry_run();
    for directory in sandbox.apply_staged(plan).await? {
        for change in directory.applied.changes {
            println!("{} {}", change.kind.letter(), change.path);
        }
        for refused in directory.applied.refused {
            println!("R {} ({})", refused.path, refused.rule);
        }
    }
    sandbox.apply_staged(ApplyOptions::default()).await?;
    println!("app: {}", std::fs::read_to_string(project.join("app"))?);
    std::fs::remove_dir_all(project)?;
    sandbox.close().await
}
