#!/usr/bin/env bash
# Compares a lock file of this checkout with that of a revision: `recipe.sh BASE [LOCK]`.
#
# Writes policy.md, policy-diff.sarif, policy-lint.sarif and, where there is a policy.rules beside the lock
# file, policy-rules.sarif into the folder POLICY_OUT, or the current one.
# Exit codes:
#   0  nobody gains access, or ALLOW_NEW_ACCESS is `true` and the lock file accepts all of it by name
#   1  somebody gains access, a lint fails, or a rule is violated: one of the checkout or, unless
#      ALLOW_NEW_ACCESS is `true`, one of the base
#   2  a policy cannot be read, which never counts as no difference
#   3  a comparison contradicts itself
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
# Without the file, cargo-policy would take its name for a revision and run cargo, and rust-toolchain.toml of
# the checkout can choose the program that runs as cargo.
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
base_has_rules=false
if git cat-file -e "$1:./$rules" 2> /dev/null; then base_has_rules=true; fi
has_rules=$base_has_rules
if [ -e "$rules" ]; then has_rules=true; fi
if [ "$has_rules" = true ]; then
  report check "$new" --format markdown >> "$out/policy.md"
  report check "$new" --format sarif > "$out/policy-rules.sarif"
fi

worst=0
gate() {
  local code=0
  cargo-policy policy "$@" || code=$?
  worst=$((code > worst ? code : worst))
}

# What is allowed still has to be signed, for exactly this policy.
if [ "${ALLOW_NEW_ACCESS:-}" = true ]; then
  gate diff "$old" "$new" --no-new-access --accepted
else
  gate diff "$old" "$new" --no-new-access
fi
gate lint --from "$new"
if [ "$has_rules" = true ]; then
  gate check "$new"
fi
# An author who changes the policy can change the rules with it, so those of the base count, too.
if [ "$base_has_rules" = true ] && [ "${ALLOW_NEW_ACCESS:-}" != true ]; then
  base=$(mktemp -d)
  trap 'rm -rf "$base"' EXIT
  # All of its files, since rules can extend others.
  git -C "$(git rev-parse --show-toplevel)" archive "$1" | tar -x -C "$base" ||
    fail "the files of \`$1\` cannot be read"
  base_rules=$base/$(git rev-parse --show-prefix)$rules
  gate check "$new" --rules "$base_rules"
fi
exit "$worst"
