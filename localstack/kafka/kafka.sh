#!/usr/bin/env bash
# Apache Kafka on this machine without Docker, for the tests of lambdawrap.Kafka: a JDK and Maven are enough.
#
#   kafka.sh run                 one broker in the foreground, which takes commands by standard input (Broker.java) and ends with it
#   kafka.sh with COMMAND...     run COMMAND with KAFKA_BROKER set to this script
#
# It is downloaded once, about 80 MB, into ${IDEMDDB_CACHE:-~/.cache/go-idemddb}. The broker listens on loopback only.
set -euo pipefail

source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=${IDEMDDB_CACHE:-$HOME/.cache/go-idemddb}/kafka-$(cat "$source/pom.xml" "$source/Broker.java" | cksum | cut -d' ' -f1)

fetch() {
  [ -e "$home/Broker.class" ] && return
  echo 'kafka: fetching Apache Kafka with Maven, only once ...' >&2
  local new=$home.new.$$
  mkdir -p "$new"
  mvn -q -B -Dstyle.color=never -f "$source/pom.xml" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$new" < /dev/null >&2
  javac -d "$new" -cp "$new/*" "$source/Broker.java"
  mv -T "$new" "$home" 2>/dev/null || rm -rf "$new" # another process was faster
}

case ${1:-} in
  run) fetch; exec java -Xmx400m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$home:$home/*" Broker;;
  with) shift; fetch; KAFKA_BROKER="$source/kafka.sh" exec "$@";;
  *) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2;;
esac
