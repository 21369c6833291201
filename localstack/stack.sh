#!/usr/bin/env bash
# LocalStack on this machine: SQS, event source mappings, Lambda, DynamoDB, CloudFormation and what `sam deploy` needs beside.
#
#   stack.sh fetch            install it once, about 110 MB (500 MB on disk); the other commands do so when needed
#   stack.sh check            say what this machine lacks for up, and fetch nothing
#   stack.sh up               in the background; prints what a shell must export. Interrupted, it leaves nothing running that it started
#   stack.sh running          succeed if what up started runs
#   stack.sh env              prints the same again
#   stack.sh down             stop what up started, and nothing else
#   stack.sh with COMMAND...  run COMMAND with those variables, on a LocalStack of its own that ends with it
#
#   PORT        of LocalStack, default 4566
#   LOCALSTACK  processes, the default: from PyPI, with functions as processes and DynamoDB Local behind it; needs Python 3.13, a JDK 17 and
#               Maven. The tests use this way. docker: the image, by compose.yaml, which gets Docker's socket. No test uses this way.
#
# Everything listens on loopback only and lives in memory. Cache: ${IDEMDDB_CACHE:-~/.cache/go-idemddb}.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=4.14.0

say() { printf 'localstack: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# --- what the environment says, before anything else happens

[ -n "${IDEMDDB_CACHE:-}${HOME:-}" ] || die "HOME is not set. Set it, or IDEMDDB_CACHE to a folder for what is fetched"
cache=${IDEMDDB_CACHE:-$HOME/.cache/go-idemddb}
port=${PORT:-4566}
way=${LOCALSTACK:-processes}
case $port in *[!0-9]* | ??????*) die "PORT=$port? It is a number from 1 to 65535";; esac
{ [ "$port" -ge 1 ] && [ "$port" -le 65535 ]; } || die "PORT=$port? It is a number from 1 to 65535"
case $way in docker | processes) ;; *) die "LOCALSTACK=$way? It is docker or processes; unset, it is processes";; esac

run=$cache/run/localstack-$port
venv=$cache/localstack-$version-$(cksum < "$here/process/requirements.txt" | cut -d' ' -f1)

# --- an interrupt

started='' # set while up has started a LocalStack and not yet seen it answer
locked=''

# Children in the background ignore an interrupt, and bash waits for one in the foreground. So whatever takes long runs in the background,
# is waited for, and is ended here.
interrupted() { # STATUS
  trap '' INT TERM
  [ -z "$started" ] || down_processes
  end_children $$
  exit "$1"
}

end_children() { # PID
  local child
  for child in $(pgrep -P "$1"); do
    end_children "$child"
    kill "$child" 2> /dev/null || true
  done
}

trap 'interrupted 130' INT
trap 'interrupted 143' TERM
trap '[ -z "$locked" ] || rm -rf "$run.lock"' EXIT

# One up or down at a time: making a link is atomic everywhere, flock is not everywhere.
lock() {
  mkdir -p "$cache/run" 2> /dev/null || die "$cache/run cannot be made. Set IDEMDDB_CACHE to a folder for what is fetched"
  until ln -s $$ "$run.lock" 2> /dev/null; do # a link that leads nowhere: it is made with the pid of its maker in it, or not at all
    local holder
    sleep 0.2
    holder=$(readlink "$run.lock" || true)
    [ -z "$holder" ] || kill -0 "$holder" 2> /dev/null || rm -rf "$run.lock" # it was killed
  done
  locked=yes
}

# --- what this machine has

docker_works() { command -v docker > /dev/null && timeout 10 docker info > /dev/null 2>&1 && docker compose version > /dev/null 2>&1; }

image() { echo "localstack/localstack:${LOCALSTACK_VERSION:-$version}"; }

image_there() {
  docker image inspect "$(image)" > /dev/null 2>&1 && return
  say "Docker runs here: pulling $(image), about 1 GB, only once ..."
  timeout 600 docker pull --quiet "$(image)" > /dev/null || die "the image cannot be pulled. Without Docker: LOCALSTACK=processes"
}

# LocalStack 4.14.0 runs on this Python alone, whatever its metadata says.
python313() {
  local candidate
  for candidate in python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13.*/bin/python python3; do
    [ "$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null)" = 3.13 ] && { echo "$candidate"; return; }
  done
  die "Python 3.13 is missing. uv: uv python install 3.13 · pyenv: pyenv install 3.13 · macOS: brew install python@3.13 · Debian 13: apt-get install python3.13-venv · or take Docker: LOCALSTACK=docker"
}

