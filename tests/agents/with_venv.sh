#!/bin/sh
# with_venv.sh VENV PROGRAM...: runs a Python program in the test environment; without one it fails.
venv=$1
shift
if [ ! -x "$venv/bin/python" ]; then
  echo "$venv: the test environment is missing; run: scripts/setup --yes --test-venv" >&2
  exit 1
fi
exec "$venv/bin/python" "$@"
