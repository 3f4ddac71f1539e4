use clap::{CommandFactory as _, Parser as _};
use docker_words::options::Effect;

use super::*;
use crate::args::Arguments;
use crate::{args, help};

/// Command lines of Docker and Podman that msb accepts too.
const TAKEN: &[&str] = &[
    // Commands that create and run sandboxes.
    "run bb",
    "run --rm bb ls -l",
    "run -it -d --name a --hostname b -h c bb",
    "run --entrypoint= bb",
    "run -e A=1 -e B --env-file f --label x=y -w /w --user nobody --group-add 5 bb",
    "run -v /d:/d -v c:/d:ro --mount type=tmpfs,target=/t --tmpfs /t --read-only --init --pid host bb",
    "run -p 8080:80 -p 80 -p 127.0.0.1::80 -p 8000-8003:80-83 -P --net none bb",
    "run --network none --dns 1.1.1.1 --add-host a:1.2.3.4 --cidfile f bb",
    "run --platform linux/amd64 --pull always --restart unless-stopped bb",
    "run --sysctl net.core.somaxconn=1024 -m 64m --cpus 2 --shm-size 1g --memory 1.5g --pids-limit 9 --ulimit nofile=9 bb",
    "run --stop-timeout 3 --stop-signal INT -q bb",
    "run --privileged --privileged=true --cap-add ALL --cap-add=NET_ADMIN bb",
    "run --cap-drop ALL --security-opt no-new-privileges --security-opt=seccomp=f bb",
    "run -v /d:/d:Z -v v:/e:ro,z --pids-limit -1 --network none -p 80 bb",
    "run --memory-swap 2g --memory-swappiness 0 --memory-reservation 64m bb",
    "run --no-healthcheck --disable-content-trust=false bb",
    "create --privileged --cidfile f bb sh",
    // Commands on existing sandboxes.
    "exec -it -e A=1 -u root -w /w a ls",
    "exec -d a ls",
    "exec --privileged a ls",
    "ps -aq",
    "ps -l",
    "ps -n 3",
    "ps -s --no-trunc",
    "ps --filter id=0 --filter name=a --filter status=paused --filter exited=0 -f label=a",
    "ps --filter ancestor=bb --format json",
    "ps --format {{.Names}}",
    "inspect a",
    "inspect -f {{.State.Status}} a",
    "inspect --format={{json .Config.Cmd}} a",
    "inspect --type container a",
    "inspect --type=image -s bb",
    "logs -f -n 3 -t --since 10m a",
    "logs --until 2026-11-23 --since 1700000000 --tail all a",
    "cp a:/f -",
    "cp -a ./f a:/f",
    "top a",
    "top a -o pid",
    "port a 80/tcp",
    "stats --no-stream a",
    "wait a",
    "attach a",
    "rename a b",
    "start -ai a",
    "restart -t 3 a",
    "stop -t 3 a",
    "stop -s INT a",
    "stop --signal=SIGINT a",
    "kill -s HUP a",
    "kill a",
    "pause a b",
    "unpause a",
    "container pause a",
    "rm -f a",
    "rm -fv a",
    "update --memory 1g --cpus 1 a",
    // Commands on images.
    "images -q",
    "images -a --no-trunc --digests bb",
    "images --filter dangling=true --filter reference=bb*",
    "images --format {{.Repository}}:{{.Tag}}",
    "image ls -q",
    "image inspect bb cc",
    "image inspect -f {{.Id}} bb",
    "image rm -f bb",
    "image prune -af",
    "image pull bb",
    "image load -i f",
    "save bb -o f",
    "save bb aa",
    "image save bb",
    "tag a b",
    "image tag a b",
    "history bb",
    "history --no-trunc -q -H bb",
    "image history bb",
    "rmi bb cc",
    "rmi -f bb",
    "load -i f",
    "load",
    "load --quiet --input f",
    "pull -q --platform linux/amd64 bb",
    "pull bb cc",
    "push bb",
    "push -q --disable-content-trust bb",
    "image push bb",
    "login",
    "login -u me --password-stdin r.example",
    "login --username me https://r.example/v1/",
    "logout",
    "logout r.example",
    // Commands on volumes and containers, and of the system.
    "volume create",
    "volume create --label a=b v",
    "volume ls -q",
    "volume inspect -f {{.Name}} v",
    "volume rm -f v",
    "volume prune -af",
    "container ls -a",
    "container ps -q",
    "container run --rm bb",
    "container inspect a",
    "container rm -f a",
    "container prune -f",
    "container prune --filter label=a",
    "container top a",
    "commit a b",
    "commit -a me -m text -c CMD=x a b",
    "container commit a b",
    "system df -v",
    "system prune -af --volumes",
    "version",
    "version --format json",
    "-v",
    "--version",
    "--help",
    "run --help",
    "completion bash",
];

