//! A compile-time check: every operation can be sent to another task, and borrows nothing.

use msb_sdk::{
    ExecRequest, FileStream, Image, Job, LoadRequest, Logs, LogsRequest, Msb, Operation, Output,
    Process, Pull, PullRequest, PushRequest, Sandbox, SandboxRequest, SaveRequest, StatsWatch,
    Stdin, TarUpload, VerifyRequest, Volume,
};

const fn is_sendable<T: Send + 'static>() {}
const fn is_shared<T: Send + Sync + 'static>() {}

const _: () = {
    is_sendable::<Operation<()>>();
    is_sendable::<ExecRequest<Output>>();
    is_sendable::<ExecRequest<Process>>();
    is_sendable::<ExecRequest<Job>>();
    is_sendable::<LoadRequest>();
    is_sendable::<LogsRequest>();
    is_sendable::<PullRequest>();
    is_sendable::<PushRequest>();
    is_sendable::<SandboxRequest>();
    is_sendable::<SaveRequest>();
    is_sendable::<VerifyRequest>();
    is_shared::<FileStream>();
    is_shared::<Image>();
    is_shared::<Job>();
    is_shared::<Logs>();
    is_shared::<Msb>();
    is_shared::<Process>();
    is_shared::<Pull>();
    is_shared::<Sandbox>();
    is_shared::<StatsWatch>();
    is_shared::<Stdin>();
    is_shared::<TarUpload>();
    is_shared::<Volume>();
};

/// The futures of methods that borrow their object are sent to other tasks together with it.
#[expect(dead_code, reason = "the function is compiled, not run")]
fn borrowing_futures_are_sendable(process: &Process, pull: &Pull, logs: &Logs) {
    const fn is_send<T: Send>(_: &T) {}
    is_send(&process.next());
    is_send(&process.wait());
    is_send(&process.kill());
    is_send(&process.resize(1, 1));
    is_send(&process.signal(9));
    is_send(&pull.next());
    is_send(&pull.image());
    is_send(&logs.next());
}
