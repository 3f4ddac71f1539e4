//! A container in a sandbox, made from a plan over the agent's connection.

use anyhow::{Context as _, Result, bail, ensure};
use container_plan::{
    Capabilities, Cgroup, ContainerPlan, Control, DeviceKind, DeviceRule, Filesystem, Instruction,
    Mount, Process, SeccompFilter, TerminalSize, capability_bit, flags,
};
use msb_agent_protocol::v1::container_event::Event;
use msb_agent_protocol::v1::{
    ContainerPidsRequest, ContainerRoot, ContainerStatsRequest, CreateContainerRequest,
    DeleteContainerRequest, Exec, ExecContainer, Namespaces, PauseContainerRequest,
    ResumeContainerRequest, SignalContainerRequest, UpdateContainerRequest, WatchContainersRequest,
    container_root, exit_status,
};
use msb_agent_protocol::{Bytes, Client, Code, Command, Output};
use msb_runtime::{Home, Sandbox};
use test_support::{TestEnv, expect_code};

use super::durability::remove;

const NAME: &str = "checks-containers";
const PATH: &str = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
/// `SECCOMP_RET_ALLOW`, as the only instruction of a filter: `BPF_RET | BPF_K`.
const ALLOW_ALL: Instruction = Instruction {
    code: 0x06,
    jt: 0,
    jf: 0,
    k: 0x7fff_0000,
};
/// Fails unless the process is in its own namespaces, behind what the plan puts in its way.
const FIRST: &str = "set -e; test $$ = 1; test \"$(cat /proc/sys/kernel/hostname)\" = inside; \
    grep -qx 0::/ /proc/self/cgroup; test ! -s /etc/debian_version; test -z \"$(ls -A /usr/share)\" || exit 20; \
    grep -q ' /proc/sys ro,' /proc/self/mountinfo || exit 21; \
    test \"$(cat /proc/sys/kernel/shm_rmid_forced)\" = 1 || exit 22; \
    test -c /dev/null && test -L /dev/ptmx && test \"$(ulimit -n)\" = 512 || exit 23; \
    test \"$(id -u):$(id -g):$(id -G)\" = '7:8:8 9' || exit 24; test \"$(umask)\" = 0027 || exit 25; \
    grep -qx 'NoNewPrivs:.1' /proc/self/status && grep -qx 'Seccomp:.2' /proc/self/status || exit 26; \
    grep -qx 'CapEff:.0000000000000000' /proc/self/status || exit 27; \
    grep -qx 'CapBnd:.0000000000000401' /proc/self/status || exit 28; \
    grep -q ' /run/msb' /proc/self/mountinfo && exit 29; echo ready; read line; echo \"got $line\"; echo bad >&2; exit 7";
/// Prints the number of mounts, groups and processes of containers that the agent sees.
const LEFT: &str = "grep -c ' /run/msb/\\(containers\\|memory-\\)' /proc/self/mountinfo; \
    ls -d /sys/fs/cgroup/sandbox/container-* 2>/dev/null | wc -l; \
    grep -sxl 'msb-container' /proc/[0-9]*/comm | wc -l";

pub(super) fn lives(env: &TestEnv) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME], &["sleep", "600"])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let sandbox = Sandbox::find(&Home::new(env.home()), NAME)?;
        let mut client = sandbox.context("no such sandbox")?.connect().await?;
        whole_life(&mut client).await?;
        terminal(&mut client).await?;
        killed(&mut client).await?;
        refused(&mut client).await?;
        ensure!(
            machine(&mut client, LEFT).await? == "0\n0\n0\n",
            "something is left"
        );
        anyhow::Ok(())
    })?;
    expect_code(&env.msb().args(["rm", "-f", NAME]).output()?, 0)
}

