# profld -b counts the executions of each basic block: lines have the counts that gcov gives them, whichever way control leaves.
. "${0%/*}/../common.inc"

# coverage COMPILER SOURCE: runs a build with --coverage; its output and status, and gcov's counts, are in the folder coverage.
coverage() {
  rm -rf coverage && mkdir coverage
  (cd coverage && "$1" -O0 -w --coverage -fprofile-update=atomic -pthread -o cov "$programs/$2" &&
    { ./cov >output; echo $? >status; } && gcov "cov-$2" >report 2>&1) || fail "$2: gcov"
}

# lines SOURCE COMPILER FLAG...: the counts of the program that the compiler makes of the source are those of gcov; output and
# status are the same.
lines() {
  local source=$1
  shift
  rm -f prof.*
  "$@" -g -O0 -w -pthread -o blocks "$programs/$source" || fail "$*: does not compile"
  profld -b -o blocks.prof blocks || fail "$source, $*: profld"
  ./blocks.prof >stdout
  [ $? = "$(cat coverage/status)" ] || fail "$source, $*: the status is not that of the original"
  cmp -s stdout coverage/output || fail "$source, $*: the output is not that of the original"
  prof --json blocks.prof prof.[0-9]* >json 2>stderr || fail "$source, $*: $(cat stderr)"
  python3 "$tests/block_lines.py" blocks "$programs/$source" json "coverage/$source.gcov" >stdout 2>&1 ||
    fail "$source, $*: $(head -n 5 stdout)"
}

coverage gcc blocks.c
lines blocks.c gcc -pie -fPIE
lines blocks.c gcc -no-pie
lines blocks.c gcc -static-pie -fPIE
lines blocks.c clang -pie -fPIE

coverage gcc blocks_threads.c
lines blocks_threads.c gcc -pie -fPIE
lines blocks_threads.c gcc -static

coverage g++ blocks_exceptions.cc
lines blocks_exceptions.cc g++ -pie -fPIE
