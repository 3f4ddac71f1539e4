//! The specification of a container: what of it a machine of one container can carry out.

use std::io::Read as _;

use diagnosis::Diagnose as _;
use fs_err::File;
use msb_containerd_shim::{Container, PodError};
use oci_spec_plan::{
    Architecture, CONFIG_MAX_BYTES, HostPart, Pod, SpecError, SpecPlan, plan_container,
};

/// Reads the plan of a bundle's container. Blocks.
///
/// # Errors
/// [`PodError::Refused`] with the field and a remedy if a machine cannot carry it out.
pub(crate) fn read(container: &Container) -> Result<SpecPlan, PodError> {
    let path = container.bundle.join("config.json");
    let file = File::open(path).map_err(|error| PodError::Other(error.into()))?;
    let mut config = Vec::new();
    let limit = u64::try_from(CONFIG_MAX_BYTES).unwrap_or(u64::MAX);
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut config);
    read.map_err(|error| PodError::Other(error.into()))?;
    plan(container, &config)
}

fn plan(container: &Container, config: &[u8]) -> Result<SpecPlan, PodError> {
    let pod = Pod {
        architecture: architecture(),
        ..Pod::default()
    };
    let plan = plan_container(&container.id, config, &pod);
    let plan = plan.map_err(|error| refused(&error))?;
    check_host(&plan.host)?;
    if plan.container.process.terminal.is_some() != container.has_terminal {
        let reason = "process.terminal of the container's specification contradicts the request \
             of containerd";
        return Err(PodError::Refused(reason.to_owned()));
    }
    Ok(plan)
}

/// Returns the refusal of a specification or a part of it, with its remedies.
pub(crate) fn refused(error: &SpecError) -> PodError {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        text.push_str(&format!(": {source}"));
        cause = source.source();
    }
    if let Some(advice) = error.diagnosis().advice() {
        text.push_str(&format!("; hint: {}", advice.replace('\n', "; ")));
    }
    PodError::Refused(text)
}

/// Refuses what of the host's part is not there yet. The control group has no effect, and is not refused: containerd
/// always names one.
fn check_host(host: &HostPart) -> Result<(), PodError> {
    if let Some(bind) = host.binds.first() {
        let source = &bind.source;
        return Err(PodError::Refused(format!(
            "the file or directory {source:?} of the host cannot be mounted in a container yet; \
             hint: remove the mount, or put the files into the image"
        )));
    }
    if let Some(network) = &host.network_namespace {
        return Err(PodError::Refused(format!(
            "the network {network:?} of the host cannot be used by a container yet; hint: run it \
             without a network, as `ctr run` does by itself"
        )));
    }
    Ok(())
}

const fn architecture() -> Architecture {
    if cfg!(target_arch = "aarch64") {
        Architecture::Aarch64
    } else {
        Architecture::X86_64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(config: &str, has_terminal: bool) -> Result<SpecPlan, String> {
        let container = Container {
            id: "a".to_owned(),
            bundle: "/b".into(),
            rootfs: Vec::new(),
            has_terminal,
            is_sandbox: false,
            options: None,
        };
        plan(&container, config.as_bytes()).map_err(|error| error.to_string())
    }

    fn config(process: &str, mounts: &str, network: &str) -> String {
        format!(
            r#"{{"ociVersion": "1.0.2", "process": {{"args": ["true"], "cwd": "/",
            "user": {{"uid": 0, "gid": 0}}{process}}}, "root": {{"path": "rootfs"}},
            "mounts": [{mounts}], "linux": {{"namespaces": [{{"type": "pid"}}, {{"type": "ipc"}},
            {{"type": "uts"}}, {{"type": "mount"}}, {{"type": "network"{network}}}]}}}}"#
        )
    }

    #[test]
    fn what_is_not_there_yet_is_refused_by_name() {
        let plan = planned(&config("", "", ""), false).expect("it is plain");
        assert_eq!(plan.container.id, "a");
        let bind =
            r#"{"destination": "/d", "type": "bind", "source": "/srv/data", "options": ["rbind"]}"#;
        let error = planned(&config("", bind, ""), false).expect_err("a bind");
        assert!(error.contains("\"/srv/data\""), "{error}");
        let network = r#", "path": "/run/netns/x""#;
        let error = planned(&config("", "", network), false).expect_err("a network");
        assert!(error.contains("\"/run/netns/x\""), "{error}");
        let unknown = r#", "ioPriority": {"class": "IOPRIO_CLASS_RT"}"#;
        let error = planned(&config(unknown, "", ""), false).expect_err("unsupported");
        assert!(
            error.contains("process.ioPriority") && error.contains("hint: "),
            "{error}"
        );
    }

    #[test]
    fn a_terminal_is_that_of_the_request() {
        let with = config(r#", "terminal": true"#, "", "");
        planned(&with, true).expect("both have one");
        planned(&with, false).expect_err("the request has none");
        planned(&config("", "", ""), true).expect_err("the specification has none");
    }
}
