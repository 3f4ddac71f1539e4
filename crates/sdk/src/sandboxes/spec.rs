//! The parts of a sandbox's description, from its options.

use std::net::IpAddr;

use msb_client::printable;
use msb_guest_trust::TrustEnvironment;
use msb_patches::{HostCopy, HostEntry, NewDirectory, Patches};
use msb_runtime::network::{GATEWAY_ADDRESS, Settings};
use msb_runtime::{
    NoSignal, Overrides, Process, Resources, StopSignal, Stopping, process, process_without_command,
};
use msb_sandbox_model::{
    CPUS_DEFAULT_MAX, DISK_DEFAULT, Lifetime, MEMORY_DEFAULT, Restart, Size, UndoLimit,
};
use msb_vmm::MEMORY_MIN_MIB;
use oci_image::ImageConfig;

use super::options::{HostName, SandboxOptions};
use crate::{Error, Notice};

/// Checks the options that need no image.
pub(super) fn check(options: &SandboxOptions) -> Result<(), Error> {
    check_origin(options)?;
    let name = &options.source.platform;
    name.as_deref()
        .map(str::parse::<oci_image::Platform>)
        .transpose()?;
    if options.restart != Restart::No && options.remove_when_stopped {
        return Err(Error::invalid(
            "a sandbox that is removed when it stops does not restart its command",
        ));
    }
    resources(options)?;
    undo_limit(options)?;
    options.guest.check()?;
    stopping(options, &ImageConfig::default())?;
    overrides(options, &TrustEnvironment::default())?;
    let has_patches = patches(options)? != Patches::default();
    let other = match (&options.from_sandbox, &options.root_disk) {
        (Some(_), _) => Some("another one's"),
        (_, Some(_)) => Some("those of a disk image"),
        _ => None,
    };
    if let Some(other) = other.filter(|_| has_patches) {
        let error = Error::invalid(format!(
            "files cannot be changed before the first boot of a sandbox that begins with {other}"
        ));
        return Err(error.with_hint("copy them with msb cp once it is created"));
    }
    if options.native_root {
        check_native(options)?;
    }
    Ok(())
}

/// Checks that a native root is made of an image.
fn check_native(options: &SandboxOptions) -> Result<(), Error> {
    if options.from_sandbox.is_some() || options.root_disk.is_some() {
        let message = "a native root requires an image, not a sandbox or a disk image";
        let hint = "a sandbox that is created from one with a native root also has a native root";
        return Err(Error::invalid(message).with_hint(hint));
    }
    Ok(())
}

/// Checks that the sandbox begins with one thing: an image, a sandbox or a disk image.
fn check_origin(options: &SandboxOptions) -> Result<(), Error> {
    let image = (!options.image.is_empty()).then(|| "an image".to_owned());
    let from = options.from_sandbox.as_ref();
    let from = from.map(|from| format!("the sandbox {}", printable(from)));
    let disk = options.root_disk.as_ref();
    let disk = disk.map(|disk| format!("the disk image {}", disk.path.display()));
    let given: Vec<String> = [image, from, disk].into_iter().flatten().collect();
    match given.as_slice() {
        [] => Err(Error::invalid("no image was named")),
        [_] => Ok(()),
        [first, second, ..] => {
            let message = format!("give {first} or {second}, not both");
            Err(Error::invalid(message))
        }
    }
}

/// Returns the resources of a sandbox; options that are not given have their defaults.
pub(crate) fn resources(options: &SandboxOptions) -> Result<Resources, Error> {
    Ok(Resources {
        cpus: options.cpus.map_or_else(|| Ok(default_cpus()), cpus)?,
        memory_mib: memory_mib(options.memory.unwrap_or(MEMORY_DEFAULT))?,
        upper_bytes: options.disk.unwrap_or(DISK_DEFAULT).bytes(),
    })
}

