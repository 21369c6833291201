#!/usr/bin/env bash
# Runs the benchmarks of this folder in rounds, so that noise reaches all of them alike, and prints benchstat's tables.
#
#   run.sh [-quick] [-rounds N] [-bench REGEXP] [-against COMMIT]
#
#   -quick            one short round of the rows whose counts have targets
#   -rounds N         how often each row runs, default 8; benchstat needs 6 for an interval
#   -bench REGEXP     which rows, as for go test; default: all
#   -against COMMIT   the library of this work tree beside that of COMMIT, in columns. Without it the columns are the three main variants.
#                     Both are measured by the benchmarks and over the server of this work tree, and take turns in each round.
#
# The exit status is 1 if a count misses its target. BENCHSTAT is the path of benchstat; `make bench FLAGS=...` installs it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rounds= bench=. against= time=250ms short=

while [ $# -gt 0 ]; do
  case $1 in
    -quick) short=-test.short time=100ms rounds=${rounds:-1};;
    -rounds) rounds=${2:?-rounds needs a number}; shift;;
    -bench) bench=${2:?-bench needs a regular expression}; shift;;
    -against) against=${2:?-against needs a commit}; shift;;
    *) echo "run.sh: unknown argument $1; the head of $0 lists them" >&2; exit 2;;
  esac
  shift
done

out=$(mktemp -d "${TMPDIR:-/tmp}/idemddb-bench.XXXXXX")
failed=0

compile() { # FOLDER NAME: the benchmarks in FOLDER become the program NAME
  (cd "$1" && go test -c -o "$out/$2" .)
}

# The benchmarks of this work tree replace those of the commit, so that both libraries are measured in the same way.
compile_commit() {
  git -C "$here" worktree add --quiet --detach "$out/tree" "$against"
  trap 'git -C "$here" worktree remove --force "$out/tree"' EXIT
  rm -rf "$out/tree/bench"
  cp -r "$here" "$out/tree/bench"
  compile "$out/tree/bench" old
}

measure() { # NAME: one round
  "$out/$1" -test.run='^$' -test.bench="$bench" -test.benchtime="$time" $short -server="$out/new" | tee -a "$out/$1.txt" || failed=1
}

compile "$here" new
if [ -n "$against" ]; then compile_commit; fi

for ((round = 1; round <= ${rounds:-8}; round++)); do
  case $against,$((round % 2)) in
    ,*) measure new;;
    *,0) measure new; measure old;;
    *,1) measure old; measure new;;
  esac
done

if [ -n "$against" ]; then
  "${BENCHSTAT:-benchstat}" old="$out/old.txt" new="$out/new.txt"
else
  "${BENCHSTAT:-benchstat}" -col /variant -filter '/variant:(handwritten OR library OR library-single)' "$out/new.txt"
fi

echo "The benchmark lines are in $out"/*.txt
exit "$failed"
