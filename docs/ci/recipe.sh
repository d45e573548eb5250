#!/usr/bin/env bash
# Compares a lock file of this checkout with that of a revision: `recipe.sh BASE [LOCK]`.
#
# Writes policy.md, policy-diff.sarif, policy-lint.sarif and, where there is a policy.rules beside the lock
# file, policy-rules.sarif into the folder POLICY_OUT, or the current one.
# Exit codes:
#   0  nobody gains access, or ALLOW_NEW_ACCESS is `true` and the lock file accepts all of it by name
#   1  somebody gains access, a lint fails, or a rule is violated
#   2  a policy cannot be read, which never counts as no difference
set -euo pipefail

fail() {
  echo "error: $1" >&2
  exit 2
}

[ -n "${1:-}" ] || fail "name the revision to compare with, such as origin/main"
new=${2:-policy.lock}
old=$1:./$new
# A file counts before a revision of its name, and the files are those of the pull request.
[ ! -e "$old" ] || fail "\`$old\` is a file of this checkout, and no revision"
# A name without a file would be a revision of the package, for which cargo is asked, and a checkout can
# name the program that runs as cargo.
[ -f "$new" ] && [ ! -L "$new" ] || fail "\`$new\` is no file of this checkout"
out=${POLICY_OUT:-.}
mkdir -p "$out"
# The checkout may have links of these names, to files that must not be overwritten.
rm -rf "$out"/policy.md "$out"/policy-{diff,lint,rules}.sarif

# A report whose exit code is 1 has findings. This is `cargo policy`, without the aliases that a
# .cargo/config.toml of the pull request may define.
report() {
  local code=0
  cargo-policy policy "$@" || code=$?
  [ "$code" -le 1 ] || exit "$code"
}

report diff "$old" "$new" --format markdown > "$out/policy.md"
report lint --from "$new" --format markdown >> "$out/policy.md"
report diff "$old" "$new" --format sarif > "$out/policy-diff.sarif"
report lint --from "$new" --format sarif > "$out/policy-lint.sarif"
# Rules of the base that are gone here are an error of the check, and no way around it.
rules=$(dirname "$new")/policy.rules
has_rules=false
if [ -e "$rules" ] || git cat-file -e "$1:./$rules" 2> /dev/null; then
  has_rules=true
  report check "$new" --format markdown >> "$out/policy.md"
  report check "$new" --format sarif > "$out/policy-rules.sarif"
fi

# What is allowed still has to be signed, for exactly this policy.
access=0
if [ "${ALLOW_NEW_ACCESS:-}" = true ]; then
  cargo-policy policy diff "$old" "$new" --no-new-access --accepted || access=$?
else
  cargo-policy policy diff "$old" "$new" --no-new-access || access=$?
fi
lints=0
cargo-policy policy lint --from "$new" || lints=$?
checked=0
if [ "$has_rules" = true ]; then
  cargo-policy policy check "$new" || checked=$?
fi
worst=$((access > lints ? access : lints))
exit $((worst > checked ? worst : checked))