/// Returns the network of a sandbox whose image exposes these ports.
pub(super) fn network(
    options: &SandboxOptions,
    exposed_ports: &[String],
) -> Result<Option<Settings>, Error> {
    msb_secrets::check_all(&options.secrets)?;
    let (ports, publish_all) = (&options.ports, options.publish_all);
    let network = &options.network;
    network.settings(ports, publish_all, exposed_ports, &options.secrets)
}

/// Returns the notices about the secrets.
pub(super) fn secret_notices(options: &SandboxOptions) -> impl Iterator<Item = Notice> {
    let variables = options.env.iter().map(|(name, _)| name);
    let notices = msb_sandbox_secrets::notices(&options.secrets, variables);
    notices.into_iter().map(|text| Notice::new("secret", text))
}

/// Returns the number of commands whose snapshots are kept.
pub(super) fn undo_limit(options: &SandboxOptions) -> Result<UndoLimit, Error> {
    let limit = options.undo_limit.map(UndoLimit::try_from).transpose()?;
    Ok(limit.unwrap_or_default())
}

fn default_cpus() -> u8 {
    let host_cpus = std::thread::available_parallelism().map_or(1, usize::from);
    u8::try_from(host_cpus.min(CPUS_DEFAULT_MAX)).unwrap_or(1)
}

/// Checks a number of processors.
pub(super) fn cpus(cpus: u8) -> Result<u8, Error> {
    match cpus {
        0 => Err(Error::invalid(
            "write a whole number of processors from 1 to 255",
        )),
        cpus => Ok(cpus),
    }
}

/// Returns a guest's memory in MiB.
pub(super) fn memory_mib(memory: Size) -> Result<u32, Error> {
    let mib = u32::try_from(memory.bytes() >> 20).ok();
    mib.filter(|&mib| mib >= MEMORY_MIN_MIB).ok_or_else(|| {
        Error::invalid(format!(
            "memory: {memory} bytes are too few or too many; write a size from {MEMORY_MIN_MIB}M to 4096T, such as \
             \"512M\""
        ))
        .with_detail("memory", memory.bytes())
    })
}

pub(super) fn lifetime(options: &SandboxOptions) -> Lifetime {
    let mut lifetime = Lifetime::default();
    lifetime.max_duration_s = options.max_duration_ms.map(seconds);
    lifetime.idle_timeout_s = options.idle_timeout_ms.map(seconds);
    lifetime
}

/// Returns whole seconds, rounded up.
fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1000)
}

/// Returns signal and timeout of a stop. An unknown signal of the image is reported, and the default
/// is used.
pub(super) fn stopping(
    options: &SandboxOptions,
    config: &ImageConfig,
) -> Result<(Stopping, Option<Notice>), Error> {
    let given: Option<StopSignal> = options.stop_signal.as_deref().map(str::parse).transpose()?;
    let (signal, notice) = match given {
        Some(signal) => (signal, None),
        None => images_signal(config.stop_signal.as_deref()),
    };
    let default = Stopping::default();
    let stopping = Stopping {
        signal,
        timeout_s: options.stop_timeout_ms.map_or(default.timeout_s, seconds),
    };
    Ok((stopping, notice))
}

fn images_signal(text: Option<&str>) -> (StopSignal, Option<Notice>) {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return (StopSignal::default(), None);
    };
    match text.parse() {
        Ok(signal) => (signal, None),
        Err(error) => {
            let error: NoSignal = error;
            let error = printable(&error.to_string());
            let message = format!("the image's STOPSIGNAL is ignored: {error}");
            let notice = Notice::new("stop-signal", message);
            (StopSignal::default(), Some(notice))
        }
    }
}

pub(super) fn main_command(
    options: &SandboxOptions,
    config: &ImageConfig,
    trust: &TrustEnvironment,
) -> Result<Process, Error> {
    let overrides = overrides(options, trust)?;
    if options.command.is_none() && overrides.entrypoint.is_none() {
        return Ok(process_without_command(config, &overrides));
    }
    process(config, &overrides).map_err(|error| {
        if let Some(disk) = &options.root_disk {
            let path = disk.path.display();
            let message = format!("no command specified, and the disk image {path} names none");
            return Error::invalid(message);
        }
        let image = printable(&options.image);
        Error::from(error).context(format!("cannot run {image}"))
    })
}

