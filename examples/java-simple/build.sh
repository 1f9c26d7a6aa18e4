#!/bin/sh
# Builds orders.jar, with the SDK in it.
set -eu
cd "$(dirname "$0")"
rm -rf build && mkdir -p build
../../sdk/java/build.sh build/elasticjob-sdk.jar
javac --release 8 -Xlint:-options -encoding UTF-8 -cp build/elasticjob-sdk.jar -d build/classes src/orders/*.java
(cd build/classes && jar --extract --file ../elasticjob-sdk.jar)
jar --create --file orders.jar --main-class orders.Main -C build/classes .
