# Ignores what asks it to end, serves a port, and writes to the disk and to the volume for ever.
trap '' TERM INT HUP
python3 -m http.server --directory /srv 8000 >/dev/null 2>&1 &
number=0
while :; do
    number=$((number + 1))
    echo "$number" > /srv/counted
    echo "$number" > /v/counted
    mv /srv/counted /srv/renamed
    touch /dev/shm/writing
done
