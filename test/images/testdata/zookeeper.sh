#!/bin/bash
# The entry point of the stand-in for the image zookeeper: it writes zoo.cfg and myid from the environment.
set -euo pipefail
if [[ $(id -u) == 0 ]]; then
  chown -R 1000:1000 /data /datalog /conf
  exec gosu 1000:1000 "$0" "$@"
fi
if [[ ! -e /conf/zoo.cfg ]]; then
  {
    printf '%s\n' dataDir=/data dataLogDir=/datalog tickTime=2000 initLimit=5 syncLimit=2 maxClientCnxns=60
    printf '%s\n' "autopurge.purgeInterval=${ZOO_AUTOPURGE_PURGEINTERVAL:-0}" admin.enableServer=false
    printf '%s\n' "4lw.commands.whitelist=srvr" $ZOO_SERVERS # one line for each server
  } >/conf/zoo.cfg
fi
[[ -e /data/myid ]] || echo "$ZOO_MY_ID" >/data/myid
exec "$@"
