//! The services of few packages, which every run of the tests starts.

use test_fixtures::images::ServiceImage;

use crate::gallery::service::{Probe, Service, http};

/// The services.
pub(super) const SERVICES: &[Service] = &[
    // As the official image and its variant without rights: logs are links to the output, temporary
    // files are in /tmp, and SIGQUIT stops it.
    Service {
        image: ServiceImage {
            name: "nginx",
            packages: &["nginx-light"],
            setup: r#"
ln -sf /dev/stdout /var/log/nginx/access.log
ln -sf /dev/stderr /var/log/nginx/error.log
cat > /etc/nginx/nginx.conf <<'CONF'
worker_processes 1;
pid /tmp/nginx.pid;
error_log /var/log/nginx/error.log notice;
events { worker_connections 64; }
http {
  access_log /var/log/nginx/access.log;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  server { listen 80; location / { include /etc/nginx/answer.conf; } }
}
CONF
echo 'return 200 "first\n";' > /etc/nginx/answer.conf"#,
            config: &[
                "--config.entrypoint=nginx",
                "--config.cmd=-g",
                "--config.cmd=daemon off;",
                "--config.stopsignal=SIGQUIT",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: Some("www-data"),
        probe: http(80),
        log: "start worker process",
        change: "echo 'return 200 \"after\\n\";' > /etc/nginx/answer.conf; kill -HUP 1",
        exit_code: 0,
    },
    // As the official image: an entry point that gives the data to a user and drops its rights.
    Service {
        image: ServiceImage {
            name: "redis",
            packages: &["redis-server"],
            setup: r#"
mkdir /data
chown redis:redis /data
cat > /usr/local/bin/entrypoint <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  find . ! -user redis -exec chown redis {} +
  exec setpriv --reuid=redis --regid=redis --clear-groups -- "$0" "$@"
fi
exec "$@"
SCRIPT
chmod 755 /usr/local/bin/entrypoint"#,
            config: &[
                "--config.entrypoint=/usr/local/bin/entrypoint",
                "--config.cmd=redis-server",
                "--config.cmd=--save",
                "--config.cmd=60 1",
                "--config.cmd=--bind",
                "--config.cmd=0.0.0.0",
                "--config.cmd=--protected-mode",
                "--config.cmd=no",
                "--config.workingdir=/data",
                "--config.volume=/data",
                "--config.exposedports=6379/tcp",
            ],
        },
        other_user: Some("redis"),
        probe: Probe {
            port: 6379,
            request: b"GET key\r\n",
            answer: b"$-1",
            changed: b"after",
        },
        log: "Ready to accept connections",
        change: "redis-cli set key after",
        exit_code: 0,
    },
    // An image with USER.
    Service {
        image: ServiceImage {
            name: "memcached",
            packages: &["memcached"],
            setup: ":",
            config: &[
                "--config.cmd=memcached",
                "--config.cmd=-u",
                "--config.cmd=memcache",
                "--config.cmd=-vv",
                "--config.user=memcache",
                "--config.exposedports=11211/tcp",
            ],
        },
        other_user: Some("root"),
        probe: Probe {
            port: 11211,
            request: b"version\r\n",
            answer: b"VERSION",
            changed: b"VERSION",
        },
        log: "server listening",
        change: "",
        exit_code: 0,
    },
    // A socket in a directory of /run, logs to /dev/stdout, and a port below 1024 for a user.
    Service {
        image: ServiceImage {
            name: "supervisor",
            packages: &["supervisor"],
            setup: r#"
mkdir -p /srv/www /run/supervisor
chown www-data: /run/supervisor
echo first > /srv/www/index.html
cat > /etc/supervisord.conf <<'CONF'
[supervisord]
nodaemon=true
pidfile=/run/supervisor/pid
logfile=/dev/null
logfile_maxbytes=0
childlogdir=/tmp
[unix_http_server]
file=/run/supervisor/socket
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix:///run/supervisor/socket
[program:web]
command=python3 -u -m http.server --directory /srv/www 80
stdout_logfile=/dev/stdout
stdout_logfile_maxbytes=0
redirect_stderr=true
CONF"#,
            config: &[
                "--config.cmd=supervisord",
                "--config.cmd=-c",
                "--config.cmd=/etc/supervisord.conf",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: Some("www-data"),
        probe: http(80),
        log: "Serving HTTP on",
        // A signal that comes while it starts again is lost, as it is on any host.
        change: "supervisorctl -c /etc/supervisord.conf pid; old=$(pgrep -P 1); kill -HUP 1; \
            until new=$(pgrep -P 1) && test \"$new\" != \"$old\"; do sleep 0.2; done; \
            echo after > /srv/www/index.html",
        exit_code: 0,
    },
    // An init that insists on being process 1.
    Service {
        image: ServiceImage {
            name: "busybox-init",
            packages: &["busybox-static"],
            setup: r#"
mkdir -p /srv/www
echo first > /srv/www/index.html
cat > /etc/inittab <<'TABLE'
::sysinit:/bin/echo the machine is up
::respawn:/bin/busybox httpd -f -v -p 80 -h /srv/www
TABLE"#,
            config: &[
                "--config.cmd=busybox",
                "--config.cmd=init",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: None,
        probe: http(80),
        log: "the machine is up",
        change: "echo after > /srv/www/index.html; kill -HUP 1",
        // A reboot in a PID namespace ends its process 1 by SIGHUP (reboot(2)), as under docker.
        exit_code: 129,
    },
    // A port below 1024, and a file that is read again at SIGHUP.
    Service {
        image: ServiceImage {
            name: "dnsmasq",
            packages: &["dnsmasq-base"],
            setup: "echo '10.1.2.3 name.test' > /etc/names",
            config: &[
                "--config.entrypoint=dnsmasq",
                "--config.entrypoint=--keep-in-foreground",
                "--config.entrypoint=--log-facility=-",
                "--config.cmd=--no-resolv",
                "--config.cmd=--no-hosts",
                "--config.cmd=--addn-hosts=/etc/names",
                "--config.exposedports=53/tcp",
            ],
        },
        other_user: Some("dnsmasq"),
        probe: Probe {
            port: 53,
            request: super::DNS_REQUEST,
            answer: &[10, 1, 2, 3],
            changed: &[10, 4, 5, 6],
        },
        log: "started, version",
        change: "echo '10.4.5.6 name.test' > /etc/names; kill -HUP 1",
        exit_code: 0,
    },
];
