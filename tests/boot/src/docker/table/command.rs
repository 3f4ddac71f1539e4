//! The command: entrypoint, environment, user, directory, exit status, signals, streams.

use crate::docker::row::{Image, Row};

/// The PATH of an image that sets none.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n";

pub(super) const ROWS: &[Row] = &[
    // Entrypoint and command: Dockerfile, "Understand how CMD and ENTRYPOINT interact"; running,
    // "Default entrypoint".
    Row::new("Cmd alone runs")
        .image(Image::Plain)
        .prints("cmd\n"),
    Row::new("words instead of Cmd")
        .image(Image::Plain)
        .runs(&["echo", "mine"])
        .prints("mine\n"),
    Row::new("Entrypoint gets Cmd").prints("entry cmd\n"),
    Row::new("Entrypoint gets the words instead of Cmd")
        .runs(&["x", "y"])
        .prints("entry x y\n"),
    Row::new("--entrypoint drops Cmd")
        .with(&["--entrypoint", "/bin/echo"])
        .prints("\n"),
    Row::new("--entrypoint gets the words")
        .with(&["--entrypoint", "/bin/echo"])
        .runs(&["x"])
        .prints("x\n"),
    Row::new("--entrypoint '' runs the words")
        .with(&["--entrypoint", ""])
        .runs(&["echo", "z"])
        .prints("z\n"),
    Row::new("--entrypoint '' leaves nothing to run")
        .with(&["--entrypoint", ""])
        .exits(125)
        .says("no command specified"),
    // Quoting: the exec form passes words as they are (Dockerfile, "Shell and exec form").
    Row::new("words keep blanks and quotes")
        .image(Image::Plain)
        .runs(&["sh", "-c", "echo \"$0|$1\"", "a b", "c\"d"])
        .prints("a b|c\"d\n"),
    Row::new("nothing is expanded")
        .image(Image::Plain)
        .runs(&["printf", "%s|", "", "*", "$HOME", "a\\b"])
        .prints("|*|$HOME|a\\b|"),
    Row::new("options after the image are the command's")
        .image(Image::Plain)
        .runs(&["echo", "-n", "--rm", "-it"])
        .prints("--rm -it"),
    // Environment: run, "Set environment variables"; running, "Environment variables".
    Row::new("-e sets")
        .image(Image::Plain)
        .with(&["-e", "A=1 2"])
        .runs(&["sh", "-c", "echo \"$A\""])
        .prints("1 2\n"),
    Row::new("Env of the image")
        .with(&["--entrypoint", "sh"])
        .runs(&["-c", "echo \"$A|$SP\""])
        .prints("image|two words\n"),
    Row::new("-e over Env")
        .with(&["--entrypoint", "sh", "-e", "A=mine"])
        .runs(&["-c", "echo $A"])
        .prints("mine\n"),
    Row::new("-e to nothing")
        .with(&["--entrypoint", "sh", "-e", "A="])
        .runs(&["-c", "echo [${A-unset}]"])
        .prints("[]\n"),
    Row::new("-e NAME passes on")
        .image(Image::Plain)
        .with(&["-e", "MSB_TABLE_SET"])
        .runs(&["sh", "-c", "echo $MSB_TABLE_SET"])
        .prints("from here\n"),
    Row::new("-e NAME of what is not set")
        .image(Image::Plain)
        .with(&["-e", "MSB_TABLE_UNSET"])
        .runs(&["sh", "-c", "echo ${MSB_TABLE_UNSET-unset}"])
        .prints("unset\n"),
    Row::new("the last -e wins")
        .image(Image::Plain)
        .with(&["-e", "A=1", "-e", "A=2"])
        .runs(&["sh", "-c", "echo $A"])
        .prints("2\n"),
    Row::new("--env-file, with -e over it")
        .image(Image::Plain)
        .with(&["--env-file", "{work}/env", "-e", "B=over"])
        .runs(&["sh", "-c", "echo $A $B $MSB_TABLE_SET"])
        .prints("file over from here\n"),
    Row::new("PATH where the image sets none")
        .image(Image::Plain)
        .runs(&["sh", "-c", "echo $PATH"])
        .prints(PATH),
    Row::new("HOME of root")
        .image(Image::Plain)
        .runs(&["sh", "-c", "echo $HOME"])
        .prints("/root\n"),
    Row::new("HOME of the user")
        .with(&["--entrypoint", "sh"])
        .runs(&["-c", "echo $HOME"])
        .prints("/nonexistent\n"),
    Row::new("HOSTNAME")
        .image(Image::Plain)
        .with(&["--name", "checks-host"])
        .runs(&["sh", "-c", "echo $HOSTNAME $(hostname)"])
        .prints("checks-host checks-host\n"),
    // User: run, "-u"; running, "User".
    Row::new("USER of the image")
        .with(&["--entrypoint", "id"])
        .prints("uid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup)\n"),
    Row::new("-u UID has group 0")
        .image(Image::Plain)
        .with(&["-u", "1000"])
        .runs(&["sh", "-c", "id -u; id -g"])
        .prints("1000\n0\n"),
    Row::new("-u UID:GID")
        .image(Image::Plain)
        .with(&["-u", "1000:2000"])
        .runs(&["sh", "-c", "id -u; id -g"])
        .prints("1000\n2000\n"),
    Row::new("-u over USER")
        .with(&["--entrypoint", "id", "-u", "root"])
        .runs(&["-u"])
        .prints("0\n"),
    Row::new("-u NAME:GROUP")
        .image(Image::Plain)
        .with(&["-u", "nobody:daemon"])
        .runs(&["sh", "-c", "id -u; id -g"])
        .prints("65534\n1\n"),
    Row::new("-u of nobody that is known")
        .image(Image::Plain)
        .with(&["-u", "nosuch"])
        .runs(&["sh", "-c", "true"])
        .exits(125)
        .says("nosuch"),
    // Working directory: run, "-w"; Dockerfile, "WORKDIR".
    Row::new("without WORKDIR")
        .image(Image::Plain)
        .runs(&["sh", "-c", "pwd"])
        .prints("/\n"),
    Row::new("WORKDIR is made")
        .with(&["--entrypoint", "pwd"])
        .prints("/srv/work\n"),
    Row::new("-w over WORKDIR, made too")
        .with(&["--entrypoint", "pwd", "-w", "/made/here"])
        .prints("/made/here\n"),
    // Exit status: running, "Exit status".
    Row::new("exit 0")
        .image(Image::Plain)
        .runs(&["sh", "-c", "exit 0"]),
    Row::new("the command's own code")
        .image(Image::Plain)
        .runs(&["sh", "-c", "exit 3"])
        .exits(3),
    Row::new("255")
        .image(Image::Plain)
        .runs(&["sh", "-c", "exit 255"])
        .exits(255),
    Row::new("125: the option is wrong")
        .image(Image::Plain)
        .with(&["--foo"])
        .runs(&["sh", "-c", "true"])
        .exits(125)
        .says("--foo"),
    Row::new("126: it cannot be invoked")
        .image(Image::Plain)
        .runs(&["/etc"])
        .exits(126)
        .says("/etc"),
    Row::new("127: it cannot be found")
        .image(Image::Plain)
        .runs(&["foo"])
        .exits(127)
        .says("foo"),
    Row::new("128 and the signal that killed it")
        .image(Image::Plain)
        .with(&["--init"])
        .runs(&["sh", "-c", "kill -9 $$"])
        .exits(137),
    Row::new("process 1 gets no signal that it does not handle")
        .image(Image::Plain)
        .runs(&["sh", "-c", "kill -TERM $$; kill -KILL $$; echo on; exit 3"])
        .prints("on\n")
        .exits(3),
    Row::new("--init runs the command below process 1")
        .image(Image::Plain)
        .with(&["--init"])
        .runs(&["sh", "-c", "test $$ -ne 1 && echo below; exit 3"])
        .prints("below\n")
        .exits(3),
    // Signals: run, "--sig-proxy".
    Row::new("SIGTERM reaches the command")
        .image(Image::Plain)
        .runs(&[
            "sh",
            "-c",
            "trap 'echo term; exit 4' TERM; echo up; sleep 60 & wait",
        ])
        .signalled("TERM")
        .prints("up\nterm\n")
        .exits(4),
    Row::new("SIGINT too")
        .image(Image::Plain)
        .runs(&[
            "sh",
            "-c",
            "trap 'echo int; exit 5' INT; echo up; sleep 60 & wait",
        ])
        .signalled("INT")
        .prints("up\nint\n")
        .exits(5),
    Row::new("SIGHUP and SIGQUIT too")
        .image(Image::Plain)
        .runs(&[
            "sh",
            "-c",
            "trap 'echo hup; exit 6' HUP; echo up; sleep 60 & wait",
        ])
        .signalled("HUP")
        .prints("up\nhup\n")
        .exits(6),
    // Terminal and standard input: run, "-t" and "-i".
    Row::new("without -i standard input is empty")
        .image(Image::Plain)
        .typed("not read")
        .runs(&["cat"])
        .prints(""),
    Row::new("-i passes it on")
        .image(Image::Plain)
        .with(&["-i"])
        .typed("a\nb")
        .runs(&["cat"])
        .prints("a\nb"),
    Row::new("without -t there is no terminal")
        .image(Image::Plain)
        .runs(&["sh", "-c", "test -t 1 || echo none"])
        .prints("none\n"),
    Row::new("-t gives one, both streams in one")
        .image(Image::Plain)
        .with(&["-t"])
        .runs(&[
            "sh",
            "-c",
            "test -t 0 && test -t 1 && test -t 2 && echo out; echo err >&2; echo $TERM",
        ])
        .prints("out\r\nerr\r\nxterm\r\n"),
    Row::new("-it without a terminal here")
        .image(Image::Plain)
        .with(&["-it"])
        .runs(&["sh", "-c", "true"])
        .exits(125)
        .says("not a terminal"),
    Row::new("the streams are apart")
        .image(Image::Plain)
        .runs(&["sh", "-c", "echo out; echo err >&2"])
        .prints("out\n")
        .says("err\n"),
    Row::new("--entrypoint that does not exist")
        .with(&["--entrypoint", "/nosuch"])
        .exits(127)
        .says("/nosuch"),
    Row::new("--entrypoint sh takes -c from the words")
        .with(&["--entrypoint", "/bin/sh"])
        .runs(&["-c", "echo $0 $1", "a", "b"])
        .prints("a b\n"),
    Row::new("126: it is not executable")
        .image(Image::Plain)
        .runs(&["/etc/passwd"])
        .exits(126)
        .says("/etc/passwd"),
    Row::new("143: SIGTERM killed it")
        .image(Image::Plain)
        .with(&["--init"])
        .runs(&["sh", "-c", "kill -TERM $$"])
        .exits(143),
    Row::new("139: SIGSEGV killed it")
        .image(Image::Plain)
        .with(&["--init"])
        .runs(&["sh", "-c", "kill -SEGV $$"])
        .exits(139),
    Row::new("an exit code beyond 255 wraps")
        .image(Image::Plain)
        .runs(&["python3", "-c", "import os; os._exit(300)"])
        .exits(44),
    Row::new("only standard error")
        .image(Image::Plain)
        .runs(&["sh", "-c", "echo err >&2; exit 7"])
        .prints("")
        .says("err\n")
        .exits(7),
    Row::new("output without a newline")
        .image(Image::Plain)
        .runs(&["printf", "abc"])
        .prints("abc"),
    Row::new("-i of a command that reads nothing")
        .image(Image::Plain)
        .with(&["-i"])
        .typed("abc")
        .runs(&["true"])
        .prints(""),
    Row::new("-i with nothing to read")
        .image(Image::Plain)
        .with(&["-i"])
        .runs(&["cat"])
        .prints(""),
    Row::new("-e HOME over the user's")
        .image(Image::Plain)
        .with(&["-e", "HOME=/x"])
        .runs(&["sh", "-c", "echo $HOME"])
        .prints("/x\n"),
    Row::new("-e PATH over the default")
        .image(Image::Plain)
        .with(&["-e", "PATH=/bin"])
        .runs(&["sh", "-c", "echo $PATH"])
        .prints("/bin\n"),
    Row::new("-e HOSTNAME over the sandbox's")
        .image(Image::Plain)
        .with(&["-e", "HOSTNAME=x"])
        .runs(&["sh", "-c", "echo $HOSTNAME"])
        .prints("x\n"),
    Row::new("-e TERM over xterm")
        .image(Image::Plain)
        .with(&["-t", "-e", "TERM=dumb"])
        .runs(&["sh", "-c", "echo $TERM"])
        .prints("dumb\r\n"),
    Row::new("-e keeps an = in the value")
        .image(Image::Plain)
        .with(&["-e", "A=b=c"])
        .runs(&["sh", "-c", "echo $A"])
        .prints("b=c\n"),
    Row::new("-e without a name")
        .image(Image::Plain)
        .with(&["-e", "=x"])
        .runs(&["true"])
        .exits(125)
        .says("=x"),
    Row::new("--env-file that does not exist")
        .image(Image::Plain)
        .with(&["--env-file", "{work}/nosuch"])
        .runs(&["true"])
        .exits(125)
        .says("nosuch"),
    Row::new("HOME of a user of the image")
        .image(Image::Plain)
        .with(&["-u", "daemon"])
        .runs(&["sh", "-c", "echo $HOME"])
        .prints("/usr/sbin\n"),
    Row::new("-u 0:GID")
        .image(Image::Plain)
        .with(&["-u", "0:1"])
        .runs(&["id", "-g"])
        .prints("1\n"),
    Row::new("--group-add of a number")
        .image(Image::Plain)
        .with(&["--group-add", "44"])
        .runs(&["id", "-G"])
        .prints("0 44\n"),
    Row::new("--group-add of a name")
        .image(Image::Plain)
        .with(&["--group-add", "daemon"])
        .runs(&["id", "-G"])
        .prints("0 1\n"),
    Row::new("--group-add of a group that does not exist")
        .image(Image::Plain)
        .with(&["--group-add", "nosuch"])
        .runs(&["true"])
        .exits(125)
        .says("nosuch"),
    Row::new("-w relative")
        .image(Image::Plain)
        .with(&["-w", "here"])
        .runs(&["pwd"])
        .exits(125)
        .says("here"),
    Row::new("umask")
        .image(Image::Plain)
        .runs(&["sh", "-c", "umask"])
        .prints("0022\n"),
];
