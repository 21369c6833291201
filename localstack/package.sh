#!/usr/bin/env bash
# sam build of template.yaml as it is to be deployed. `make package`, `make local`, `make invoke`, `make e2e` and `make aws` build by it.
#
#   package.sh [ARGUMENTS OF SAM BUILD...]    SAM is the sam program
#
# SAM hands the environment on to the Go command, and the template cannot say this:
#
#   CGO_ENABLED=0       a program that is linked against this machine's C library need not run on Lambda
#   -tags lambda.norpc  without the way of the old Go runtime, which provided.al2023 does not use, net/rpc is not linked
#   -ldflags=-s         no symbols; a panic's stack has its names and lines all the same
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:+$GOFLAGS }-tags=lambda.norpc -ldflags=-s" SAM_CLI_TELEMETRY=0
exec "${SAM:-sam}" build "$@"
