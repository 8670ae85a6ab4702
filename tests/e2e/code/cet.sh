# Control-flow enforcement: a program made for it stays so. Its mark (the property note) is kept, indirect branches find ENDBR64
# where they arrive, and that is in the original's place and at the head of each copy.
. "${0%/*}/../common.inc"

for link in pie no-pie static; do
  # shellcheck disable=SC2046 # a list of words
  compile $link "$programs/pointers.c" -O2 -fcf-protection=full $(link_flags $link) -Wl,-z,ibt -Wl,-z,shstk
  rewrite $link
  profiled $link
  expect_calls $link <$link.stdout
  properties() { readelf -nW "$1" 2>/dev/null | grep 'x86 feature:'; }
  properties $link | grep -q 'IBT, SHSTK' || fail "$link: the linker made no such program: $(properties $link)"
  [ "$(properties $link)" = "$(properties $link.prof)" ] || fail "$link: $(properties $link.prof), not $(properties $link)"
  # main: ENDBR64 and the jump to the copy; in the copy ENDBR64 and the call of the hook.
  objdump -d --no-show-raw-insn $link.prof | awk '/^[0-9a-f]+ <main>:/ { getline a; getline b; print a " " b }' >heads
  [ "$(wc -l <heads)" = 2 ] && [ "$(grep -c endbr64 heads)" = 2 ] || fail "$link: $(cat heads)"
  grep -q 'jmp' heads && grep -q 'call' heads || fail "$link: $(cat heads)"
done
