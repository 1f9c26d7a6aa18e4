#!/bin/sh
# Builds the SDK's jar with a JDK 17 or later, for Java 8 or later: ./build.sh [JAR]
# The same sources and JDK always give the same bytes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
jar=${1:-$here/elasticjob-sdk.jar}
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
javac --release 8 -Xlint:all,-options -g -encoding UTF-8 -d "$classes" "$here"/src/main/java/io/github/elasticjob/*.java
mkdir -p "$(dirname "$jar")"
(cd "$classes" && find io -name '*.class' | LC_ALL=C sort) >"$classes/sorted"
(cd "$classes" && jar --create --file built.jar --no-manifest --date 1980-01-01T00:00:02Z @sorted)
mv "$classes/built.jar" "$jar"
