//! The container itself: names, network, limits and other options of run.

use crate::docker::row::{Image, Row};

pub(super) const ROWS: &[Row] = &[
    Row::new("--hostname names the sandbox")
        .image(Image::Plain)
        .with(&["--hostname", "box"])
        .runs(&["hostname"])
        .prints("box\n"),
    Row::new("-h")
        .image(Image::Plain)
        .with(&["-h", "box"])
        .runs(&["hostname"])
        .prints("box\n"),
    Row::new("--hostname is in /etc/hosts")
        .image(Image::Plain)
        .with(&["--hostname", "box"])
        .runs(&["sh", "-c", "grep -cw box /etc/hosts"])
        .prints("1\n"),
    Row::new("--add-host")
        .image(Image::Plain)
        .with(&["--add-host", "db:10.0.0.5"])
        .runs(&["sh", "-c", "getent hosts db | cut -d' ' -f1"])
        .prints("10.0.0.5\n"),
    Row::new("--add-host of the host")
        .image(Image::Plain)
        .with(&["--add-host", "here:host-gateway"])
        .runs(&["sh", "-c", "getent hosts here >/dev/null && echo known"])
        .prints("known\n"),
    Row::new("--add-host of what is no address")
        .image(Image::Plain)
        .with(&["--add-host", "db:nosuch"])
        .runs(&["true"])
        .exits(125)
        .says("nosuch"),
    Row::new("--name that is none")
        .image(Image::Plain)
        .with(&["--name", "a b"])
        .runs(&["true"])
        .exits(125)
        .says("a b"),
    Row::new("--network none has lo alone")
        .image(Image::Plain)
        .with(&["--network", "none"])
        .runs(&["ls", "/sys/class/net"])
        .prints("lo\n"),
    Row::new("--network that does not exist")
        .image(Image::Plain)
        .with(&["--network", "nosuch"])
        .runs(&["true"])
        .exits(125)
        .says("nosuch"),
    Row::new("-p of what is no port")
        .image(Image::Plain)
        .with(&["-p", "foo"])
        .runs(&["true"])
        .exits(125)
        .says("foo"),
    Row::new("-p of a port beyond 65535")
        .image(Image::Plain)
        .with(&["-p", "99999:80"])
        .runs(&["true"])
        .exits(125)
        .says("99999"),
    Row::new("--dns of what is no address")
        .image(Image::Plain)
        .with(&["--dns", "foo"])
        .runs(&["true"])
        .exits(125)
        .says("foo"),
    Row::new("--ulimit soft and hard")
        .image(Image::Plain)
        .with(&["--ulimit", "nofile=100:200"])
        .runs(&["sh", "-c", "ulimit -Sn; ulimit -Hn"])
        .prints("100\n200\n"),
    Row::new("--ulimit of one number")
        .image(Image::Plain)
        .with(&["--ulimit", "nofile=100"])
        .runs(&["sh", "-c", "ulimit -Sn; ulimit -Hn"])
        .prints("100\n100\n"),
    Row::new("--ulimit of an unknown resource")
        .image(Image::Plain)
        .with(&["--ulimit", "foo=1"])
        .runs(&["true"])
        .exits(125)
        .says("foo"),
    Row::new("--memory that is no size")
        .image(Image::Plain)
        .with(&["--memory", "foo"])
        .runs(&["true"])
        .exits(125)
        .says("foo"),
    Row::new("--memory below the least")
        .image(Image::Plain)
        .with(&["--memory", "1m"])
        .runs(&["true"])
        .exits(125)
        .says("1"),
    Row::new("--cpus that is no number")
        .image(Image::Plain)
        .with(&["--cpus", "foo"])
        .runs(&["true"])
        .exits(125)
        .says("foo"),
    Row::new("--init")
        .image(Image::Plain)
        .with(&["--init"])
        .runs(&["echo", "run"])
        .prints("run\n"),
    Row::new("--privileged")
        .image(Image::Plain)
        .with(&["--privileged"])
        .runs(&["echo", "run"])
        .prints("run\n"),
    Row::new("--cap-add")
        .image(Image::Plain)
        .with(&["--cap-add", "NET_ADMIN"])
        .runs(&["echo", "run"])
        .prints("run\n"),
    Row::new("--label")
        .image(Image::Plain)
        .with(&["--label", "a=b", "-l", "c"])
        .runs(&["echo", "run"])
        .prints("run\n"),
    Row::new("--stop-timeout")
        .image(Image::Plain)
        .with(&["--stop-timeout", "1"])
        .runs(&["echo", "run"])
        .prints("run\n"),
    Row::new("--restart beside --rm")
        .image(Image::Plain)
        .with(&["--restart", "always"])
        .runs(&["true"])
        .exits(125)
        .says("--rm"),
    Row::new("--cidfile")
        .image(Image::Plain)
        .with(&["--cidfile", "{work}/id"])
        .runs(&["echo", "run"])
        .prints("run\n"),
    Row::new("--cidfile that exists")
        .image(Image::Plain)
        .with(&["--cidfile", "{work}/env"])
        .runs(&["true"])
        .exits(125)
        .says("env"),
    Row::new("--platform of the image")
        .image(Image::Plain)
        .with(&["--platform", "linux/amd64"])
        .runs(&["echo", "run"])
        .prints("run\n"),
    Row::new("--platform that the image has not")
        .image(Image::Plain)
        .with(&["--platform", "linux/arm64"])
        .runs(&["true"])
        .exits(125)
        .says("arm64"),
    Row::new("/proc, /sys and /dev are there")
        .image(Image::Plain)
        .runs(&["sh", "-c", "test -e /proc/self && test -d /sys/kernel && test -c /dev/null && test -L /dev/fd && echo there"])
        .prints("there\n"),
];
