#!/bin/bash
# ZooKeeper's own script of this name, which Debian's package does not have, with the two commands that are used.
set -euo pipefail
jars=/conf
for jar in /usr/share/java/{zookeeper,zookeeper-jute,log4j-1.2,metrics-core}.jar \
  /usr/share/java/{slf4j-,netty,snappy,commons-,jetty,jackson}*.jar; do
  jars+=:$jar
done
case $1 in
start-foreground) exec java -Xmx256m -cp "$jars" org.apache.zookeeper.server.quorum.QuorumPeerMain /conf/zoo.cfg ;;
status)
  # A server outside of a quorum answers without a mode, and is not healthy.
  exec 3<>/dev/tcp/127.0.0.1/2181
  printf srvr >&3
  grep Mode <&3
  ;;
esac
