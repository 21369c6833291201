#!/usr/bin/env bash
# DynamoDB Local on this machine without Docker: a JDK and Maven are enough.
#
#   dynamodb-local.sh check            say what this machine lacks, and fetch nothing
#   dynamodb-local.sh fetch            download it once, about 50 MB; the other commands do so when needed
#   dynamodb-local.sh run PORT         in the foreground; port 0 takes a free one, the endpoint is printed
#   dynamodb-local.sh up [PORT]        in the background, default 8000; prints what a shell must export
#   dynamodb-local.sh down [PORT]      stop what up started, and nothing else
#   dynamodb-local.sh with COMMAND...  run COMMAND with DYNAMODB_LOCAL_ENDPOINT set, on a server of its own that ends with it
#
# Tables live in memory, the server listens on loopback only, telemetry is off. Cache: ${IDEMDDB_CACHE:-~/.cache/go-idemddb}.
set -euo pipefail

version=3.3.1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/dynamodb-local
cache=${IDEMDDB_CACHE:-$HOME/.cache/go-idemddb}
home=$cache/dynamodb-local-$version

say() { printf 'dynamodb-local: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

need() { # COMMAND DEBIAN-PACKAGE
  command -v "$1" >/dev/null || die "$1 is missing. Debian and Ubuntu: apt-get install $2 · macOS: brew install openjdk@17 maven · or use localstack/compose.yaml (Docker)."
}

check_java() {
  need java openjdk-17-jdk-headless
  local major
  major=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1)
  [ "${major:-0}" -ge 17 ] || die "Java ${major:-of an unknown version} is too old, DynamoDB Local needs 17. Debian and Ubuntu: apt-get install openjdk-17-jdk-headless."
  case $(uname -sm) in
    'Linux aarch64') die "DynamoDB Local from Maven has no native library for Linux on arm64: use localstack/compose.yaml (Docker).";;
  esac
}

# What the downloaded folder was made from; it is made anew when that changes.
recipe() { cat "$source/pom.xml" "$source/Loopback.java" | cksum; }
fetched() { [ "$(cat "$home/.recipe" 2>/dev/null)" = "$(recipe)" ]; }

# One process fetches, the others wait: making a link is atomic everywhere, flock is not everywhere.
lock() {
  mkdir -p "$cache"
  until ln -s $$ "$home.lock" 2>/dev/null; do # a link that leads nowhere: it is made with the pid of its maker in it, or not at all
    local holder
    sleep 0.2
    holder=$(readlink "$home.lock" || true)
    [ -z "$holder" ] || kill -0 "$holder" 2>/dev/null || rm -rf "$home.lock" # it was killed
  done
}

check() {
  check_java
  if ! fetched; then
    need javac openjdk-17-jdk-headless
    need mvn maven
  fi
}

fetch() {
  fetched && return
  new=$home.new.$$
  check
  lock
  trap 'rm -rf "$home.lock" "$new"' EXIT
  if ! fetched; then
    say "fetching DynamoDB Local $version with Maven: about 50 MB, half a minute, only once ..."
    rm -rf "$new"
    mkdir -p "$new"
    mvn -q -B -Dstyle.color=never -f "$source/pom.xml" \
      org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$new" \
      < /dev/null > "$home.log" 2>&1 || { tail -20 "$home.log" >&2; die "Maven failed, see $home.log"; }
    javac -d "$new" -cp "$new/*" "$source/Loopback.java"
    recipe > "$new/.recipe"
    rm -rf "$home"
    mv "$new" "$home"
    say "fetched $(du -sh "$home" | cut -f1) into $home"
  fi
  rm -rf "$home.lock"
  trap - EXIT
}

# Replaces the shell by the server. A small heap and the quick compiler: it starts in under a second.
serve() { # PORT [attached]
  exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$home:$home/*" Loopback "$@"
}

# Waits for the endpoint in the server's output.
endpoint() { # LOG PID
  local url
  for _ in $(seq 300); do
    url=$(sed -n 's/^\(http:.*\)/\1/p' "$1" 2>/dev/null)
    [ -n "$url" ] && { echo "$url"; return; }
    kill -0 "$2" 2>/dev/null || break
    sleep 0.1
  done
  cat "$1" >&2
  die "it did not start"
}

exports() { # ENDPOINT
  cat <<EOS
export DYNAMODB_LOCAL_ENDPOINT=$1
export AWS_ENDPOINT_URL_DYNAMODB=$1
export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
EOS
}

# The process that up started and that is still ours: a pid can be another's by now.
ours() { # PIDFILE
  local pid
  pid=$(cat "$1" 2>/dev/null) && ps -ww -o args= -p "$pid" 2>/dev/null | grep -q "$home.* Loopback " && echo "$pid"
}

up() { # PORT
  local pidfile=$cache/run/dynamodb-local-$1.pid log=$cache/run/dynamodb-local-$1.log pid url
  mkdir -p "$cache/run"
  if pid=$(ours "$pidfile"); then
    say "already up, pid $pid"
  else
    : > "$log"
    (serve "$1") < /dev/null > "$log" 2>&1 &
    pid=$!
    echo "$pid" > "$pidfile"
  fi
  url=$(endpoint "$log" "$pid") || { rm -f "$pidfile"; return 1; }
  exports "$url"
}

down() { # PORT
  local pidfile=$cache/run/dynamodb-local-$1.pid pid
  if pid=$(ours "$pidfile"); then
    kill "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    say "stopped, pid $pid"
  else
    say "not up on port $1"
  fi
  rm -f "$pidfile"
}

# The server ends when its standard input does. The pipe's only other end is this shell's, so it ends with it, however that goes.
with() { # COMMAND...
  local dir pid url status=0
  dir=$(mktemp -d)
  # shellcheck disable=SC2064 # $dir as it is now
  trap "exec 9>&-; rm -rf '$dir'" EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mkfifo "$dir/in"
  (serve 0 attached) < "$dir/in" > "$dir/log" 2>&1 &
  pid=$!
  exec 9> "$dir/in"
  url=$(endpoint "$dir/log" "$pid")
  DYNAMODB_LOCAL_ENDPOINT=$url "$@" 9>&- || status=$?
  exec 9>&-
  wait "$pid" || true
  return "$status"
}

case ${1:-} in
  check) check;;
  fetch) fetch;;
  run) fetch; check_java; serve "${2:?usage: dynamodb-local.sh run PORT}";;
  up) fetch; check_java; up "${2:-8000}";;
  down) down "${2:-8000}";;
  with)
    shift
    [ $# -gt 0 ] || die "usage: dynamodb-local.sh with COMMAND..."
    if [ -n "${DYNAMODB_LOCAL_ENDPOINT:-}" ]; then exec "$@"; fi
    fetch
    check_java
    with "$@";;
  *) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2;;
esac
