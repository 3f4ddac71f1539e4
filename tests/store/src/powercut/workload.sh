#!/bin/sh
# What a user does with msb, on a disk whose every write is recorded. Runs in the lab.
#
# A mark says what begins or has succeeded. It is a sector of its own behind the filesystem, written
# past every cache, so it lies in the recording where it happened.
set -eu
filesystem=$1 mark_sector=$2 keep_syncs=$3 rounds=$4
export MSB_HOME=/mnt/store/home
# A mark names the command that wrote what is before it.
export MSB_MAINTENANCE=off

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

# Sandboxes are not started: here is no VMM. Each is made with a copy of the file `kept`. A bare one is made
# without it; an edit then writes the file to its disk, as a guest would.
bare() {
    sandbox=$1 image=$2
    shift 2
    msb create --pull never --upper-size 64M --name "$sandbox" "$@" "$(name "$image")"
}
create() { bare "$1" "$2" --copy kept:/kept; }
native() { bare "$1" "$2" --copy kept:/kept --native-root; }
# The file of a sandbox's disk that was never cut, which is a plain ext4.
disk_of() {
    record=$(grep -l "^    \"name\": \"$1\"" "$MSB_HOME"/sandboxes/*/sandbox.json)
    ls "$(dirname "$record")"/generations/*.data
}
edit() {
    disk_of_it=$(disk_of "$1")
    debugfs -w -R "write kept upper/kept" "$disk_of_it" >/tmp/edit 2>&1
    sync "$disk_of_it"
}

# The directory of the host that is staged, without the file that the sandbox adds.
project() {
    mkdir -p "/mnt/store/$1"
    [ -e "/mnt/store/$1/seen" ] || cp kept "/mnt/store/$1/seen"
    rm -f "/mnt/store/$1/added"
    sync "/mnt/store/$1/seen" "/mnt/store/$1" /mnt/store
}
staged() { bare "$1" "$2" -v /mnt/store/project:/work:staged; }
# debugfs has no journal, so the disk is replaced as a whole.
add() {
    disk_of_it=$(disk_of "$1")
    cp -p --sparse=always "$disk_of_it" /mnt/store/new-disk
    debugfs -w -R "write kept staged/0/upper/added" /mnt/store/new-disk >/tmp/add 2>&1
    sync /mnt/store/new-disk
    mv /mnt/store/new-disk "$disk_of_it"
    sync "$(dirname "$disk_of_it")" /mnt/store
}
apply() { msb apply "$1"; }
restage() { msb restage "$1"; }

fork() { msb fork "$2" "$1"; }
snapshot() { msb snapshot create "$1"; }
drop() { msb snapshot rm "$1"; }

# The snapshot is the one that a rollback of its sandbox made.
prune() { msb snapshot prune --force "${1%@*}"; }

# Takes away what was changed since the sandbox was made.
empty() { msb discard "$1" /; }

# The first word is the snapshot that has the disk as it was before, the second one that which it goes back to.
restore() { msb rollback "$2"; }

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
    step project project
    step staged t1 a
    step add t1
    step apply t1
    step restage t1
    step snapshot t1@one
    step bare s1 a
    step edit s1
    step snapshot s1@one
    step empty s1
    step remove b
    step pull p
    step native n1 p
    step snapshot n1@one
    step restore s1@2 s1@one
    step fork n2 n1@one
    step load b
    killed "0.$((round * 2 % 10))" remove b
    step load b
    step fork s3 s1@one
    step drop s1@one
    step discard t1
    step prune s1@2
    step restore n1@one n1@one
    step remove a
    killed "0.$((round * 3 % 10))" load a
    step load a
    step create s2 p
    step discard s1
    step drop n1@one
    step snapshot n2@two
    step discard n1
    step discard n2
    step discard s3
    step remove p
    step remove a
    step remove b
    step discard s2
done
umount /mnt/store
mark "done"
