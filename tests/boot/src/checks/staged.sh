# What an agent does to a staged repository.
set -e
cd /work
printf 'fn main() { println!("hi"); }\n' > src/main.rs
printf 'pub fn two() -> u32 { 2 }\n' > src/two.rs
mv docs handbook
rm old.txt
chmod 755 run.sh
echo 'echo owned' > .envrc
echo more >> LICENSE
mkdir -p deep/er
echo 1 > deep/er/file
ln -s ../src/two.rs deep/link
ln src/two.rs deep/hard
