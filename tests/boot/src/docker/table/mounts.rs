//! Mounts: run, "-v", "--mount", "--tmpfs", "--read-only" and "--shm-size".

use crate::docker::row::{Image, Row};

pub(super) const ROWS: &[Row] = &[
    Row::new("-v of a directory")
        .image(Image::Plain)
        .with(&["-v", "{work}/host:/d"])
        .runs(&["cat", "/d/file"])
        .prints("of the host\n"),
    Row::new("-v :ro cannot be written")
        .image(Image::Plain)
        .with(&["-v", "{work}/host:/d:ro"])
        .runs(&["sh", "-c", "touch /d/x 2>/dev/null || echo refused"])
        .prints("refused\n"),
    Row::new("-v hides what the image has")
        .image(Image::Plain)
        .with(&["-v", "{work}/host:/etc/apt"])
        .runs(&["ls", "/etc/apt"])
        .prints("file\n"),
    Row::new("-v of a file")
        .image(Image::Plain)
        .with(&["-v", "{work}/host/file:/f"])
        .runs(&["cat", "/f"])
        .prints("of the host\n"),
    Row::new("-v with a relative target")
        .image(Image::Plain)
        .with(&["-v", "{work}/host:d"])
        .runs(&["true"])
        .exits(125)
        .says("d"),
    Row::new("-v with an unknown option")
        .image(Image::Plain)
        .with(&["-v", "{work}/host:/d:foo"])
        .runs(&["true"])
        .exits(125)
        .says("foo"),
    Row::new("-v of a named volume")
        .image(Image::Plain)
        .with(&["-v", "data:/v"])
        .runs(&["sh", "-c", "echo x >/v/f && cat /v/f"])
        .prints("x\n"),
    Row::new("-v of an anonymous volume")
        .image(Image::Plain)
        .with(&["-v", "/v"])
        .runs(&["sh", "-c", "echo x >/v/f && cat /v/f"])
        .prints("x\n"),
    Row::new("a new volume is filled from the image")
        .image(Image::Plain)
        .with(&["-v", "fill:/usr/share/base-passwd"])
        .runs(&["ls", "/usr/share/base-passwd"])
        .prints("group.master\npasswd.master\n"),
    Row::new("two mounts at one place")
        .image(Image::Plain)
        .with(&["-v", "{work}/host:/d", "-v", "data:/d"])
        .runs(&["true"])
        .exits(125)
        .says("/d"),
    Row::new("--mount type=bind")
        .image(Image::Plain)
        .with(&["--mount", "type=bind,source={work}/host,target=/d"])
        .runs(&["cat", "/d/file"])
        .prints("of the host\n"),
    Row::new("--mount with src, dst and readonly")
        .image(Image::Plain)
        .with(&["--mount", "type=bind,src={work}/host,dst=/d,readonly"])
        .runs(&["sh", "-c", "touch /d/x 2>/dev/null || echo refused"])
        .prints("refused\n"),
    Row::new("--mount of what does not exist")
        .image(Image::Plain)
        .with(&["--mount", "type=bind,source=/nosuch,target=/d"])
        .runs(&["true"])
        .exits(125)
        .says("/nosuch"),
    Row::new("--mount type=volume")
        .image(Image::Plain)
        .with(&["--mount", "type=volume,source=data,target=/v"])
        .runs(&["sh", "-c", "echo x >/v/f && cat /v/f"])
        .prints("x\n"),
    Row::new("--mount type=tmpfs")
        .image(Image::Plain)
        .with(&["--mount", "type=tmpfs,destination=/s"])
        .runs(&["stat", "-f", "-c", "%T", "/s"])
        .prints("tmpfs\n"),
    Row::new("--mount of an unknown type")
        .image(Image::Plain)
        .with(&["--mount", "type=foo,target=/d"])
        .runs(&["true"])
        .exits(125)
        .says("foo"),
    Row::new("--tmpfs")
        .image(Image::Plain)
        .with(&["--tmpfs", "/s"])
        .runs(&["stat", "-f", "-c", "%T", "/s"])
        .prints("tmpfs\n"),
    Row::new("--tmpfs with a size and a mode")
        .image(Image::Plain)
        .with(&["--tmpfs", "/s:size=1m,mode=700"])
        .runs(&[
            "sh",
            "-c",
            "stat -c %a /s; df -k /s | tail -1 | tr -s ' ' | cut -d' ' -f2",
        ])
        .prints("700\n1024\n"),
    Row::new("--read-only")
        .image(Image::Plain)
        .with(&["--read-only"])
        .runs(&["sh", "-c", "touch /x 2>/dev/null || echo refused"])
        .prints("refused\n"),
    Row::new("--read-only leaves --tmpfs writable")
        .image(Image::Plain)
        .with(&["--read-only", "--tmpfs", "/s"])
        .runs(&["sh", "-c", "touch /s/x && echo written"])
        .prints("written\n"),
    Row::new("--read-only leaves -v writable")
        .image(Image::Plain)
        .with(&["--read-only", "-v", "{work}/host:/d"])
        .runs(&["sh", "-c", "touch /d/x && echo written"])
        .prints("written\n"),
    Row::new("--shm-size")
        .image(Image::Plain)
        .with(&["--shm-size", "32m"])
        .runs(&[
            "sh",
            "-c",
            "df -k /dev/shm | tail -1 | tr -s ' ' | cut -d' ' -f2",
        ])
        .prints("32768\n"),
];
