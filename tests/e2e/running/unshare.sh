# Programs that leave their namespaces: the profile stays theirs, and their children's are where they were. Where a namespace cannot
# be left (in a chroot, without rights), the program says so, and is profiled all the same.
. "${0%/*}/../common.inc"

cat >unshare.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
static long leaves, trees;
KEPT int leaf(int x) { return leaves++, x + 1; }
KEPT int tree(int depth) { return trees++, depth ? tree(depth - 1) + leaf(depth) : 0; }
static void report(void) {
  printf("calls leaf %ld\ncalls tree %ld\n", leaves, trees);
  fflush(stdout);
}
int main(int argc, char** argv) {
  const char* what = argv[1];
  const int flags = (strstr(what, "user") ? CLONE_NEWUSER : 0) | (strstr(what, "pid") ? CLONE_NEWPID : 0) |
                    (strstr(what, "mount") ? CLONE_NEWNS : 0);
  tree(10);
  const int error = unshare(flags) ? errno : 0;
  printf("%s: %s\n", what, error ? strerror(error) : "unshared");
  tree(100);
  fflush(stdout);
  if (!strstr(what, "mount")) {
    const pid_t child = fork();
    if (child == 0) {
      leaves = trees = 0;
      printf("pid 1: %d\n", getpid() == 1);
      tree(500);
      report();
      exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status) return 1;
  } else if (!error) {
    // Over the folder that the profile is in, and only for itself (in a chroot that cannot be had).
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
      printf("mount: %d\n", mount("none", "unshare.profiles", "tmpfs", 0, NULL));
    } else {
      printf("mount: shared\n");
    }
  }
  tree(1000);
  report();
}
C
for flags in "" -static; do
  compile unshare unshare.c -O1 $flags
  rewrite unshare
  for what in user pid mount user+pid user+mount; do
    profiled unshare $what
    expect_calls unshare <unshare.stdout
    # The first process of a namespace is that in the name of its profile, too.
    case $what in
      *mount) holds='mount: (0|shared)' ;;
      *pid) holds='pid 1: 1' ;;
      *) holds='pid 1: 0' ;;
    esac
    if grep -qx "$what: unshared" unshare.stdout; then
      grep -qxE "$holds" unshare.stdout || fail "$what: $(cat unshare.stdout)"
      [ "$holds" != 'pid 1: 1' ] || [ -e unshare.profiles/prof.1 ] || fail "$what: leaves $(ls unshare.profiles)"
    fi
    cat unshare.stdout
  done
done >said
# What unshare(1) may here, the program may as well.
for what in user pid mount; do
  ! unshare --$what --fork --propagation unchanged true 2>/dev/null || grep -qx "$what: unshared" said || fail "$what is not left"
done
