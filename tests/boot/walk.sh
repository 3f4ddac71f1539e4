#!/bin/sh
# Walks a sandbox's whole life, as a user types it. What is printed as JSON is judged by docs/schemas.
#
#   tests/boot/walk.sh MSB BOOT IMAGE VMM [no-shares]
#
# BOOT is the program of the boot tests, which knows the schemas. With no-shares no directory of the host is
# mounted: that takes a system call that qemu-user does not have (openat2).
#
# MSB_HOME has the image, MSB_KERNEL names the kernel. The same walk runs under QEMU and under libkrun.
set -eu

msb=$1 boot=$2 image=$3 shares=${5:-shares}
export MSB_VMM="$4"
work=$(mktemp -d)
trap 'leave' EXIT
trap 'exit 1' INT TERM

leave() {
    code=$?
    [ "$code" = 0 ] || tell >&2
    "$msb" rm -f walk walk-2 walk-3 >"$work/removed" 2>&1 || true
    "$msb" volume rm walk-data >"$work/removed" 2>&1 || true
    rm -rf "$work"
}

# Says where the walk failed, and what its machines printed last.
tell() {
    echo "walk: failed at: $here"
    "$msb" ps -a || true
    for name in walk walk-2 walk-3; do
        for source in machine console; do
            "$msb" logs --source "$source" "$name" 2>"$work/none" | tail -n 8 || true
        done
    done
}

here=begin
step() {
    here=$1
    echo "walk: $1"
}

# same EXPECTED COMMAND...: what the command prints
same() {
    expected=$1
    shift
    printed=$("$@") || {
        echo "walk: '$*' gave $?" >&2
        exit 1
    }
    [ "$printed" = "$expected" ] || {
        echo "walk: '$*' printed '$printed' where '$expected' was expected" >&2
        exit 1
    }
}

# gives CODE COMMAND...: how the command ends
gives() {
    expected=$1
    shift
    code=0
    "$@" >"$work/out" 2>"$work/err" || code=$?
    [ "$code" = "$expected" ] || {
        echo "walk: '$*' gave $code where $expected was expected" >&2
        cat "$work/out" "$work/err" >&2
        exit 1
    }
}

# boots MSB VERB ARGUMENT...: it ends well. A machine that ended before its agent answered has run
# nothing of the command: it is started afresh, twice at most, and that is said.
boots() {
    for left in 2 1 0; do
        code=0
        "$@" >"$work/out" 2>"$work/err" || code=$?
        [ "$code" = 0 ] && return
        grep -q 'before its agent answered' "$work/err" && [ "$left" != 0 ] || break
        echo "walk: a fresh start: $(cat "$work/err")"
        rm -f "$work/timeline"
        [ "$2" != run ] || "$msb" rm -f walk >"$work/removed" 2>&1 || true
    done
    echo "walk: '$*' gave $code where 0 was expected" >&2
    cat "$work/err" >&2
    exit 1
}

# refuses WORDS COMMAND...: a failure that says why
refuses() {
    words=$1
    shift
    if "$@" >"$work/out" 2>"$work/err"; then
        echo "walk: '$*' succeeded" >&2
        exit 1
    fi
    grep -q -- "$words" "$work/err" || {
        echo "walk: '$*' does not say '$words':" >&2
        cat "$work/err" >&2
        exit 1
    }
}

# json SCHEMA ARGUMENT...: JSON of the shape that is promised
json() {
    schema=$1
    shift
    gives 0 "$msb" "$@"
    "$boot" --schema "$schema" <"$work/out"
}

step 'the store'
json version version --format json
json doctor doctor --format json
json doctor-fix doctor --fix --format json
json images images --format json
json image-inspect image inspect "$image"
json history history "$image" --format json
json image-verify image verify --format json
json image-pack image pack --format json "$image"
json image-inspect image inspect "$image"
json image-verify image verify --format json
json image-pack image unpack --format json "$image"
json df df --format json
json prune prune --dry-run --format json