/// Checks a container with everything that a plan can ask for, and further processes in it.
async fn whole_life(client: &mut Client) -> Result<()> {
    let mut watched = client.containers();
    let mut events = watched.watch(WatchContainersRequest {}).await?.into_inner();
    create(client, &plan("whole", FIRST), "/").await?;
    let mut first = client.start_container("whole").await?;
    ensure!(read(&mut first, "ready\n").await? == "ready\n");
    let again = client.start_container("whole").await;
    ensure!(again.is_err(), "it was started twice");
    let seen = "readlink /proc/1/ns/mnt /proc/self/ns/mnt | uniq | wc -l; cat /proc/sys/kernel/hostname; \
        grep -x 0::/ /proc/self/cgroup; test $$ != 1 && echo further";
    let (said, code) = exec(client, "whole", &["sh", "-c", seen], None).await?;
    ensure!(
        said == "1\ninside\n0::/\nfurther\n" && code == 0,
        "{said} {code}"
    );
    let (_, code) = exec(client, "whole", &["sh", "-c", "kill -KILL $$"], None).await?;
    ensure!(code == 137, "{code}");
    let missing = exec(client, "whole", &["no-such-program"], None).await;
    ensure!(missing.is_err(), "a program that does not exist runs");
    limits(client).await?;
    first.inputs.send(Bytes::from_static(b"line\n")).await;
    let (said, code) = to_end(&mut first).await?;
    ensure!(said == "got line\nbad\n" && code == 7, "{said:?} {code}");
    delete(client, "whole").await?;
    let mut names = Vec::new();
    while let Some(event) = events.message().await? {
        let name = match event.event.context("an empty event")? {
            Event::Listening(_) => "listening",
            Event::Created(_) => "created",
            Event::Started(_) => "started",
            Event::Exited(exited) => {
                ensure!(exited.exit_code == 7 && !exited.out_of_memory, "{exited:?}");
                "exited"
            }
            Event::Deleted(_) => "deleted",
            event => bail!("unexpected: {event:?}"),
        };
        names.push(name);
        if name == "deleted" {
            break;
        }
    }
    ensure!(
        names == ["listening", "created", "started", "exited", "deleted"],
        "{names:?}"
    );
    Ok(())
}

/// Checks figures, limits and the freezer of the running container.
async fn limits(client: &mut Client) -> Result<()> {
    let mut containers = client.containers();
    let id = || "whole".to_owned();
    let stats = ContainerStatsRequest { container_id: id() };
    let stats = containers.stats(stats).await?.into_inner();
    ensure!(
        stats.pids_max == Some(64) && stats.pids_current == Some(1),
        "{stats:?}"
    );
    ensure!(stats.memory_max == Some(64 << 20), "{stats:?}");
    let limit = |cgroup: Bytes| UpdateContainerRequest {
        container_id: id(),
        cgroup,
    };
    let control = Control {
        file: "pids.max".to_owned(),
        value: "32".to_owned(),
    };
    let cgroup = Cgroup {
        controls: vec![control],
        ..Cgroup::default()
    };
    containers.update(limit(cgroup.to_bytes()?.into())).await?;
    let (said, _) = exec(client, "whole", &["cat", "/sys/fs/cgroup/pids.max"], None).await?;
    ensure!(said == "32\n", "{said}");
    let wrong = containers.update(limit(Bytes::from_static(b"\xff"))).await;
    ensure!(wrong.is_err_and(|status| status.code() == Code::InvalidArgument));
    let pids = ContainerPidsRequest { container_id: id() };
    ensure!(containers.pids(pids).await?.into_inner().pids.len() == 1);
    let pause = PauseContainerRequest { container_id: id() };
    containers.pause(pause).await?;
    let frozen = exec(client, "whole", &["true"], None).await;
    ensure!(frozen.is_err(), "a frozen container starts a process");
    let resume = ResumeContainerRequest { container_id: id() };
    containers.resume(resume).await?;
    Ok(())
}

/// Checks terminals, which are those of the container's own devpts.
async fn terminal(client: &mut Client) -> Result<()> {
    let size = Some(TerminalSize {
        columns: 71,
        rows: 17,
    });
    let mut plan = plan(
        "tty",
        "tty; stty size; test -c /dev/console || exit 5; read line; exit 4",
    );
    plan.process.terminal = size;
    create(client, &plan, "/").await?;
    let mut first = client.start_container("tty").await?;
    let said = read(&mut first, "17 71\r\n").await?;
    ensure!(said == "/dev/pts/0\r\n17 71\r\n", "{said:?}");
    let (said, code) = exec(client, "tty", &["tty"], size).await?;
    ensure!(said == "/dev/pts/1\r\n" && code == 0, "{said:?} {code}");
    first.inputs.send(Bytes::from_static(b"\n")).await;
    let (_, code) = to_end(&mut first).await?;
    ensure!(code == 4, "{code}");
    delete(client, "tty").await
}

