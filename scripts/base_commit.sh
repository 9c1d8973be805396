#!/bin/sh
# Prints the commit that what is checked out is compared with; nothing where git knows none, as in a clone of one commit.
# It is the first of these that the clone has and that lies before HEAD: what the service that runs this says was there
# before the push, where the branch left the main branch, where the main branch was before it was fetched last, and the
# commit before.
set -eu
git() { command git -c safe.directory="$PWD" "$@"; }
pushed=$(sed -n 's/^ *"before": "\([0-9a-f]*\)".*/\1/p' "${GITHUB_EVENT_PATH:-/dev/null}" | head -n 1)
for name in "$pushed" "${CI_MERGE_REQUEST_DIFF_BASE_SHA:-}" "${CI_COMMIT_BEFORE_SHA:-}" "${CI_PREV_COMMIT_SHA:-}" \
    "${DRONE_COMMIT_BEFORE:-}" "$(git merge-base HEAD origin/main 2>/dev/null || true)" 'origin/main@{1}' HEAD~1; do
    base=$(git rev-parse --verify --quiet "$name^{commit}" 2>/dev/null || true)
    if [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] && git merge-base --is-ancestor "$base" HEAD; then
        echo "$base"
        exit
    fi
done
