# Changes of every kind that overlayfs has a form for.
set -e
cd /usr/share
# A directory becomes a file, and a file a directory; another one is replaced, and comes back as it was.
rm -r doc/bash
echo file > doc/bash
rm /etc/issue
mkdir /etc/issue
echo inside > /etc/issue/inside
cp -a base-passwd /tmp/kept
rm -r base-passwd
cp -a /tmp/kept base-passwd
# An opaque directory, with one name of the image in it.
rm -r debconf
mkdir debconf
echo new > debconf/new
# Directories are renamed, changed below their new name, and one comes back.
mv perl5 moved
echo more > moved/more
mv bug away
mv away bug
# Only attributes change: no content is copied.
chmod 600 /etc/passwd
chown 7:8 /etc/group
# A file is written again with what it had, and keeps its time.
cp -a /etc/shells /tmp/shells
cat /tmp/shells > /etc/shells
touch -r /tmp/shells /etc/shells
# Hard links join files of the image; one is written through its new name.
ln /etc/debian_version /etc/linked
ln /etc/host.conf /etc/both
echo multi off >> /etc/both
# Attributes, holes, devices, names.
python3 -c '
import os
os.setxattr("/etc/fstab" if os.path.exists("/etc/fstab") else "/etc/profile", "user.note", b"\x00\xff")
with open("/etc/sparse", "wb") as file:
    file.truncate(1 << 31)
    file.seek(1 << 30)
    file.write(b"x")
os.truncate("/etc/sparse", (1 << 30) + 1)
os.mknod("/etc/device", 0o20600, os.makedev(1, 3))
os.mkfifo("/etc/pipe")
os.symlink("nowhere", "/etc/dangling")
open("/etc/\u00e9 \t", "w").close()
'
rm /etc/sparse
# A name that is removed and made again without a difference but its time.
cat /etc/nsswitch.conf > /tmp/nss
rm /etc/nsswitch.conf
cat /tmp/nss > /etc/nsswitch.conf
sync