/// Checks that a kill reaches every process, and that a running container can be deleted.
async fn killed(client: &mut Client) -> Result<()> {
    create(client, &plan("loud", "sleep 600 & echo up; wait"), "/").await?;
    let mut first = client.start_container("loud").await?;
    read(&mut first, "up\n").await?;
    let signal = SignalContainerRequest {
        container_id: "loud".to_owned(),
        signal: 9,
        all: true,
    };
    client.containers().signal(signal).await?;
    let (_, code) = to_end(&mut first).await?;
    ensure!(code == 137, "{code}");
    delete(client, "loud").await?;
    create(
        client,
        &plan("loud", "setsid sleep 600 & echo up; wait"),
        "/",
    )
    .await?;
    let mut first = client.start_container("loud").await?;
    read(&mut first, "up\n").await?;
    delete(client, "loud").await?;
    // One that was never started.
    create(client, &plan("loud", "true"), "/").await?;
    delete(client, "loud").await
}

/// Checks what is refused, and that it leaves nothing.
async fn refused(client: &mut Client) -> Result<()> {
    create(client, &plan("taken", "true"), "/").await?;
    let taken = create(client, &plan("taken", "true"), "/").await;
    ensure!(taken.is_err(), "an id was given twice");
    delete(client, "taken").await?;
    let missing = create(client, &plan("missing", "true"), "/no/such/directory").await;
    ensure!(missing.is_err(), "a root was made of nothing");
    machine(client, "mkdir -p /srv/root && ln -s /etc /srv/root/link").await?;
    let mut escaping = plan("escaping", "true");
    escaping.mounts = vec![Mount::of_filesystem(Filesystem::Tmpfs, "/link/escaped")];
    let escaped = create(client, &escaping, "/srv/root").await;
    ensure!(escaped.is_err(), "a symlink leads out of the root");
    machine(client, "test ! -e /etc/escaped").await?;
    let mut unknown = plan("unknown", "true");
    unknown.process.args = vec!["no-such-program".to_owned()];
    ensure!(create(client, &unknown, "/").await.is_err());
    let gone = delete(client, "unknown").await;
    ensure!(gone.is_err(), "what was not made can be deleted");
    outside(client).await
}

/// Checks that no working directory leads out of the root by a descriptor of the process that sets the container up.
async fn outside(client: &mut Client) -> Result<()> {
    for number in 3..64 {
        for cwd in [
            format!("/proc/self/fd/{number}"),
            format!("/proc/self/fd/{number}/made"),
        ] {
            let mut outside = plan("outside", "true");
            outside.process.uid = 0;
            outside.process.cwd.clone_from(&cwd);
            ensure!(create(client, &outside, "/").await.is_err(), "{cwd}");
        }
    }
    Ok(())
}

/// Returns the plan of a container that runs a script in a shell.
fn plan(id: &str, script: &str) -> ContainerPlan {
    let bit = |name: &str| capability_bit(name).unwrap_or(0);
    let control = |file: &str, value: &str| Control {
        file: file.to_owned(),
        value: value.to_owned(),
    };
    ContainerPlan {
        id: id.to_owned(),
        process: Process {
            args: ["sh", "-c", script].map(str::to_owned).to_vec(),
            env: vec![PATH.to_owned()],
            cwd: "/".to_owned(),
            uid: 7,
            gid: 8,
            additional_gids: vec![9],
            umask: Some(0o027),
            rlimits: vec![container_plan::Rlimit {
                resource: "nofile".to_owned(),
                soft: 512,
                hard: 512,
            }],
            capabilities: Capabilities {
                bounding: bit("CAP_CHOWN") | bit("CAP_NET_BIND_SERVICE"),
                ..Capabilities::default()
            },
            no_new_privileges: true,
            oom_score_adj: Some(100),
            ..Process::default()
        },
        hostname: "inside".to_owned(),
        mounts: mounts(),
        masked_paths: ["/etc/debian_version", "/usr/share", "/no/such/path"]
            .map(str::to_owned)
            .to_vec(),
        readonly_paths: vec!["/proc/sys".to_owned()],
        sysctls: vec![container_plan::Sysctl {
            name: "kernel.shm_rmid_forced".to_owned(),
            value: "1".to_owned(),
        }],
        cgroup: Cgroup {
            controls: vec![control("pids.max", "64"), control("memory.max", "67108864")],
            device_rules: vec![DeviceRule {
                is_allowed: false,
                kind: DeviceKind::Any.into(),
                access: "rwm".to_owned(),
                ..DeviceRule::default()
            }],
        },
        seccomp: Some(SeccompFilter::new(&[ALLOW_ALL])),
        ..ContainerPlan::default()
    }
}

