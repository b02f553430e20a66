#!/usr/bin/env bash
# A test of bundle.sh's folder in a process of its own, with a log: one_test.sh BUNDLE LOGS FILE TEST. For check.sh.
bundle="$1" log="$2/$3-${4//::/-}.log"
if "$bundle/$3" --exact "$4" --nocapture >"$log" 2>&1; then verdict="$(grep -o '1 passed\|1 ignored' "$log")"; else verdict=""; fi
# Nothing that needs a GPU may be left out.
if grep -v 'no C++ compiler' "$log" | grep -q '^skipped\|^only on the CPU:'; then verdict=""; fi
echo "test $3 $4: ${verdict:-FAILED}, $SECONDS s"
[ -n "$verdict" ] || { cat "$log"; exit 1; }