step 'volumes'
gives 0 "$msb" volume create --size 64m --label kept=yes walk-data
json volumes volume ls --format json
json volumes volume inspect walk-data
refuses 'already' "$msb" volume create walk-data

step 'create'
mkdir "$work/shared"
echo shared >"$work/shared/file"
echo baked >"$work/baked"
set -- -v "$work/shared:/shared:ro"
[ "$shares" = shares ] || set --
gives 0 "$msb" create --memory 512m --cpus 1 --name walk --label job=7 -e GREETING=hello \
    --ulimit nofile=512:1024 --pids-limit 200 --shm-size 32m --stop-timeout 2 \
    -v walk-data:/data "$@" --tmpfs /scratch:size=4m \
    --copy "$work/baked:/etc/baked" --rm-path /etc/motd --mkdir /made:0700 --add-host db:10.1.2.3 \
    --hostname walk.example.org --group-add 4242 \
    -w /tmp "$image" sh -c 'trap "" TERM; echo "$GREETING from $PWD"; exec sleep 1000'
json inspect inspect walk
json ps ps --all --format json
same created sh -c "'$msb' inspect walk | sed -n 's/.*\"state\": \"\(.*\)\",*/\1/p'"
refuses 'is taken' "$msb" create --name walk "$image"
refuses 'no sandbox\|not found\|no such' "$msb" start nobody

step 'start'
boots "$msb" start walk
json ps ps --format json --filter label=job=7 --filter status=running
json inspect inspect walk
json stats stats --no-stream --format json walk
refuses 'run' "$msb" start walk
refuses 'run' "$msb" rm walk

step 'exec'
same 'a b' "$msb" exec walk echo 'a b'
same typed sh -c "echo typed | '$msb' exec -i walk cat"
same '/etc daemon 1' "$msb" exec -w /etc -u daemon -e X=1 walk sh -c 'echo $PWD $(id -un) $X'
same 'walk.example.org 0 4242' "$msb" exec walk sh -c 'echo $(hostname) $(id -G)'
same 'err' sh -c "'$msb' exec walk sh -c 'echo out; echo err >&2' 2>&1 >'$work/only-out'"
same out cat "$work/only-out"
gives 3 "$msb" exec walk sh -c 'exit 3'
gives 126 "$msb" exec walk /etc
gives 127 "$msb" exec walk no-such-program
gives 124 "$msb" exec --timeout 1s walk sleep 100
gives 143 "$msb" exec walk sh -c 'kill -TERM $$'

same '512 1024' "$msb" exec walk sh -c 'echo $(ulimit -n) $(ulimit -Hn)'
same 200 "$msb" exec walk sh -c 'mount -t cgroup2 none /mnt && cat "/mnt$(cut -d: -f3 /proc/self/cgroup)/pids.max"'
same 32768 "$msb" exec walk sh -c 'df -k --output=size /dev/shm | tail -1 | tr -d " "'

step 'volumes and patches, from inside'
same 'baked 700 db' "$msb" exec walk sh -c \
    'echo $(cat /etc/baked) $(stat -c %a /made) $(grep 10.1.2.3 /etc/hosts | cut -f2 | cut -d" " -f2)'
gives 1 "$msb" exec walk test -e /etc/motd
if [ "$shares" = shares ]; then
    same shared "$msb" exec walk cat /shared/file
    same remounted "$msb" exec walk sh -c 'mount -o remount,rw /shared && echo remounted'
    gives 1 "$msb" exec walk sh -c 'echo changed > /shared/file || exit 1'
    same shared cat "$work/shared/file"
fi
gives 0 "$msb" exec walk sh -c 'echo of the volume > /data/file'
gives 1 "$msb" exec walk dd if=/dev/zero of=/scratch/full bs=1M count=8
same "$((4 << 20))" "$msb" exec walk stat --format %s /scratch/full
refuses 'use it: walk\|in use' "$msb" volume rm walk-data

step 'jobs'
job=$("$msb" exec -d walk sh -c 'echo of a job; exit 5')
gives 5 "$msb" wait --job "$job" walk
same 'of a job' "$msb" logs --job "$job" walk
json jobs jobs walk --format json