# All that is missing is said before anything is fetched.
check_processes() {
  local tool python
  if ! [ -e "$venv/.done" ]; then
    python=$(python313)
    "$python" -c 'import ensurepip' 2> /dev/null || die "$python has no venv. Debian and Ubuntu: apt-get install python3.13-venv"
  fi
  for tool in curl:curl ps:procps pgrep:procps; do
    command -v "${tool%%:*}" > /dev/null || die "${tool%%:*} is missing. Debian and Ubuntu: apt-get install ${tool##*:}"
  done
  "$here/dynamodb-local.sh" check
}

check_docker() { docker_works || die "LOCALSTACK=docker, and no Docker engine with compose answers. Start one, or leave LOCALSTACK unset"; }

fetch() {
  local python='' new=$venv.new.$$
  check_processes
  mkdir -p "$cache" 2> /dev/null || die "$cache cannot be made. Set IDEMDDB_CACHE to a folder for what is fetched"
  [ -e "$venv/.done" ] || python=$(python313)
  "$here/dynamodb-local.sh" fetch &
  wait "$!" || exit 1
  [ -n "$python" ] || return 0
  say "installing LocalStack $version from PyPI: about 110 MB, a minute, only once ..."
  rm -rf "$new"
  # shellcheck disable=SC2064 # $new as it is now
  trap "rm -rf '$new'; [ -z \"\$locked\" ] || rm -rf '$run.lock'" EXIT
  "$python" -m venv "$new" &
  wait "$!" || die "$python makes no virtual environment"
  "$new/bin/python" -m pip install --disable-pip-version-check --progress-bar off -r "$here/process/requirements.txt" > "$new/pip.log" 2>&1 &
  show_progress "$!" "$new/pip.log"
  wait "$!" || { tail -20 "$new/pip.log" >&2; die "pip failed"; }
  touch "$new/.done"
  # whole or not at all: another shell may install at the same time, and the first one wins
  mv -T "$new" "$venv" 2> /dev/null || mv "$new" "$venv" 2> /dev/null || true
  rm -rf "$new"
  say "installed $(du -sh "$venv" | cut -f1) into $venv"
}

# What pip is at, every few seconds, when that has changed: how many packages of how many, then that it unpacks them.
show_progress() { # PID LOG
  local all now said='' ticks=0
  all=$(grep -c '^[a-z]' "$here/process/requirements.txt")
  while kill -0 "$1" 2> /dev/null; do
    sleep 0.5
    [ $((++ticks % 10)) -eq 0 ] || continue
    now="$(grep -c '^Collecting ' "$2" || true) of $all packages" # none yet is no error
    if grep -q '^Building wheels' "$2"; then now='building some of them ...'; fi
    if grep -q '^Installing' "$2"; then now='unpacking them, which takes as long again ...'; fi
    [ "$now" = "$said" ] || say "  $now"
    said=$now
  done
}

# --- LocalStack without Docker

# Nothing of this shell's environment but what is named here. hypercorn: the default server listens on every interface. The pauses are
# those between two polls of an event source mapping. The services that the template needs are loaded at once, others when asked for;
# DISABLE_EVENTS and SKIP_SSL_CERT_DOWNLOAD keep it from calling home.
serve() { # PORT FOLDER [attached]: replaces the shell by the server
  local listen=127.0.0.1:$1 folder=$2
  shift 2
  mkdir -p "$folder/tmp"
  exec env -i PATH="$PATH" HOME="$HOME" LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 TMPDIR="$folder/tmp" IDEMDDB_CACHE="$cache" \
    OVERRIDE_IN_DOCKER=0 FILESYSTEM_ROOT="$folder/files" DOCKER_CMD=/bin/false DNS_ADDRESS=0 DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1 \
    GATEWAY_SERVER=hypercorn GATEWAY_LISTEN="$listen" LOCALSTACK_HOST="$listen" SQS_ENDPOINT_STRATEGY=path \
    SERVICES=cloudformation,cloudwatch,dynamodb,events,iam,kms,lambda,logs,s3,sns,sqs,sts EAGER_SERVICE_LOADING=1 STRICT_SERVICE_LOADING=0 PROVIDER_OVERRIDE_DYNAMODB=v2 LAMBDA_KEEPALIVE_MS=600000 \
    LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC=0.05 LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_ERROR_SEC=1 \
    "$venv/bin/python" "$here/process/main.py" "$@"
}

answers() { curl -sf -m 2 -o /dev/null "http://127.0.0.1:$1/_localstack/health"; }

# It answers, and so does DynamoDB Local behind it, which can end by itself.
works() { # PORT
  answers "$1" && curl -sf -m 10 -o /dev/null -H 'X-Amz-Target: DynamoDB_20120810.ListTables' -H 'Content-Type: application/x-amz-json-1.0' \
    -H 'Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0' \
    -d '{}' "http://127.0.0.1:$1/"
}