fn overrides(options: &SandboxOptions, trust: &TrustEnvironment) -> Result<Overrides, Error> {
    let text = |bytes: &[u8], what: &str| {
        let text = String::from_utf8(bytes.to_vec());
        text.map_err(|_| Error::invalid(format!("{what} of the main command is not UTF-8")))
    };
    let command = options.command.as_deref().unwrap_or_default();
    let command: Result<Vec<_>, _> = command
        .iter()
        .map(|word| text(word.as_bytes(), "an argument"))
        .collect();
    let settings = options.env.settings()?;
    let own = settings.iter().map(|setting| text(setting, "a variable"));
    let given = trust.settings.iter().cloned();
    let given = given.chain(options.guest.agent_variable()).map(Ok);
    let env: Result<Vec<_>, _> = given.chain(own).collect();
    let ulimits: Result<Vec<_>, _> = options
        .ulimits
        .iter()
        .map(|(name, limit)| limit.named(name))
        .collect();
    Ok(Overrides {
        entrypoint: options.entrypoint.clone(),
        command: command?,
        env: env?,
        env_defaults: trust.defaults.clone(),
        working_directory: absolute(options.cwd.as_deref())?,
        user: options.user.clone(),
        terminal: options.tty.map(Into::into),
        stdin: options.stdin,
        groups: options.groups.clone(),
        ulimits: ulimits?,
    })
}

/// Checks that a working directory is absolute: a relative one has no directory to start from.
fn absolute(path: Option<&str>) -> Result<Option<String>, Error> {
    match path {
        Some(path) if !path.starts_with('/') => {
            let path = printable(path);
            Err(Error::invalid(format!(
                "'{path}' is not an absolute path; write /{path}"
            )))
        }
        path => Ok(path.map(str::to_owned)),
    }
}

pub(super) fn patches(options: &SandboxOptions) -> Result<Patches, Error> {
    let hosts: Result<Vec<_>, _> = options.hosts.iter().map(host).collect();
    let make = options.make_directories.iter().map(|made| {
        if made.mode.is_some_and(|mode| mode > 0o7777) {
            let message = format!(
                "the mode of '{}' has more than 12 bits",
                printable(&made.path)
            );
            return Err(Error::invalid(message));
        }
        absolute(Some(&made.path))?;
        Ok(NewDirectory {
            path: made.path.clone(),
            mode: made.mode,
        })
    });
    let copy = options.copy.iter().map(|copy| {
        absolute(Some(&copy.destination))?;
        Ok::<_, Error>(HostCopy {
            source: copy.source.clone(),
            destination: copy.destination.clone(),
            owner: (copy.uid, copy.gid),
        })
    });
    Ok(Patches {
        remove: options.remove_paths.clone(),
        make: make.collect::<Result<_, Error>>()?,
        copy: copy.collect::<Result<_, Error>>()?,
        write: Vec::new(),
        hosts: hosts?,
    })
}

