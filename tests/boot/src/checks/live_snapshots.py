import os, sqlite3, threading


def tell(name, number):
    with open('/dev/shm/new-' + name, 'w') as file:
        file.write(str(number))
    os.rename('/dev/shm/new-' + name, '/dev/shm/' + name)


def insert():
    database = sqlite3.connect('/srv/database', isolation_level=None)
    database.execute('PRAGMA journal_mode = WAL')
    database.execute('PRAGMA synchronous = FULL')
    database.execute('CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY)')
    number = database.execute('SELECT count(*) FROM rows').fetchone()[0]
    while True:
        number += 1
        database.execute('INSERT INTO rows VALUES (?)', (number,))
        tell('rows', number)


def count(name, is_synced):
    file = os.open('/srv/' + name, os.O_RDWR | os.O_CREAT)
    number = int(os.pread(file, 8, 0) or 0)
    while True:
        number += 1
        os.pwrite(file, b'%08d' % number, 0)
        if is_synced:
            os.fsync(file)
        tell(name, number)


threading.Thread(target=insert).start()
threading.Thread(target=count, args=('counted', True)).start()
count('written', False)
