#!/usr/bin/env bash
# What `make local` does: LocalStack, sam build and sam deploy of template.yaml as it goes to AWS, some payments, and one screen.
#
#   local.sh up      all of it; can be run again, then everything sent is a duplicate
#   local.sh down    stop LocalStack; all it had was in memory
#
# Interrupted, it stops the LocalStack that it started. One that ran before, or that a failed step leaves, runs on, and a line says so.
#
# SAM is the sam program; PORT, LOCALSTACK and IDEMDDB_CACHE as in stack.sh. On LocalStack the clocks are short: a message that fails is
# hidden for 30 s, and a dead letter after three receives.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stack=idemddb-payments
sam=${SAM:-sam}
parameters="Architecture=$(uname -m | sed 's/aarch64/arm64/') FunctionTimeout=5 MaxReceiveCount=3 LogRetentionDays=7 UnverifiedCaller=local"
export PORT=${PORT:-4566} SAM_CLI_TELEMETRY=0
starting='' was_up=yes finished='' # was_up: until it is known, nothing may be stopped

# quietly HEADLINE COMMAND...: its output only when it fails.
quietly() {
  local headline=$1 began=$SECONDS log
  shift
  log=$(mktemp)
  printf 'local: %s ...\n' "$headline" >&2
  if ! ("$@") < /dev/null > "$log" 2>&1; then # in a shell of its own, so that the end of this one is not written to the log
    cat "$log" >&2
    printf 'local: %s FAILED\n' "$headline" >&2
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
  printf 'local: %s: %d s\n' "${headline%% (*}" $((SECONDS - began)) >&2
}

# Without the managed bucket of samconfig.toml, whose stack sam waits 15 s for.
deploy() {
  curl -sf -m 10 -o /dev/null -X PUT "$AWS_ENDPOINT_URL/idemddb-deployments"
  # shellcheck disable=SC2086 # a word each
  timeout --foreground 180 "$sam" deploy --stack-name "$stack" --no-resolve-s3 --s3-bucket idemddb-deployments --no-progressbar --parameter-overrides $parameters
}

build() { SAM=$sam localstack/package.sh --parameter-overrides "${parameters%% *}"; }

# At the end of up, however that comes.
ended() { # STATUS
  [ -z "$finished" ] || return
  trap '' INT TERM
  if [ -n "$starting" ]; then kill "$starting" 2> /dev/null && { wait "$starting" || true; }; fi
  localstack/stack.sh running || return
  if [ -z "$was_up" ] && [ "$1" -ge 128 ]; then
    localstack/stack.sh down
  else
    printf 'local: LocalStack runs on, on port %s. To stop it: make local-down%s\n' "$PORT" "$(other_port)" >&2
  fi
}

other_port() { [ "$PORT" = 4566 ] || echo " PORT=$PORT"; }

up() {
  trap 'ended $?' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  localstack/stack.sh check
  localstack/stack.sh running || [ $? -ne 1 ] || was_up='' # 1: it is not; more: who knows
  localstack/stack.sh up > /dev/null & # takes as long as the build
  starting=$!
  quietly 'sam build (compiles the function, the first time a minute)' build
  wait "$starting"
  starting=''
  eval "$(localstack/stack.sh env)"
  quietly 'sam deploy of template.yaml' deploy
  go run ./localstack/screen -sam "$sam" -stack "$stack" -send
  # shellcheck disable=SC2016 # for the reader's shell to expand
  printf '\nIn another shell:  eval "$(PORT=%s localstack/stack.sh env)"    LocalStack'"'"'s log: %s\nThe screen again:  go run ./localstack/screen -sam "$(make -s sam)"\nTo stop it:        make local-down%s\n' \
    "$PORT" "${IDEMDDB_CACHE:-$HOME/.cache/go-idemddb}/run/localstack-$PORT/log" "$(other_port)"
  finished=yes
}

case ${1:-} in
  up) up;;
  down) localstack/stack.sh down;;
  *) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed '/^set /d' >&2; exit 2;;
esac
