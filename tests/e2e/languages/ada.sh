# Ada, by GNAT: exceptions, finalization, tasks; and GNAT's own tools, which are Ada programs.
. "${0%/*}/../common.inc"

gnatchop -q "$programs/crew.ada" || fail "gnatchop"
for options in -O0 -O2; do
  for link in pie no-pie static; do
    case $link in
      static) linking="-bargs -static -largs -static" ;;
      *) linking="-bargs -shared -largs $(link_flags $link)" ;;
    esac
    # shellcheck disable=SC2046,SC2086 # lists of words
    made crew gnatmake -q -f $options -o crew crew_main.adb $(link_flags $link) $linking >compile.log 2>&1 || fail "cannot compile: $(head -n 3 compile.log)"
    rewrite crew
    mostly_instrumented crew
    profiled crew
    [ "$status" = 6 ] || fail "exit status $status"
    expect_calls crew <crew.stdout
    strip crew
    rewrite crew
    profiled crew
  done
done

gnatmake -q -c crew_main.adb >compile.log 2>&1 || fail "cannot compile: $(head -n 3 compile.log)"
cp "$(readlink -f "$(command -v gnatls)")" gnatls
rewrite gnatls
mostly_instrumented gnatls
profiled gnatls -d crew_main.ali
grep -q crew.ads gnatls.stdout || fail "gnatls: $(head -n 3 gnatls.stdout)"
profiled gnatls nothing.ali
