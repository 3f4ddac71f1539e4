#!/bin/sh
# The first program of the lab's outer guest. Its root is a read-only EROFS; disks are told apart by
# their serials. Whatever goes wrong ends the guest: the kernel panics when this script exits.
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root MSB_LAB=1

disk() {
    for serial in /sys/block/*/serial; do
        if [ "$(cat "$serial")" = "$1" ]; then
            basename "$(dirname "$serial")"
            return
        fi
    done
    echo "msb-lab: no disk $1" >&2
    return 1
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev
date --utc --set "@$(sed -n 's/.*msb_lab.clock=\([0-9]*\).*/\1/p' /proc/cmdline)" >/dev/null

# A writable root: an overlay whose upper is on the scratch disk. The job's own files lie on the
# scratch disk itself.
scratch=/dev/$(disk scratch) input=/dev/$(disk input) output=/dev/$(disk output)
mount -t ext4 -o noatime,noinit_itable "$scratch" /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay -o "lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work" overlay /media
mkdir -p /media/job /media/lab /media/lower
tar --extract --file "$input" --directory /mnt
mkdir -p /mnt/job/out
mount --bind /mnt/job /media/job
mount --bind /mnt/lab /media/lab
# /proc last, and no record of it: mount itself looks there.
for directory in dev sys proc; do
    mount --no-mtab --move "/$directory" "/media/$directory"
done
cd /media
pivot_root . lower
umount --lazy /lower

mkdir -p /dev/pts /dev/shm /run /tmp
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
for directory in /dev/shm /run /tmp; do
    mount -t tmpfs -o mode=1777 tmpfs "$directory"
done
chmod 755 /run
for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2; do
    [ -e "/dev/${link%%:*}" ] || ln -s "${link#*:}" "/dev/${link%%:*}"
done
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null || true
hostname msb-lab
# A loopback, and an address that is not of it: SIOCSIFFLAGS, SIOCSIFADDR.
perl -e 'socket(S, 2, 2, 0) or die;
    $up = pack("a16 S x22", "lo", 0x41); ioctl(S, 0x8914, $up) or die "lo: $!";
    $address = pack("a16 S n C4 x16", "lo:1", 2, 0, 203, 0, 113, 1);
    ioctl(S, 0x8916, $address) or die "lo:1: $!"'

cd /job
limit_s=$(cat /lab/timeout)
began_s=$(date +%s)
echo "msb-lab: began"
code=0
timeout --kill-after=5 "$limit_s" sh /lab/command </dev/null >/lab/stdout 2>/lab/stderr || code=$?
if [ $(($(date +%s) - began_s)) -ge "$limit_s" ]; then
    code=timeout
fi
echo "$code" >/lab/exit-code

# The exit code comes last: an output without it is incomplete. tar ends with 1 when a process that
# the job left behind still writes.
cd /
tar --create --sparse --file "$output" job/out lab/stdout lab/stderr lab/exit-code || [ $? -eq 1 ]
sync
echo "msb-lab: ended"
# LINUX_REBOOT_CMD_RESTART, past every service manager.
exec perl -e 'syscall(169, 0xfee1dead, 0x28121969, 0x01234567, 0)'
