//! Web servers, proxies and application servers.

use test_fixtures::images::ServiceImage;

use crate::gallery::service::{Service, http};

/// The services.
pub(super) const SERVICES: &[Service] = &[
    // As the official image: a script that removes the old PID file, and SIGWINCH stops it.
    Service {
        image: ServiceImage {
            name: "apache",
            packages: &["apache2"],
            setup: r#"
rm -f /etc/apache2/sites-enabled/* /etc/apache2/conf-enabled/other-vhosts-access-log.conf
ln -sf /dev/stdout /var/log/apache2/access.log
ln -sf /dev/stderr /var/log/apache2/error.log
chmod 755 /var/log/apache2
mkdir -p /srv/www /run/apache2 /run/lock/apache2
chown www-data: /run/apache2 /run/lock/apache2
echo first > /srv/www/index.html
cat > /etc/apache2/sites-enabled/site.conf <<'CONF'
ServerName localhost
<VirtualHost *:80>
  DocumentRoot /srv/www
  Include /etc/apache2/page.conf
  CustomLog /var/log/apache2/access.log combined
</VirtualHost>
<Directory /srv/www>
  Require all granted
</Directory>
CONF
echo 'DirectoryIndex index.html' > /etc/apache2/page.conf
echo after > /srv/www/other.html
cat > /usr/local/bin/foreground <<'SCRIPT'
#!/bin/sh
set -e
. /etc/apache2/envvars
rm -f "$APACHE_PID_FILE"
exec apache2 -DFOREGROUND "$@"
SCRIPT
chmod 755 /usr/local/bin/foreground"#,
            config: &[
                "--config.cmd=/usr/local/bin/foreground",
                "--config.stopsignal=SIGWINCH",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: Some("www-data"),
        probe: http(80),
        log: "resuming normal operations",
        change: "echo 'DirectoryIndex other.html' > /etc/apache2/page.conf; kill -HUP 1",
        exit_code: 0,
    },
    // As the official image: in a master with workers, which SIGUSR2 replaces, and with USER.
    Service {
        image: ServiceImage {
            name: "haproxy",
            packages: &["haproxy"],
            setup: r#"
cat > /etc/haproxy/haproxy.cfg <<'CONF'
global
  log stdout format raw local0
defaults
  mode http
  log global
  timeout client 10s
  timeout server 10s
  timeout connect 10s
frontend web
  bind :80
  http-request return status 200 content-type text/plain file /etc/haproxy/page
CONF
echo first > /etc/haproxy/page"#,
            config: &[
                "--config.cmd=haproxy",
                "--config.cmd=-W",
                "--config.cmd=-db",
                "--config.cmd=-f",
                "--config.cmd=/etc/haproxy/haproxy.cfg",
                "--config.user=haproxy",
                "--config.stopsignal=SIGUSR1",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: Some("root"),
        probe: http(80),
        log: "New worker",
        // A signal that comes while it reloads is lost to its new worker, as it is on any host.
        change: "old=$(pgrep -P 1 haproxy); echo after > /etc/haproxy/page; kill -USR2 1; \
            while kill -0 $old || grep -q -- -sf /proc/1/cmdline; do sleep 0.2; done; sleep 3",
        exit_code: 0,
    },
    Service {
        image: ServiceImage {
            name: "lighttpd",
            packages: &["lighttpd"],
            setup: r#"
mkdir -p /srv/www
echo first > /srv/www/index.html
echo after > /srv/www/other.html
cat > /etc/lighttpd/lighttpd.conf <<'CONF'
server.document-root = "/srv/www"
server.port = 80
server.errorlog = "/dev/stderr"
server.upload-dirs = ( "/tmp" )
include "/etc/lighttpd/page.conf"
CONF
echo 'index-file.names = ( "index.html" )' > /etc/lighttpd/page.conf"#,
            config: &[
                "--config.cmd=lighttpd",
                "--config.cmd=-D",
                "--config.cmd=-f",
                "--config.cmd=/etc/lighttpd/lighttpd.conf",
                "--config.stopsignal=SIGINT",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: Some("www-data"),
        probe: http(80),
        log: "server started",
        change: "echo 'index-file.names = ( \"other.html\" )' > /etc/lighttpd/page.conf; kill -USR1 1",
        exit_code: 0,
    },
    Service {
        image: ServiceImage {
            name: "gunicorn",
            packages: &["gunicorn"],
            setup: r#"
mkdir /srv/app
echo first > /srv/app/page
cat > /srv/app/site_of_test.py <<'CODE'
PAGE = open("/srv/app/page", "rb").read()
def application(environ, start):
    start("200 OK", [("Content-Type", "text/plain")])
    return [PAGE]
CODE"#,
            config: &[
                "--config.cmd=gunicorn",
                "--config.cmd=--bind=0.0.0.0:80",
                "--config.cmd=--access-logfile=-",
                "--config.cmd=--worker-tmp-dir=/dev/shm",
                "--config.cmd=--timeout=300",
                "--config.cmd=site_of_test",
                "--config.workingdir=/srv/app",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: Some("www-data"),
        probe: http(80),
        log: "Listening at: http://0.0.0.0:80",
        change: "echo after > /srv/app/page; kill -HUP 1",
        exit_code: 0,
    },
    // As the official image: the command is process 1 without a handler for SIGTERM.
    Service {
        image: ServiceImage {
            name: "node",
            packages: &["nodejs"],
            setup: r#"
mkdir /srv/app
echo first > /srv/app/page
cat > /srv/app/server.js <<'CODE'
const fs = require('fs');
let page = fs.readFileSync('/srv/app/page');
process.on('SIGHUP', () => { page = fs.readFileSync('/srv/app/page'); });
process.on('SIGINT', () => { console.log('stopped'); process.exit(0); });
require('http').createServer((request, answer) => answer.end(page))
  .listen(80, '0.0.0.0', () => console.log('listening as process', process.pid));
CODE"#,
            config: &[
                "--config.cmd=node",
                "--config.cmd=/srv/app/server.js",
                "--config.stopsignal=SIGINT",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: Some("www-data"),
        probe: http(80),
        log: "listening as process 1",
        change: "echo after > /srv/app/page; kill -HUP 1",
        exit_code: 0,
    },
    // Two services below a script, which ends with the first of them: a socket in /run joins them.
    Service {
        image: ServiceImage {
            name: "php-fpm",
            packages: &["php8.2-fpm", "lighttpd"],
            setup: r#"
mkdir -p /srv/www /run/php
chown www-data: /run/php
echo '<?php echo trim(file_get_contents("/srv/www/page")), "\n";' > /srv/www/index.php
echo first > /srv/www/page
cat > /etc/php/8.2/fpm/pool.d/www.conf <<'CONF'
[www]
user = www-data
group = www-data
listen = /run/php/php.sock
listen.owner = www-data
pm = static
pm.max_children = 1
catch_workers_output = yes
CONF
sed -i 's,^error_log.*,error_log = /dev/stderr,' /etc/php/8.2/fpm/php-fpm.conf
cat > /etc/lighttpd/lighttpd.conf <<'CONF'
server.modules = ( "mod_fastcgi" )
server.document-root = "/srv/www"
server.port = 80
server.errorlog = "/dev/stderr"
index-file.names = ( "index.php" )
fastcgi.server = ( ".php" => (( "socket" => "/run/php/php.sock" )) )
CONF
cat > /usr/local/bin/both <<'SCRIPT'
#!/bin/sh
set -e
lighttpd -D -f /etc/lighttpd/lighttpd.conf &
exec php-fpm8.2 --nodaemonize
SCRIPT
chmod 755 /usr/local/bin/both"#,
            config: &[
                "--config.cmd=/usr/local/bin/both",
                "--config.stopsignal=SIGQUIT",
                "--config.exposedports=80/tcp",
            ],
        },
        other_user: Some("www-data"),
        probe: http(80),
        log: "ready to handle connections",
        change: "echo after > /srv/www/page; kill -USR2 1",
        exit_code: 0,
    },
    // A proxy with a cache on a volume, which answers requests for itself.
    Service {
        image: ServiceImage {
            name: "squid",
            packages: &["squid"],
            setup: r#"
cat > /etc/squid/squid.conf <<'CONF'
http_port 3128
http_access deny all
visible_hostname proxy
access_log stdio:/tmp/access.log
cache_log /dev/stderr
logfile_rotate 0
pid_filename /tmp/squid.pid
shutdown_lifetime 1 second
include /etc/squid/page.conf
CONF
echo 'cache_mgr first@localhost' > /etc/squid/page.conf
chown -R proxy: /var/spool/squid"#,
            config: &[
                "--config.cmd=squid",
                "--config.cmd=--foreground",
                "--config.cmd=-YC",
                "--config.cmd=-d1",
                "--config.volume=/var/spool/squid",
                "--config.exposedports=3128/tcp",
            ],
        },
        other_user: Some("proxy"),
        probe: http(3128),
        log: "Accepting HTTP Socket connections",
        change: "echo 'cache_mgr after@localhost' > /etc/squid/page.conf; kill -HUP 1",
        exit_code: 0,
    },
];
