#!/bin/bash
# Judges and measures the GPU templates on this machine's device.   bench/gpu/run_templates.sh OUT SECONDS [ID...]   with ako on PATH
exec python3 "$(dirname "$0")/templates.py" "$@"
