user=${1%%:*}
home= shell=
if [ -r /etc/passwd ]; then
    while IFS=: read -r name _ id _ _ home shell || [ -n "$name" ]; do
        if [ "$name" = "$user" ] || [ "$id" = "$user" ]; then
            user=$name
            break
        fi
        home= shell=
    done </etc/passwd
fi
[ -x "$shell" ] || shell=/bin/sh
export HOME="${home:-${HOME:-/}}" USER="$user" LOGNAME="$user" SHELL="$shell"
cd "$HOME" 2>/dev/null || cd /
shift
[ $# -eq 0 ] || exec "$SHELL" -c "$1"
exec "$SHELL" -l
