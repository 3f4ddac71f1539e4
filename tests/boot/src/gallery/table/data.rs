//! Databases, queues and stores.

use test_fixtures::images::ServiceImage;

use crate::gallery::service::{Probe, Service, http};

/// The services.
pub(super) const SERVICES: &[Service] = &[
    // As the official image: a first start that makes the cluster, a user, a socket in /run/postgresql,
    // and SIGINT.
    Service {
        image: ServiceImage {
            name: "postgres",
            packages: &["postgresql-15"],
            setup: r#"
install -d -o postgres -g postgres -m 3777 /run/postgresql
install -d -o postgres -g postgres -m 1777 /data
cat > /usr/local/bin/entrypoint <<'SCRIPT'
#!/bin/bash
set -e
export PATH=$PATH:/usr/lib/postgresql/15/bin PGDATA=/data/cluster
if [ "$(id -u)" = 0 ]; then
  install -d -o postgres -m 0700 $PGDATA
  exec setpriv --reuid=postgres --regid=postgres --init-groups -- "$0" "$@"
fi
if [ ! -s $PGDATA/PG_VERSION ]; then
  initdb --username=postgres --auth=trust --no-sync > /dev/null
  echo 'host all all all trust' >> $PGDATA/pg_hba.conf
fi
exec postgres -c listen_addresses='*' "$@"
SCRIPT
chmod 755 /usr/local/bin/entrypoint"#,
            config: &[
                "--config.entrypoint=/usr/local/bin/entrypoint",
                "--config.volume=/data",
                "--config.stopsignal=SIGINT",
                "--config.exposedports=5432/tcp",
            ],
        },
        other_user: Some("postgres"),
        // A start as user and database "postgres"; the setting application_name of the server is in the
        // answer.
        probe: Probe {
            port: 5432,
            request:
                b"\x00\x00\x00\x29\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00",
            answer: b"TimeZone\x00Etc/UTC",
            changed: b"TimeZone\x00Asia/Tokyo",
        },
        log: "database system is ready to accept connections",
        change: "psql -h /run/postgresql -U postgres -c \"alter system set timezone = 'Asia/Tokyo'\"; kill -HUP 1",
        exit_code: 0,
    },
    // As the official image: a first start that makes the tables, a user, and a socket in /run/mysqld.
    Service {
        image: ServiceImage {
            name: "mariadb",
            packages: &["mariadb-server"],
            setup: r#"
rm -rf /var/lib/mysql
install -d -o mysql -g mysql -m 1777 /var/lib/mysql /run/mysqld
cat > /etc/mysql/mariadb.conf.d/90-image.cnf <<'CONF'
[mariadbd]
bind-address = 0.0.0.0
skip-name-resolve
innodb-buffer-pool-size = 16M
CONF
cat > /usr/local/bin/entrypoint <<'SCRIPT'
#!/bin/bash
set -e
if [ "$(id -u)" = 0 ]; then
  find /var/lib/mysql ! -user mysql -exec chown mysql: {} +
  exec setpriv --reuid=mysql --regid=mysql --init-groups -- "$0" "$@"
fi
if [ ! -d /var/lib/mysql/mysql ]; then
  mariadb-install-db --skip-test-db --datadir=/var/lib/mysql > /dev/null
fi
exec mariadbd "$@"
SCRIPT
chmod 755 /usr/local/bin/entrypoint"#,
            config: &[
                "--config.entrypoint=/usr/local/bin/entrypoint",
                "--config.volume=/var/lib/mysql",
                "--config.exposedports=3306/tcp",
            ],
        },
        other_user: Some("mysql"),
        // The server speaks first; its error for an unknown host names it.
        probe: Probe {
            port: 3306,
            request: b"",
            answer: b"is not allowed to connect to this MariaDB server",
            changed: b"mysql_native_password",
        },
        log: "ready for connections",
        change: "mariadb -e \"create user 'any'@'%'\"",
        exit_code: 0,
    },
    Service {
        image: ServiceImage {
            name: "mosquitto",
            packages: &["mosquitto", "mosquitto-clients"],
            setup: r#"
install -d -o mosquitto -g mosquitto /mosquitto/data
printf 'listener 1883\nallow_anonymous true\npersistence true\npersistence_location /mosquitto/data/\nlog_dest stderr\n' \
  > /etc/mosquitto.conf"#,
            config: &[
                "--config.cmd=mosquitto",
                "--config.cmd=-c",
                "--config.cmd=/etc/mosquitto.conf",
                "--config.volume=/mosquitto/data",
                "--config.exposedports=1883/tcp",
            ],
        },
        other_user: Some("mosquitto"),
        // CONNECT of MQTT 3.1.1, and SUBSCRIBE to the topic `t`.
        probe: Probe {
            port: 1883,
            request: b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01p\x82\x06\x00\x01\x00\x01t\x00",
            answer: b"\x90\x03\x00\x01\x00",
            changed: b"after",
        },
        log: "running",
        change: "mosquitto_pub -t t -r -m after; kill -HUP 1",
        exit_code: 0,
    },
    Service {
        image: ServiceImage {
            name: "etcd",
            packages: &["etcd-server", "etcd-client"],
            setup: "install -d -o etcd -g etcd -m 0700 /data",
            config: &[
                "--config.cmd=etcd",
                "--config.cmd=--data-dir=/data/etcd",
                "--config.cmd=--listen-client-urls=http://0.0.0.0:2379",
                "--config.cmd=--advertise-client-urls=http://127.0.0.1:2379",
                "--config.cmd=--heartbeat-interval=1000",
                "--config.cmd=--election-timeout=10000",
                "--config.volume=/data",
                "--config.exposedports=2379/tcp",
            ],
        },
        other_user: Some("etcd"),
        probe: Probe {
            port: 2379,
            request: b"POST /v3/kv/range HTTP/1.0\r\nContent-Length: 14\r\n\r\n{\"key\":\"a2V5\"}",
            answer: b"\"raft_term\"",
            changed: b"YWZ0ZXI=",
        },
        log: "ready to serve client requests",
        change: "ETCDCTL_API=3 etcdctl put key after",
        // As process 1 it exits itself, because the kernel would not kill it (its pkg/osutil).
        exit_code: 0,
    },
    Service {
        image: ServiceImage {
            name: "prometheus",
            packages: &["prometheus"],
            setup: r#"
install -d -o prometheus -g prometheus /prometheus
mkdir /srv/www
printf 'global:\n  scrape_interval: 1h\n  external_labels:\n    page: first\n' > /etc/prometheus.yml"#,
            config: &[
                "--config.cmd=prometheus",
                "--config.cmd=--config.file=/etc/prometheus.yml",
                "--config.cmd=--storage.tsdb.path=/prometheus",
                "--config.volume=/prometheus",
                "--config.user=prometheus",
                "--config.exposedports=9090/tcp",
            ],
        },
        other_user: Some("root"),
        probe: Probe {
            port: 9090,
            request: b"GET /api/v1/status/config HTTP/1.0\r\n\r\n",
            ..http(9090)
        },
        log: "Server is ready to receive web requests",
        change: "sed -i 's/first/after/' /etc/prometheus.yml; kill -HUP 1",
        exit_code: 0,
    },
    // An Elasticsearch's checks before it starts.
    Service {
        image: ServiceImage {
            name: "search-checks",
            packages: &[],
            setup: r#"
mkdir /srv/www
echo first > /srv/www/index.html
cat > /usr/local/bin/checks <<'SCRIPT'
#!/bin/sh
set -e
refuse() { echo "bootstrap check failure: $*" >&2; exit 78; }
[ "$(cat /proc/sys/vm/max_map_count)" -ge 262144 ] || refuse "max virtual memory areas vm.max_map_count is too low"
files=$(ulimit -n)
[ "$files" = unlimited ] || [ "$files" -ge 65535 ] || refuse "max file descriptors [$files] is too low"
processes=$(grep '^Max processes' /proc/self/limits | awk '{print $3}')
[ "$processes" = unlimited ] || [ "$processes" -ge 4096 ] || refuse "max number of threads [$processes] is too low"
echo "bootstrap checks passed"
exec python3 -u -m http.server --directory /srv/www 9200
SCRIPT
chmod 755 /usr/local/bin/checks"#,
            config: &[
                "--config.cmd=/usr/local/bin/checks",
                "--config.user=1000:0",
                "--config.stopsignal=SIGKILL",
                "--config.exposedports=9200/tcp",
            ],
        },
        other_user: Some("www-data"),
        probe: http(9200),
        log: "bootstrap checks passed",
        change: "echo after > /srv/www/index.html",
        exit_code: 137,
    },
];
