#!/bin/sh
# killed.sh SIGNAL FOLDER TOOL ARGUMENT...: the tool is ended by a signal while its test runs, and leaves neither its file nor the test.
signal=$1 folder=$2
shift 2
mkdir -p "$folder/files"
printf '#!/bin/sh\necho $$ >"%s/test"\nkill -%s $PPID\nsleep 100\n' "$folder" "$signal" >"$folder/kill"
chmod +x "$folder/kill"
# A shell without a terminal starts what runs in its background with SIGINT ignored, and the tool would inherit that.
TMPDIR=$folder/files env --default-signal=INT "$@" --test="$folder/kill" >/dev/null 2>&1
runs() { [ -d "/proc/$1" ] && ! grep -q "^State:.*zombie" "/proc/$1/status" 2>/dev/null; }
tries=0
while [ -n "$(ls "$folder/files")" ] || runs "$(cat "$folder/test")"; do
  tries=$((tries + 1))
  [ $tries -lt 300 ] || exit 1
  sleep 0.1
done
echo "nothing is left"
