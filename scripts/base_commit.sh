#!/bin/sh
# Prints the commit that what is checked out is compared with; nothing where git knows none, as in a clone of one commit.
# It is the first of these that the clone has and that lies before HEAD: where a pull request left its base, what the
# service that runs this says was there before the push, where the branch left the main branch, where the main branch was
# before it was fetched last, and the commit before.
set -eu
git() { command git -c safe.directory="$PWD" "$@"; }
requested=
pushed=
if [ -n "${GITHUB_BASE_REF:-}" ]; then
    requested=$(git merge-base HEAD "origin/$GITHUB_BASE_REF" 2>/dev/null || true)
elif [ -f "${GITHUB_EVENT_PATH:-}" ]; then
    pushed=$(python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1], encoding="utf-8")).get("before") or "")' \
        "$GITHUB_EVENT_PATH" 2>/dev/null || true)
fi
for name in "$requested" "$pushed" "${CI_MERGE_REQUEST_DIFF_BASE_SHA:-}" "${CI_COMMIT_BEFORE_SHA:-}" "${CI_PREV_COMMIT_SHA:-}" \
    "${DRONE_COMMIT_BEFORE:-}" "$(git merge-base HEAD origin/main 2>/dev/null || true)" 'origin/main@{1}' HEAD~1; do
    base=$(git rev-parse --verify --quiet "$name^{commit}" 2>/dev/null || true)
    if [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] && git merge-base --is-ancestor "$base" HEAD; then
        echo "$base"
        exit
    fi
done