step 'logs'
same 'hello from /tmp' "$msb" logs walk
same 1 sh -c "'$msb' logs --timestamps --tail 1 walk | grep -c 'T.*Z hello from /tmp'"

gives 0 "$msb" logs --source console walk
gives 0 "$msb" logs --source machine walk

step 'files'
mkdir -p "$work/tree/below"
echo one >"$work/tree/below/one"
ln -s below/one "$work/tree/link"
gives 0 "$msb" cp "$work/tree" walk:/srv
same one "$msb" exec walk cat /srv/tree/link
same one "$msb" fs cat walk /srv/tree/below/one
gives 0 "$msb" fs mkdir -p walk /srv/made/deep
gives 0 "$msb" fs rm -r walk /srv/made
json fs fs ls walk /srv/tree --format json
json fs fs stat walk /srv/tree/link /dev/null --format json
gives 0 "$msb" cp walk:/srv/tree "$work/back"
same one cat "$work/back/link"
same './
./below/
./below/one
./link' sh -c "'$msb' cp walk:/srv/tree/. - | tar t"

step 'pause'
same walk "$msb" pause walk
json ps ps --format json
json inspect inspect walk
refuses 'is paused' "$msb" exec walk true
same one "$msb" fs cat walk /srv/tree/below/one
same walk "$msb" unpause walk
same one "$msb" exec walk cat /srv/tree/below/one

step 'restart'
boots "$msb" restart -t 1 walk
same one "$msb" exec walk cat /srv/tree/link

step 'stop, rename, and files without a machine'
# The command heeds no SIGTERM; without --stop-timeout it would have ten seconds.
asked=$(date +%s)
gives 0 "$msb" stop walk
took=$(($(date +%s) - asked))
[ "$took" -ge 2 ] && [ "$took" -lt 10 ] || {
    echo "walk: the stop took $took s" >&2
    exit 1
}
gives 0 "$msb" rename walk walk-2
json inspect inspect walk-2
same one "$msb" fs cat walk-2 /srv/tree/below/one
json fs fs ls walk-2 /srv/tree --format json
gives 0 "$msb" cp walk-2:/srv/tree "$work/offline"
same one cat "$work/offline/link"
refuses 'run' "$msb" exec walk-2 true
json diff diff walk-2 --format json
mkdir "$work/applied"
json apply apply --from /srv --format json walk-2 "$work/applied"
same 'A /srv/tree' sh -c "'$msb' diff walk-2 -- /srv/tree | head -1"

step 'update'
before=$("$msb" inspect walk-2 | sed -n 's/.*"upper_bytes": \(.*\),/\1/p')
gives 0 "$msb" update --upper-size "$((before + (1 << 30)))" --memory 640m walk-2
refuses shrink "$msb" update --upper-size 16m walk-2

step 'kill, and what was synced is there'
boots "$msb" start walk-2
same larger "$msb" exec walk-2 awk '/MemTotal/ && $2 > 512 * 1024 && $2 <= 640 * 1024 { print "larger" }' /proc/meminfo
same grown "$msb" exec walk-2 sh -c "[ \$(df -k --output=size / | tail -1) -gt $((before / 1024)) ] && echo grown"
gives 0 "$msb" exec walk-2 sh -c 'echo kept > /srv/kept; sync'
gives 0 "$msb" kill walk-2
json ps ps --all --format json
boots "$msb" start walk-2
same kept "$msb" exec walk-2 cat /srv/kept