listens() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

# Bounded: a minute is ten times what it takes.
await() { # PORT PID LOG
  local _
  for _ in $(seq 300); do
    works "$1" && return
    kill -0 "$2" 2> /dev/null || break
    sleep 0.2
  done
  tail -30 "$3" >&2
  die "LocalStack did not start on port $1, see $3"
}

exports() { # PORT
  cat << EOS
export AWS_ENDPOINT_URL=http://127.0.0.1:$1
export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL_DYNAMODB AWS_ENDPOINT_URL_SQS
EOS
}

# The process that up started and that is still ours: a pid can be another's by now.
ours() {
  local pid
  pid=$(cat "$run/pid" 2> /dev/null) && ps -ww -o args= -p "$pid" 2> /dev/null | grep -q "$venv/bin/python .*/process/main.py" && echo "$pid"
}

need_port() {
  listens "$port" || return 0
  local who=''
  answers "$port" && who=' (another LocalStack answers there)'
  die "port $port is in use by something that this cache's \`up\` did not start$who. Stop it, or take another port: PORT=4570"
}

up_processes() {
  local pid
  fetch
  lock
  if pid=$(ours); then
    works "$port" || die "what runs on port $port, pid $pid, does not work. Stop it, then start again: make local-down$(other_port)"
    say "already up, pid $pid, port $port"
  else
    need_port
    rm -rf "$run"
    mkdir -p "$run"
    say "starting LocalStack $version on port $port, without Docker ..."
    started=yes
    (serve "$port" "$run") < /dev/null > "$run/log" 2>&1 &
    pid=$!
    echo "$pid" > "$run/pid"
    await "$port" "$pid" "$run/log"
    started=''
  fi
}

other_port() { [ "$port" = 4566 ] || echo " PORT=$port"; }

down_processes() {
  local pid
  if pid=$(ours); then
    kill -HUP "$pid"
    await_end "$pid" || kill -9 "$pid"
    say "stopped, pid $pid"
  else
    say "not up on port $port"
  fi
  end_functions "$run"
  rm -rf "$run"
}

await_end() { # PID
  local _
  for _ in $(seq 100); do
    kill -0 "$1" 2> /dev/null || return 0
    sleep 0.1
  done
  return 1
}

# Functions whose LocalStack was killed; they run from its folder.
end_functions() { # FOLDER
  local pid args
  ps -ww -eo pid=,args= | while read -r pid args; do
    case $args in "$1"/tmp/*/bootstrap*) kill -9 "$pid" 2> /dev/null || true;; esac
  done
}

# LocalStack ends when its standard input does. The pipe's only other end is this shell's, so it ends with it, however that goes.
with() { # COMMAND...
  local dir pid free status=0
  dir=$(mktemp -d)
  # shellcheck disable=SC2064 # $dir as it is now
  trap "exec 9>&-; rm -rf '$dir'" EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  free=$("$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  mkfifo "$dir/in"
  (serve "$free" "$dir" attached) < "$dir/in" > "$dir/log" 2>&1 &
  pid=$!
  exec 9> "$dir/in"
  await "$free" "$pid" "$dir/log"
  eval "$(exports "$free")"
  PORT=$free IDEMDDB_LOCALSTACK_FOLDER=$dir "$@" 9>&- || status=$?
  if [ "$status" -ne 0 ] && [ -n "${KEEP_LOG:-}" ]; then cp "$dir/log" "$KEEP_LOG"; fi
  exec 9>&-
  await_end "$pid" || { kill -9 "$pid"; end_functions "$dir"; }
  return "$status"
}

# --- LocalStack with Docker

compose() { PORT=$port docker compose -f "$here/compose.yaml" "$@"; }

up_docker() {
  check_docker
  image_there
  [ -n "$(compose ps --quiet --status running localstack 2> /dev/null)" ] || need_port
  say "starting $(image) on port $port with Docker ..."
  compose up --wait --quiet-pull localstack >&2
}

case ${1:-} in
  fetch) fetch;;
  check) "check_$way";;
  up)
    "up_$way"
    exports "$port";;
  running) ours > /dev/null || { [ "$way" = docker ] && docker_works && [ -n "$(compose ps --quiet --status running localstack)" ]; };;
  env) exports "$port";;
  down)
    [ ! -e "$run/pid" ] && docker_works && [ -n "$(compose ps --quiet --all localstack)" ] && { compose rm --stop --force localstack >&2; exit; }
    down_processes;;
  with)
    shift
    [ $# -gt 0 ] || die "usage: stack.sh with COMMAND..."
    fetch
    with "$@";;
  *) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed '/^set /d' >&2; exit 2;;
esac
