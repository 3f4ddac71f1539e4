use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd,
    PathFdError, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
    make_bitflags,
};

use crate::{Access, Calls, Jail, JailError, LayerStatus};

/// The newest version of Landlock that is requested. The next constant is the oldest version that
/// has everything msb promises: 6 restricts signals and abstract sockets. Rights of newer versions
/// are used if the kernel has them.
const NEWEST: ABI = ABI::V9;
const ENOUGH: ABI = ABI::V6;

/// Restricts the thread to the jail's files, and blocks TCP, foreign signals and abstract sockets.
/// A network process may still connect TCP sockets.
pub(crate) fn restrict(jail: &Jail) -> Result<LayerStatus, JailError> {
    let mut rules = Vec::new();
    for (path, access) in &jail.files {
        let file = PathFd::new(path).map_err(|error| match error {
            PathFdError::OpenCall { source, path, .. } => JailError::File { path, source },
            other => refused(std::io::Error::other(other)),
        })?;
        rules.push(PathBeneath::new(file, rights(*access, path.is_dir())));
    }
    let scopes = if jail.has_signals {
        Scope::AbstractUnixSocket.into()
    } else {
        Scope::from_all(NEWEST)
    };
    let mut refused_net = AccessNet::from_all(NEWEST);
    if jail.calls == Calls::Network {
        refused_net.remove(AccessNet::ConnectTcp);
    }
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.handle_access(refused_net))
        .and_then(|ruleset| ruleset.scope(scopes))
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(rules.into_iter().map(Ok::<_, RulesetError>)))
        .and_then(|ruleset| ruleset.restrict_self());
    let status = restricted.map_err(|error| refused(std::io::Error::other(error)))?;
    Ok(layer_status(status.landlock))
}

fn refused(source: std::io::Error) -> JailError {
    JailError::Refused {
        action: "restrict the process's files with Landlock",
        source,
    }
}

fn layer_status(status: LandlockStatus) -> LayerStatus {
    match status {
        LandlockStatus::NotImplemented => {
            LayerStatus::Off("this kernel was built without Landlock".to_owned())
        }
        LandlockStatus::NotEnabled => LayerStatus::Off(
            "Landlock is not among the kernel's security modules (lsm=)".to_owned(),
        ),
        LandlockStatus::Available { effective_abi, .. } => {
            let version = effective_abi as i32;
            if effective_abi >= ENOUGH {
                LayerStatus::On(format!("version {version}"))
            } else {
                LayerStatus::Partly(format!(
                    "the kernel has version {version}, msb uses {}",
                    ENOUGH as i32
                ))
            }
        }
    }
}

/// Returns the rights to a file, or to everything below a directory.
fn rights(access: Access, is_directory: bool) -> BitFlags<AccessFs> {
    let rights: BitFlags<AccessFs> = match access {
        Access::Read => make_bitflags!(AccessFs::{ReadFile | ReadDir}),
        Access::Execute => make_bitflags!(AccessFs::{ReadFile | ReadDir | Execute}),
        Access::Write => make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate}),
        Access::Device => make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev}),
        Access::Keep => make_bitflags!(AccessFs::{
            ReadFile | ReadDir | WriteFile | Truncate | MakeReg | RemoveFile | MakeDir | RemoveDir
        }),
        Access::Share => make_bitflags!(AccessFs::{
            ReadFile | ReadDir | WriteFile | Truncate | MakeReg | RemoveFile | MakeDir | RemoveDir
                | MakeSym | MakeFifo | MakeSock | Refer
        }),
        Access::Connect => AccessFs::ResolveUnix.into(),
    };
    if is_directory {
        rights
    } else {
        rights & AccessFs::from_file(NEWEST)
    }
}