step 'snapshots'
refuses 'has no snapshots' "$msb" rollback walk-2
same walk-2@clean "$msb" snapshot create -m 'before it is tried' walk-2@clean
refuses 'has a snapshot clean' "$msb" snapshot create walk-2@clean
same frozen "$msb" snapshot inspect -f '{{.consistency}}' walk-2@clean
same kept "$msb" fs cat walk-2@clean /srv/kept
gives 0 "$msb" exec walk-2 sh -c 'mv /srv/kept /srv/tried'
gives 0 "$msb" stop walk-2
same kept "$msb" fs cat walk-2 /srv/tried
same 'A /srv/tried' "$msb" diff walk-2 -- /srv/tried
same walk-2@2 "$msb" rollback walk-2
boots "$msb" start walk-2
same kept "$msb" fs cat walk-2@2 /srv/tried
same 'A /srv/tried' "$msb" diff walk-2@2 -- /srv/tried
same kept "$msb" exec walk-2 cat /srv/kept
gives 1 "$msb" exec walk-2 test -e /srv/tried
gives 0 "$msb" exec walk-2 sh -c 'echo unsynced > /srv/live'
same walk-2@live "$msb" snapshot create walk-2@live
same frozen "$msb" snapshot inspect -f '{{.consistency}}' walk-2@live
same unsynced "$msb" fs cat walk-2@live /srv/live
same 'A /srv/live' "$msb" diff walk-2 -- /srv/live
boots "$msb" rollback -t 0 walk-2@live
same unsynced "$msb" exec walk-2 cat /srv/live
same walk-2@live "$msb" snapshot rm walk-2@live
# No snapshot is that old: generations are merged, and the machine takes part.
gives 0 "$msb" snapshot prune --force --filter until=24h walk-2
same unsynced "$msb" exec walk-2 cat /srv/live
gives 0 "$msb" exec walk-2 rm /srv/live
gives 0 "$msb" stop walk-2
gives 0 "$msb" rollback walk-2@2
same kept "$msb" fs cat walk-2 /srv/tried
gives 0 "$msb" snapshot export -o "$work/exported" walk-2@2
same walk-2@2 "$msb" snapshot rm walk-2@2
refuses 'is taken' "$msb" snapshot import -i "$work/exported"
same walk-3@2 sh -c "'$msb' snapshot import -q walk-3 <'$work/exported'"
boots "$msb" start walk-3
same kept "$msb" exec walk-3 cat /srv/tried
gives 0 "$msb" rm -f walk-3
json snapshots snapshot ls --format json
json snapshots snapshot inspect walk-2@clean
json commands history walk-2 --format json
json snapshot-verify snapshot verify walk-2 --format json
same 'intact   walk-2@clean' "$msb" snapshot verify walk-2@clean

step 'run in the background, wait, remove'
boots "$msb" run -d --memory 512m --name walk "$image" \
    sh -c 'trap "echo signalled" USR1; trap "exit 9" INT; echo ready; while :; do sleep 0.1; done'
shows() {
    for try in $(seq 120); do
        "$msb" logs walk 2>"$work/err" | grep -q "$1" && return
        sleep 0.5
    done
    echo "walk: the log has no '$1'" >&2
    exit 1
}
shows ready
same 1 sh -c "'$msb' top walk | grep -c '[e]cho ready'"
gives 0 "$msb" kill -s USR1 walk
shows signalled
same signalled "$msb" logs --since 10m --tail 1 walk
same '' "$msb" logs --until 2020-01-01 walk
"$msb" stop -s INT walk >"$work/stopped" &
stopping=$!
same 9 sh -c "'$msb' wait walk || true"
json ps ps --all --format json
# The command has ended, and its machine may not have.
wait "$stopping"
gives 0 "$msb" rm walk walk-2
export MSB_TIMELINE="$work/timeline"
boots "$msb" run -q --rm --memory 512m -v walk-data:/data:ro "$image" cat /data/file
same "of the volume" cat "$work/out"
unset MSB_TIMELINE
same 'process-up image-checked sandbox-created machine-process-up vmm-entered kernel agent-main mounts-done agent-answered command-started first-byte exit-seen' \
    sh -c "sed 's/.*\"mark\":\"\(.*\)\",\"monotonic_us\":\(.*\)}/\2 \1/' '$work/timeline' | sort -n | cut -d' ' -f2 | xargs"
gives 0 "$msb" volume rm walk-data
same '[]' "$msb" ps --all --format json
json df df --format json
echo 'walk: the end'