/// Command lines of Docker and Podman that msb refuses, and a part of its answer.
const ANSWERED: &[(&str, &str)] = &[
    ("login -p secret r.example", "--password-stdin"),
    ("login --password=secret -u me", "--password-stdin"),
    ("build .", "msb load"),
    ("image build .", "msb load"),
    ("buildx build .", "msb load"),
    ("compose up", "msb run -d"),
    ("context ls", "MSB_HOME"),
    ("events", "msb wait"),
    ("system events", "msb wait"),
    ("export a", "msb cp -x"),
    ("import f", "msb load"),
    ("info", "msb doctor"),
    ("system info", "msb doctor"),
    (
        "network ls",
        "msb has no networks to list; see --network of msb run",
    ),
    ("network create n", "see --network of msb run"),
    ("network inspect n", "see --network of msb run"),
    ("search a", "skopeo"),
    ("swarm init", "only on this host"),
    ("upgrade", "install a newer msb over it"),
    ("run --network host bb", "host.msb.internal"),
    ("run --net=host bb", "host.msb.internal"),
    ("run --network bridge bb", "outbound"),
    ("run --network container:a bb", "--net-allow"),
    ("run --pid container:a bb", "msb exec NAME"),
    ("run -v v:/d:nocopy bb", "where the image has none"),
    ("run -v /d:/d:rslave bb", "do not propagate"),
    ("run -v /d:/d:ro,cached bb", "Docker Desktop"),
    ("run -v /d:/d:U bb", "chown"),
    ("run -v /d:/d:O bb", "--copy"),
    (
        "run --mount type=bind,src=/d,dst=/d,bind-propagation=rslave bb",
        "do not propagate",
    ),
    (
        "run --mount src=v,dst=/d,volume-nocopy bb",
        "the image has none",
    ),
    (
        "run --device /dev/x bb",
        "devices of the host cannot be passed",
    ),
    ("run --gpus all bb", "devices of the host cannot be passed"),
    ("run --cpuset-cpus 0 bb", "taskset"),
    ("run --cpu-shares 5 bb", "--cpus"),
    ("run -c 5 bb", "--cpus"),
    ("run --health-cmd x bb", "msb exec"),
    ("run --ipc host bb", "its own kernel"),
    ("run --userns keep-id bb", "its own kernel"),
    ("run --runtime runsc bb", "--vmm"),
    ("run --link a:b bb", "--net-allow"),
    ("run --log-driver none bb", "msb logs"),
    ("run --sig-proxy=false bb", "msb run -d"),
    ("run -a stdout bb", "-i"),
    ("create -a stdout bb", "-i"),
    ("run --volumes-from a bb", "-v"),
    ("run --storage-opt size=1g bb", "--upper-size"),
    ("run --mac-address 0 bb", "-p"),
    ("run --replace --name a bb", "msb rm -f"),
    (
        "container run --gpus all bb",
        "devices of the host cannot be passed",
    ),
    ("attach --detach-keys x a", "Ctrl-P Ctrl-Q"),
    ("pull -a bb", "skopeo"),
    ("logs --details a", "msb inspect"),
    ("rm -l a", "no links"),
    ("rm --all", "msb container prune"),
    ("stop -a", "msb ps -q"),
    ("stats -a", "msb ps"),
    ("images --tree", "msb image inspect"),
    ("update --restart no a", "msb create"),
    ("volume create -d local v", "--size"),
    ("volume ls -f dangling=true", "jq"),
    ("volume prune -f --filter label=a", "msb volume rm"),
    ("-H tcp://a ps", "only on this host"),
    ("--context a ps", "--home"),
    ("-D run bb", "MSB_TIMELINE"),
    ("--log-level debug ps", "MSB_TIMELINE"),
    ("restore a", "msb rollback"),
    ("snapshot restore a@b", "msb rollback"),
    ("clone a b", "msb fork"),
    ("shell a", "msb exec -it"),
    ("scan bb", "vulnerabilities"),
    ("run --timeout 5 bb", "--max-duration"),
    ("run -h", "msb run --help"),
    ("create -h", "msb create --help"),
    ("version --format {{.Server.Version}}", "--format json"),
    ("stats --format {{.CPUPerc}}", "--format json"),
];

