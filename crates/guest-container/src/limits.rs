use rustix::process::Resource;

/// Returns the resource of setrlimit(2) with this name, which is docker's; `None` if there is none.
#[must_use]
pub fn resource(name: &str) -> Option<Resource> {
    Some(match name {
        "as" => Resource::As,
        "core" => Resource::Core,
        "cpu" => Resource::Cpu,
        "data" => Resource::Data,
        "fsize" => Resource::Fsize,
        "locks" => Resource::Locks,
        "memlock" => Resource::Memlock,
        "msgqueue" => Resource::Msgqueue,
        "nice" => Resource::Nice,
        "nofile" => Resource::Nofile,
        "nproc" => Resource::Nproc,
        "rss" => Resource::Rss,
        "rtprio" => Resource::Rtprio,
        "rttime" => Resource::Rttime,
        "sigpending" => Resource::Sigpending,
        "stack" => Resource::Stack,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_plan_is_a_resource_and_no_other() {
        let named = container_plan::RLIMITS.iter();
        assert!(named.clone().all(|name| resource(name).is_some()));
        assert!(resource("NOFILE").is_none() && resource("").is_none());
    }
}
