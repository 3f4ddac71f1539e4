# Counts in files in memory, until SIGTERM: in this process, in one that has left its session, and in one
# that root has moved into a control group of its own.
count='n=0; while :; do n=$((n + 1)); echo $n >/dev/shm/$1.new; mv /dev/shm/$1.new /dev/shm/$1; sleep 0.02; done'
mkdir /sys/fs/cgroup/own
setsid -f sh -c "$count" sh left
setsid -f sh -c "echo 0 >/sys/fs/cgroup/own/cgroup.procs; $count" sh moved
trap 'exit 7' TERM
set -- main
eval "$count"
