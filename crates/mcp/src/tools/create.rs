use msb_sdk::Sandbox;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool};
use crate::call::Call;
use crate::failure::Stop;
use crate::session::{Reach, Session, Staged, Wanted};

/// Creates a sandbox and starts it.
pub(super) struct Create;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Image, such as debian or python:3-slim. The session's default image if it has one.
    image: Option<String>,
    /// Destinations that the sandbox reaches: none, those that the user listed, or everything outside of private
    /// networks. The user's setting if left out, which a call can only narrow.
    network: Option<Reach>,
    /// Memory in MiB. The user's setting if left out, which a call can only lower.
    #[schemars(range(min = 1))]
    memory_mib: Option<u64>,
    /// Number of processors. The user's setting if left out, which a call can only lower.
    #[schemars(range(min = 1))]
    cpus: Option<u8>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Name of the sandbox, for the other tools.
    name: String,
    /// Digest of the image's manifest.
    image_digest: String,
    /// Directories of the host that the sandbox has copies of.
    staged: Vec<Staged>,
    /// Facts that the user may want to know.
    notices: Vec<String>,
}

impl SandboxTool for Create {
    const NAME: &'static str = "sandbox_create";
    const TITLE: &'static str = "Create a sandbox";
    const DESCRIPTION: &'static str = "Creates a sandbox, a Linux virtual machine with the files of an OCI image, and \
        starts it. Commands run in it as root, without a risk for the host. Staged directories are copies of \
        directories of the user: changes stay in the sandbox until sandbox_apply writes them.";
    const EFFECT: Effect = Effect::ADDS.reaching_out();
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let wanted = Wanted {
            image: arguments.image,
            network: arguments.network,
            memory_mib: arguments.memory_mib,
            cpus: arguments.cpus,
        };
        let created = session.create(call, wanted).await?;
        let info = call.awaited(created.sandbox.inspect()).await?;
        Ok(Output {
            name: info.name,
            image_digest: info.image_digest,
            staged: created.staged,
            notices: notices(&created.sandbox),
        })
    }
}

/// Returns the notices of the operation that returned a handle.
pub(super) fn notices(sandbox: &Sandbox) -> Vec<String> {
    let warnings = sandbox.warnings().iter();
    warnings.map(|notice| notice.message.clone()).collect()
}