/// Returns the mounts that an engine gives a container.
fn mounts() -> Vec<Mount> {
    let closed = flags::NO_SUID | flags::NO_EXEC | flags::NO_DEV;
    let mount = |kind, path: &str, flags: u32, data: &str| Mount {
        flags,
        data: data.to_owned(),
        ..Mount::of_filesystem(kind, path)
    };
    let pts = "newinstance,ptmxmode=0666,mode=0620,gid=5";
    vec![
        mount(Filesystem::Proc, "/proc", closed, ""),
        mount(
            Filesystem::Tmpfs,
            "/dev",
            flags::NO_SUID,
            "mode=755,size=65536k",
        ),
        mount(
            Filesystem::Devpts,
            "/dev/pts",
            flags::NO_SUID | flags::NO_EXEC,
            pts,
        ),
        mount(
            Filesystem::Tmpfs,
            "/dev/shm",
            closed,
            "mode=1777,size=65536k",
        ),
        mount(Filesystem::Sysfs, "/sys", closed | flags::READ_ONLY, ""),
        mount(
            Filesystem::Cgroup2,
            "/sys/fs/cgroup",
            closed | flags::READ_ONLY,
            "",
        ),
    ]
}

async fn create(client: &mut Client, plan: &ContainerPlan, root: &'static str) -> Result<()> {
    let source = container_root::Source::Directory(Bytes::from_static(root.as_bytes()));
    let request = CreateContainerRequest {
        plan: plan.to_bytes()?.into(),
        root: Some(ContainerRoot {
            source: Some(source),
        }),
        stdin: true,
    };
    client.containers().create(request).await?;
    Ok(())
}

async fn delete(client: &mut Client, id: &str) -> Result<()> {
    let request = DeleteContainerRequest {
        container_id: id.to_owned(),
    };
    client.containers().delete(request).await?;
    Ok(())
}

/// Runs a further process to its end. Returns what it has said, and its exit code.
async fn exec(
    client: &mut Client,
    id: &str,
    words: &[&str],
    terminal: Option<TerminalSize>,
) -> Result<(String, u32)> {
    let process = Process {
        args: words.iter().map(|&word| word.to_owned()).collect(),
        env: vec![PATH.to_owned()],
        cwd: "/".to_owned(),
        uid: 7,
        gid: 8,
        terminal,
        ..Process::default()
    };
    let exec = ExecContainer {
        container_id: id.to_owned(),
        process: process.to_bytes()?.into(),
        stdin: false,
    };
    let mut command = client.exec_container(exec).await?;
    to_end(&mut command).await
}

/// Runs a script in the machine's own namespaces, which the agent is in.
async fn machine(client: &mut Client, script: &str) -> Result<String> {
    let exec = Exec {
        argv: ["sh", "-c", script]
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .to_vec(),
        env: vec![Bytes::from_static(PATH.as_bytes())],
        namespaces: Namespaces::Machine.into(),
        ..Exec::default()
    };
    let mut command = client.exec(exec).await?;
    let (said, code) = to_end(&mut command).await?;
    ensure!(code == 0, "{script} gave {code}: {said:?}");
    Ok(said)
}

/// Reads output until it ends with a text.
async fn read(command: &mut Command, end: &str) -> Result<String> {
    let mut said = String::new();
    while !said.ends_with(end) {
        match command.outputs.next().await?.context("no output")? {
            Output::Stdout(bytes) | Output::Stderr(bytes) => {
                said += &String::from_utf8_lossy(&bytes)
            }
            Output::Exited(status) => bail!("{said:?}, then {status:?}"),
        }
    }
    Ok(said)
}

/// Reads output to the end. Standard error comes last. Returns it with the exit code.
async fn to_end(command: &mut Command) -> Result<(String, u32)> {
    let (mut said, mut errors) = (String::new(), String::new());
    loop {
        match command.outputs.next().await?.context("no exit")? {
            Output::Stdout(bytes) => said += &String::from_utf8_lossy(&bytes),
            Output::Stderr(bytes) => errors += &String::from_utf8_lossy(&bytes),
            Output::Exited(status) => {
                let code = match status.status.context("no status")? {
                    exit_status::Status::Code(code) => code,
                    exit_status::Status::Signal(signal) => 128 + signal,
                };
                return Ok((said + &errors, code));
            }
        }
    }
}
