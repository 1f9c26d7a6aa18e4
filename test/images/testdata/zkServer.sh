#!/bin/bash
# ZooKeeper's own script of this name, which Debian's package does not have, with the one command that is used.
set -euo pipefail
jars=/conf
for jar in /usr/share/java/{zookeeper,zookeeper-jute,log4j-1.2,metrics-core}.jar \
  /usr/share/java/{slf4j-,netty,snappy,commons-,jetty,jackson}*.jar; do
  jars+=:$jar
done
[[ $1 == start-foreground ]]
exec java -Xmx256m -cp "$jars" org.apache.zookeeper.server.quorum.QuorumPeerMain /conf/zoo.cfg
