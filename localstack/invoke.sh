#!/usr/bin/env bash
# What `make invoke` does: `sam local invoke` of the payments function, in a container, with an event from events/, against the DynamoDB of
# the LocalStack that `make local` started. The answer is what the event source mapping would get.
#
#   invoke.sh [EVENT]    fresh (default), duplicate, mixed, poison, fifo, or a file
#
# SAM is the sam program; PORT, IDEMDDB_CACHE as in stack.sh; SKIP_PULL=1: the base image is here, do not look for a newer one.
# The function's tables and queues are its own (env.json), beside those of the deployed stack.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sam=${SAM:-sam}
architecture=$(uname -m | sed 's/aarch64/arm64/')
network=idemddb
records=idemddb-invoke-records
ledger=idemddb-invoke-ledger
export PORT=${PORT:-4566} SAM_CLI_TELEMETRY=0

die() { printf 'invoke: %s\n' "$*" >&2; exit 1; }

event_file() {
  local file=localstack/events/$1.json
  [ -e "$file" ] || file=$1
  [ -e "$file" ] || die "no event $1. There are: $(cd localstack/events && echo *.json | sed 's/\.json//g'), or name a file"
  echo "$file"
}

check() {
  timeout 10 docker info > /dev/null 2>&1 || die "sam local invoke runs the function in a container, and no Docker engine answers. Start one. (make local needs none.)"
  curl -sf -m 5 -o /dev/null "http://127.0.0.1:$PORT/_localstack/health" || die "no LocalStack answers on port $PORT. Start it: make local$([ "$PORT" = 4566 ] || echo " PORT=$PORT")"
}

# The container must find LocalStack under the name in env.json. Where it runs in a container itself, that is its name on the network;
# else the name is given to the host's address on that network, and what arrives there is forwarded.
reach_localstack() {
  # labelled as compose.yaml's, which would refuse it otherwise
  docker network inspect "$network" > /dev/null 2>&1 ||
    docker network create --label com.docker.compose.project=idemddb --label com.docker.compose.network=default "$network" > /dev/null
  if [ -n "$(docker ps --quiet --filter "network=$network" --filter "label=com.docker.compose.service=localstack")" ]; then
    return
  fi
  local gateway log
  gateway=$(docker network inspect --format '{{(index .IPAM.Config 0).Gateway}}' "$network")
  log=$dir/forward
  python3 localstack/process/forward.py "$gateway" 4566 "$PORT" > "$log" 2>&1 &
  forwarder=$!
  # shellcheck disable=SC2064 # as they are now
  trap "kill $forwarder 2> /dev/null; rm -rf '$dir'" EXIT
  for _ in $(seq 50); do
    grep -q listening "$log" && break
    kill -0 "$forwarder" 2> /dev/null || break
    sleep 0.1
  done
  grep -q listening "$log" || { cat "$log" >&2; die "cannot listen on $gateway:4566, the host's address on the Docker network $network"; }
  host=(--add-host "localstack:$gateway")
}

file=$(event_file "${1:-fresh}")
host=()
check
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
reach_localstack
eval "$(localstack/stack.sh env)"
go run ./localstack/tables -records "$records" -ledger "$ledger" | grep created || true
go run ./localstack/event -captured idemddb-invoke-captured "$file" > "$dir/event.json"
build=$(SAM=$sam localstack/package.sh --parameter-overrides "Architecture=$architecture" 2>&1) || die "sam build failed: $build"

# Bounded: the first time it pulls an image and builds one on it.
timeout 600 "$sam" local invoke Payments --parameter-overrides "Architecture=$architecture" --docker-network "$network" ${host[@]+"${host[@]}"} \
  --env-vars localstack/env.json --event "$dir/event.json" ${SKIP_PULL:+--skip-pull-image}
echo
go run ./localstack/screen -records "$records" -ledger "$ledger"