fn host(host: &HostName) -> Result<HostEntry, Error> {
    let wrong = || {
        let names = printable(&host.names.join(" "));
        let address = printable(&host.address);
        Error::invalid(format!(
            "invalid host entry '{names}:{address}': write NAME:IP or NAME:host-gateway"
        ))
    };
    let address: IpAddr = match host.address.as_str() {
        "host-gateway" => GATEWAY_ADDRESS.into(),
        address => address.parse().map_err(|_| wrong())?,
    };
    HostEntry::new(address, host.names.clone()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;

    fn options() -> SandboxOptions {
        SandboxOptions::new("alpine")
    }

    #[test]
    fn processors_are_whole_and_memory_is_enough_to_boot() {
        assert!(cpus(0).is_err());
        assert_eq!(memory_mib(Size::new(64 << 20)).expect("enough"), 64);
        assert!(memory_mib(Size::new(8 << 20)).is_err());
        assert!(memory_mib(Size::new(u64::MAX)).is_err());
    }

    #[test]
    fn without_a_command_the_sandbox_runs_none() {
        let config = ImageConfig {
            cmd: Some(vec!["sh".to_owned()]),
            ..ImageConfig::default()
        };
        let nothing = TrustEnvironment::default();
        let argv = |options: &SandboxOptions| {
            main_command(options, &config, &nothing).map(|process| process.argv)
        };
        assert!(argv(&options()).expect("none").is_empty());
        let mut of_image = options();
        of_image.command = Some(Vec::new());
        assert_eq!(argv(&of_image).expect("the image's"), ["sh"]);
        let mut own = options();
        own.command = Some(vec![Text::from("true")]);
        assert_eq!(argv(&own).expect("its own"), ["true"]);
        let refused = main_command(&of_image, &ImageConfig::default(), &nothing);
        assert!(
            refused
                .expect_err("no command")
                .message()
                .contains("alpine")
        );
    }

    #[test]
    fn variables_of_the_users_own_win_over_those_of_the_sandboxs_trust() {
        let config = ImageConfig {
            env: Some(vec!["A=image".to_owned(), "B=image".to_owned()]),
            ..ImageConfig::default()
        };
        let trust = TrustEnvironment {
            defaults: vec!["A=trust".to_owned()],
            settings: vec!["B=trust".to_owned(), "C=trust".to_owned()],
        };
        let mut options = options();
        options.env.set("C", "user");
        let made = main_command(&options, &config, &trust).expect("no command");
        for setting in ["A=image", "B=trust", "C=user"] {
            assert!(made.env.contains(&setting.to_owned()), "{:?}", made.env);
        }
        assert!(!made.env.contains(&"C=trust".to_owned()), "{:?}", made.env);
    }

    #[test]
    fn the_given_signal_counts_before_the_images() {
        let image = |signal: &str| ImageConfig {
            stop_signal: Some(signal.to_owned()),
            ..ImageConfig::default()
        };
        let of_image = stopping(&options(), &image("SIGQUIT")).expect("known");
        assert_eq!(of_image.0.signal.to_string(), "SIGQUIT");
        let real_time = stopping(&options(), &image("SIGRTMIN+3")).expect("known");
        assert_eq!(real_time.0.signal.number(), 37);
        let (unknown, notice) = stopping(&options(), &image("SIGNONE")).expect("reported");
        assert_eq!(unknown.signal, StopSignal::default());
        assert!(notice.is_some());
        let mut given = options();
        given.stop_signal = Some("INT".to_owned());
        given.stop_timeout_ms = Some(1500);
        let (given, _) = stopping(&given, &image("SIGQUIT")).expect("known");
        assert_eq!(
            (given.signal.to_string().as_str(), given.timeout_s),
            ("SIGINT", 2)
        );
    }

    #[test]
    fn options_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut SandboxOptions)| {
            let mut options = options();
            change(&mut options);
            check(&options).expect_err("refused").kind()
        };
        let invalid = crate::ErrorKind::InvalidArgument;
        assert_eq!(refused(|options| options.image.clear()), invalid);
        let from_another: fn(&mut SandboxOptions) = |options| {
            options.native_root = true;
            options.image.clear();
            options.from_sandbox = Some("other".into());
        };
        assert_eq!(refused(from_another), invalid);
        assert_eq!(refused(|options| options.cwd = Some("srv".into())), invalid);
        let no_room: fn(&mut SandboxOptions) = |options| options.guest.tmp = Some(Size::new(0));
        assert_eq!(refused(no_room), invalid);
        assert_eq!(refused(|options| options.env.set("A=B", "")), invalid);
        assert_eq!(
            refused(|options| options.command = Some(vec![Text::from(vec![0xff])])),
            invalid
        );
        check(&options()).expect("good");
    }
}
