//! Inits, supervisors and daemons of a system.

use test_fixtures::images::ServiceImage;

use crate::gallery::service::{Probe, Service, http};

/// The services.
pub(super) const SERVICES: &[Service] = &[
    // As of very many images: jobs write to the output of process 1.
    Service {
        image: ServiceImage {
            name: "cron",
            packages: &["cron", "busybox-static"],
            setup: r#"
mkdir /srv/www
echo first > /srv/www/index.html
cat > /etc/cron.d/jobs <<'JOBS'
* * * * * root echo the job ran > /proc/1/fd/1 2> /proc/1/fd/2
JOBS
printf '#!/bin/sh\nbusybox httpd -p 80 -h /srv/www\nexec cron -f\n' > /usr/local/bin/start
chmod 755 /usr/local/bin/start"#,
            config: &[
                "--config.cmd=/usr/local/bin/start",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: None,
        probe: http(80),
        log: "the job ran",
        change: "echo after > /srv/www/index.html; kill -HUP 1",
        exit_code: 137,
    },
    // Separation of privileges in /run/sshd.
    Service {
        image: ServiceImage {
            name: "sshd",
            packages: &["openssh-server"],
            setup: r#"
mkdir -p /run/sshd
printf 'Port 22\nListenAddress 0.0.0.0\nVersionAddendum first\nPidFile none\n' > /etc/ssh/sshd_config"#,
            config: &[
                "--config.cmd=/usr/sbin/sshd",
                "--config.cmd=-D",
                "--config.cmd=-e",
                "--config.exposedports=22/tcp",
            ],
        },
        other_user: None,
        probe: Probe {
            port: 22,
            request: b"",
            ..http(22)
        },
        log: "Server listening on 0.0.0.0 port 22",
        change: "sed -i 's/first/after/' /etc/ssh/sshd_config; kill -HUP 1",
        exit_code: 0,
    },
    Service {
        image: ServiceImage {
            name: "s6",
            packages: &["s6", "busybox-static"],
            setup: r#"
mkdir -p /srv/www /etc/s6/web
echo first > /srv/www/index.html
printf '#!/bin/sh\necho web starts\nexec busybox httpd -f -v -p 80 -h /srv/www\n' > /etc/s6/web/run
chmod 755 /etc/s6/web/run"#,
            config: &[
                "--config.cmd=s6-svscan",
                "--config.cmd=/etc/s6",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: None,
        probe: http(80),
        log: "web starts",
        change: "echo after > /srv/www/index.html; s6-svc -r /etc/s6/web; kill -HUP 1",
        exit_code: 0,
    },
    Service {
        image: ServiceImage {
            name: "runit",
            packages: &["runit", "busybox-static"],
            setup: r#"
mkdir -p /srv/www /etc/services/web
echo first > /srv/www/index.html
printf '#!/bin/sh\necho web starts\nexec busybox httpd -f -v -p 80 -h /srv/www 2>&1\n' > /etc/services/web/run
chmod 755 /etc/services/web/run"#,
            config: &[
                "--config.cmd=runsvdir",
                "--config.cmd=-P",
                "--config.cmd=/etc/services",
                "--config.stopsignal=SIGHUP",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: None,
        probe: http(80),
        log: "web starts",
        change: "echo after > /srv/www/index.html; sv restart /etc/services/web",
        exit_code: 111,
    },
    // A resolver that drops its rights after it has bound its port.
    Service {
        image: ServiceImage {
            name: "unbound",
            packages: &["unbound"],
            setup: r#"
cat > /etc/unbound/unbound.conf <<'CONF'
server:
  interface: 0.0.0.0
  access-control: 0.0.0.0/0 allow
  do-daemonize: no
  use-syslog: no
  logfile: ""
  verbosity: 1
  pidfile: ""
  chroot: ""
  include: /etc/unbound/names
CONF
echo 'local-data: "name.test. A 10.1.2.3"' > /etc/unbound/names"#,
            config: &["--config.cmd=unbound", "--config.exposedports=53/tcp"],
        },
        other_user: Some("unbound"),
        probe: Probe {
            port: 53,
            request: super::DNS_REQUEST,
            answer: &[10, 1, 2, 3],
            changed: &[10, 4, 5, 6],
        },
        log: "start of service",
        change: "echo 'local-data: \"name.test. A 10.4.5.6\"' > /etc/unbound/names; kill -HUP 1",
        exit_code: 0,
    },
    // A whole system: systemd as process 1.
    Service {
        image: ServiceImage {
            name: "systemd",
            packages: &["systemd", "systemd-sysv", "dbus", "busybox-static"],
            setup: r#"
mkdir /srv/www
echo first > /srv/www/index.html
cat > /etc/systemd/system/web.service <<'UNIT'
[Service]
ExecStart=/bin/busybox httpd -f -p 80 -h /srv/www
[Install]
WantedBy=multi-user.target
UNIT
systemctl enable web.service
systemctl mask systemd-logind.service getty.target console-getty.service systemd-networkd.service"#,
            config: &[
                "--config.cmd=/sbin/init",
                "--config.cmd=--log-target=console",
                "--config.stopsignal=SIGRTMIN+3",
                "--config.env=container=docker",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: None,
        probe: http(80),
        log: "",
        change: "echo after > /srv/www/index.html; systemctl daemon-reload; kill -HUP 1",
        exit_code: 130,
    },
];
