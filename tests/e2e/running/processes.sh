# exec, vfork, posix_spawn, system and popen from a profiled program.
. "${0%/*}/../common.inc"

matrix processes.c
