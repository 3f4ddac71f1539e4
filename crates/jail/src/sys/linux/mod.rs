mod files;
mod privileges;
mod seccomp;

pub(crate) use files::restrict as restrict_files;
pub use privileges::renounce;
pub(crate) use seccomp::restrict as restrict_calls;

use std::path::Path;

use crate::{Access, Calls, Jail, LayerStatus, Report, Strictness};

/// Returns the layers that this host has. Puts them on a thread that does nothing else.
pub fn survey() -> Report {
    let all = Jail::new(Calls::Vmm).with(Path::new("/"), Access::Read);
    let tried = std::thread::spawn(move || all.put_on(Strictness::Auto)).join();
    match tried {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => {
            let mut report = Report::default();
            report.add("jail", LayerStatus::Off(error.to_string()));
            report
        }
        Err(_) => Report::default(),
    }
}

/// Closes every descriptor above standard error, which this process inherited by mistake.
/// It must be the first action of the process: nothing that it opened itself may be open.
pub fn close_inherited_descriptors() {
    let inherited: Vec<_> = close_fds::iter_open_fds_threadsafe(3).collect();
    for descriptor in inherited {
        // The descriptor of the listing may be among them; it is closed already.
        let _ = nix::unistd::close(descriptor);
    }
}
