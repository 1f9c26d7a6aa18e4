#!/bin/sh
# Creates the secrets of docker-compose.yml in its volume, once: random ones on each machine, none in a file of the repository.
# Each file belongs to the user of the container that reads it. Existing files stay unchanged.
set -eu
cd "${SECRETS:-/secrets}"
scheduler=${SCHEDULER:-/opt/elasticjob/scheduler}
umask 077

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# make NAME TEXT writes a file atomically.
make() {
  [ -s "$1" ] && return
  printf '%s' "$2" >".$1.new"
  mv ".$1.new" "$1"
}

make api-token "$(random)"
make zk-digest "elasticjob:$(random)"
make mysql-password "$(random)"
make mysql-root-password "$(random)"
make db-dsn "elasticjob:$(cat mysql-password)@tcp(mysql:3306)/elasticjob"
make grafana-password "$(random)"
if [ ! -s prometheus-token ]; then
  token=$("$scheduler" token add prometheus --role metrics --zk "$ZK" --zk-digest-file zk-digest)
  make prometheus-token "$token"
fi

# Only root can change the owner of files: a test of another user keeps all of them.
if [ "$(id -u)" = 0 ]; then
  chmod 0711 .
  chown 65532:65532 api-token zk-digest db-dsn
  chown 999:999 mysql-password mysql-root-password
  chown 472:0 grafana-password
  chown 65534:65534 prometheus-token
fi
