#!/usr/bin/env bash
# Runs the benchmarks of this folder in rounds, so that noise reaches all of them alike, and prints benchstat's tables. Without arguments it
# also prints the tables of docs/performance.md, which are measured in virtual time.
#
#   run.sh [-quick] [-rounds N] [-bench REGEXP] [-against COMMIT]
#
#   -quick            one round of the rows whose counts have targets
#   -rounds N         how often each row runs, default 10; benchstat needs 6 for an interval
#   -bench REGEXP     which rows, as for go test; default: all
#   -against COMMIT   the library of this work tree beside that of COMMIT, in columns. Without it the columns are the three main
#                     variants. Both libraries are measured by the benchmarks and the server of this work tree, and take turns.
#
# The exit status is 1 if a count misses its target. BENCHSTAT is the path of benchstat; `make bench FLAGS=...` installs it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rounds=10 bench= against= short=

while [ $# -gt 0 ]; do
  case $1 in
    -quick) short=-test.short rounds=1;;
    -rounds) rounds=${2:?-rounds needs a number}; shift;;
    -bench) bench=${2:?-bench needs a regular expression}; shift;;
    -against) against=${2:?-against needs a commit}; shift;;
    *) echo "run.sh: unknown argument $1; the head of $0 lists them" >&2; exit 2;;
  esac
  shift
done

lines=$(mktemp -d "${TMPDIR:-/tmp}/idemddb-bench.XXXXXX") # the benchmark lines stay there
work=$(mktemp -d)
failed=0

clean() {
  if [ -d "$work/tree" ]; then git -C "$here" worktree remove --force "$work/tree"; fi
  rm -rf "$work"
}
trap clean EXIT

compile() { # FOLDER NAME: the benchmarks in FOLDER become the program NAME
  (cd "$1" && go test -c -o "$work/$2" .)
}

# The benchmarks of this work tree replace those of the commit, so that both libraries are measured in the same way.
compile_commit() {
  git -C "$here" worktree add --quiet --detach "$work/tree" "$against"
  rm -rf "$work/tree/bench"
  cp -r "$here" "$work/tree/bench"
  compile "$work/tree/bench" old
}

measure() { # PATTERN NAME...: the programs in this order
  local pattern=$1 name
  shift
  for name; do
    "$work/$name" -test.run='^$' -test.bench="$pattern" -test.benchtime=100ms $short -server="$work/new" | tee -a "$lines/$name.txt" |
      sed -E '/^(goos|goarch|pkg|cpu|PASS)/d' || failed=1
  done
}

compile "$here" new
if [ -n "$against" ]; then compile_commit; fi
mapfile -t patterns < <(if [ -n "$bench" ]; then echo "$bench"; else "$work/new" list-comparisons; fi)

for ((round = 1; round <= rounds; round++)); do
  if [ -z "$against" ]; then order=(new); elif ((round % 2)); then order=(old new); else order=(new old); fi
  for pattern in "${patterns[@]}"; do measure "$pattern" "${order[@]}"; done
done

if [ -n "$against" ]; then
  "${BENCHSTAT:-benchstat}" old="$lines/old.txt" new="$lines/new.txt"
else
  "${BENCHSTAT:-benchstat}" -col /variant -filter '/variant:(handwritten OR library OR library-single)' "$lines/new.txt"
  if [ -z "$bench$short" ]; then "$work/new" -test.run='^TestPerformance$' -performance=print || failed=1; fi
fi

echo "The benchmark lines are in $lines."
exit "$failed"
