# Files that several programs write, each in its own way.
set -e
mkdir -p /srv/tree
cd /srv
python3 - <<'PROGRAM'
import mmap, os, sqlite3

database = sqlite3.connect('/srv/database', isolation_level=None)
database.execute('PRAGMA journal_mode = WAL')
database.execute('CREATE TABLE rows (number INTEGER PRIMARY KEY, word TEXT)')
database.executemany('INSERT INTO rows VALUES (?, ?)', ((n, 'word %d' % n) for n in range(2000)))
database.close()

with open('/srv/mapped', 'wb') as file:
    file.truncate(1 << 20)
with open('/srv/mapped', 'r+b') as file:
    view = mmap.mmap(file.fileno(), 0)
    for page in range(0, 256, 3):
        view[page * 4096:page * 4096 + 5] = b'%05d' % page
    view.flush()
    view.close()
PROGRAM
dd if=/dev/urandom of=direct bs=64k count=16 oflag=direct status=none
fallocate -l 4M punched
dd if=/dev/urandom of=punched bs=64k count=64 conv=notrunc status=none
fallocate -p -o 1M -l 1M punched
cp -a /etc tree/etc
tar -C /etc -cf archive.tar .
gzip -k archive.tar
truncate -s 64M sparse
ln direct linked
ln -s direct symlink
mkfifo pipe
chmod 600 mapped
mv /etc/skel tree/moved
rm /etc/issue