/// Splits a command line into words. A template keeps its spaces.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in line.split(' ') {
        match words.last_mut() {
            Some(last) if last.contains("{{") && !last.contains("}}") => {
                *last = format!("{last} {part}");
            }
            _ => words.push(part.to_owned()),
        }
    }
    words
}

fn parsed(line: &str) -> Result<Arguments, clap::Error> {
    let words = words(line);
    let program = std::iter::once("msb");
    Arguments::try_parse_from(program.chain(words.iter().map(String::as_str)))
}

#[test]
fn what_docker_and_msb_both_have_is_taken() {
    let mut faults = Vec::new();
    for line in TAKEN {
        match parsed(line) {
            Err(error) if error.use_stderr() => faults.push(format!("{line}: {error}")),
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_only_docker_has_is_answered_with_one_line() {
    let mut faults = Vec::new();
    for (line, part) in ANSWERED {
        let error = match parsed(line) {
            Ok(taken) => {
                faults.push(format!("{line} is taken: {:?}", taken.command));
                continue;
            }
            Err(error) => error,
        };
        let words = words(line);
        let (path, _) = help::typed_command(args::ordered(), &words);
        match answer(&error, &path, &words) {
            Some(answer) if answer.contains(part) && !answer.contains('\n') => {}
            other => faults.push(format!("{line}: {other:?}, and by itself {error}")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_word_that_nobody_has_stays_a_mistake() {
    for line in [
        "comit a",
        "run --gpu bb",
        "network",
        "run --network x bb",
        "run -v /d:/d:x bb",
        "run -v z bb",
        "run --mount z=1 bb",
    ] {
        let error = parsed(line).expect_err(line);
        let words = words(line);
        let (path, _) = help::typed_command(args::ordered(), &words);
        assert_eq!(answer(&error, &path, &words), None, "{line}");
    }
}

#[test]
fn each_row_names_nothing_that_msb_has() {
    let mut command = Arguments::command();
    command.build();
    for missing in commands::ALL {
        assert!(
            command.find_subcommand(missing.words).is_none(),
            "{}",
            missing.words
        );
    }
    for group in options::ALL {
        for path in group.commands {
            let mut of_path = &command;
            for word in path.split(' ') {
                of_path = of_path.find_subcommand(word).expect(path);
            }
            let is_taken = |name: &str| {
                let has = |argument: &clap::Arg| match name.strip_prefix("--") {
                    Some(long) => argument.get_long() == Some(long),
                    None => argument.get_short() == name.chars().nth(1),
                };
                of_path.get_arguments().any(has)
            };
            let is_needless = matches!(group.effect, Effect::Needless { .. });
            for name in group.names {
                assert_eq!(is_taken(name), is_needless, "{path} {name}");
            }
        }
    }
}
