#!/bin/sh
# What a user does with msb, on a disk whose every write is recorded. Runs in the lab.
#
# A mark says what begins or has succeeded. It is a sector of its own behind the filesystem, written
# past every cache, so it lies in the recording where it happened.
set -eu
filesystem=$1 mark_sector=$2 keep_syncs=$3 rounds=$4
export MSB_HOME=/mnt/store/home

for serial in /sys/block/*/serial; do
    [ "$(cat "$serial")" != store ] || disk=/dev/$(basename "$(dirname "$serial")")
done
mkdir -p /mnt/store
mount -t "$filesystem" -o noatime "$disk" /mnt/store
python3 -B registry.py b &
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    [ ! -e /tmp/registry-is-ready ] || break
    sleep 1
done

mark() {
    echo "$*"
    printf 'msb-mark %-502s\n' "$*" |
        dd of="$disk" bs=512 count=1 seek="$mark_sector" iflag=fullblock oflag=direct \
            conv=notrunc status=none
}

msb() {
    if [ "$keep_syncs" = yes ]; then
        ./msb -q "$@"
    else
        python3 -B without_sync.py ./msb -q "$@"
    fi >/dev/null
}

name() {
    case $1 in
    p) echo 127.0.0.1:5000/p:latest ;;
    *) echo "powercut.test/$1:latest" ;;
    esac
}

load() { msb load -t "$(name "$1")" "$1"; }
pull() { msb pull --plain-http "$(name "$1")"; }
remove() { msb image rm --force "$(name "$1")"; }
discard() { msb rm "$1"; }

# A sandbox that is not started: here is no VMM.
create() { msb create --pull never --upper-size 64M --name "$1" "$(name "$2")"; }

step() {
    mark "begin $1 $2"
    "$@"
    mark "end $1 $2"
}

# Two at once, which share a layer.
together() {
    mark "begin load $1"
    mark "begin load $2"
    load "$1" &
    first=$!
    load "$2" &
    second=$!
    wait $first
    mark "end load $1"
    wait $second
    mark "end load $2"
}

# Killed somewhere in its midst, at the latest after so many seconds: nothing is promised, and the
# next one takes over.
killed() {
    mark "begin $2 $3"
    "$2" "$3" &
    sleep "$1"
    pkill -KILL -x msb || true
    if wait $!; then echo "too late"; fi
}

round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    together a b
    step create s1 a
    step remove b
    step pull p
    step load b
    killed "0.$((round * 2 % 10))" remove b
    step load b
    step remove a
    killed "0.$((round * 3 % 10))" load a
    step load a
    step create s2 p
    step discard s1
    step remove p
    step remove a
    step remove b
    step discard s2
done
umount /mnt/store
mark "done"
