# prof(5) tells where each field lies: the compiler compares its tables with the structures.
. "${0%/*}/../common.inc"

awk '
  function check(name, at, size) {
    print "static_assert(offsetof(" structure ", " name ") == " at ", \"" structure " " name "\");"
    print "static_assert(sizeof(" structure "::" name ") == " size ", \"" structure " " name "\");"
    ++checks
  }
  BEGIN {
    print "#include \"libprof/format/control_list.h\"\n#include \"libprof/format/format.h\""
    print "#include \"libprof/format/coverage.h\"\n#include \"libprof/format/map.h\"\nusing namespace prof_format;"
    # The structures that the tables of a section are of, in their order.
    tables["Header"] = "Header"; tables["Module"] = "Module"
    tables["Skeleton"] = "Skeleton"; tables["Thread"] = "Thread"; tables["Node"] = "Node Node"; tables["Durations"] = "Durations LoggedDurations"
    tables["Limits"] = "ControlList BlockCounters"
    tables["From addresses to functions"] = "MapHeader MapEntry StepsHeader LoopsHeader LoopEntry ImportsHeader ImportEntry CodeCoverage"
  }
  /^\.Ss/ { sub(/^\.Ss /, ""); section = $0; table = 0; structure = "" }
  /^\.Bl -column/ { split(tables[section], structures, " "); structure = structures[++table] }
  /^\.El/ { structure = "" }
  structure != "" && /^\.It [0-9]+ Ta [0-9]+ Ta Va / {
    sub(/ No .*/, "")
    sub(/.* Va /, $2 " " $4 " ")                        # offset, size, names with commas or colons between
    gsub(/[,:]/, " ")
    names = NF - 2
    for (i = 3; i <= NF; i++) check($i, $1 + (i - 3) * $2 / names, $2 / names)
  }
  END { print "static_assert(" checks + 0 " > 65);" }' "$tests/../man/prof.5" >offsets.cc
g++ -std=c++20 -fsyntax-only -I"$tests/.." offsets.cc 2>wrong || fail "$(grep -m 3 error wrong)"

# A table that is wrong is seen.
sed -i 's/offsetof(Node, count) == 8/offsetof(Node, count) == 16/' offsets.cc
g++ -std=c++20 -fsyntax-only -I"$tests/.." offsets.cc 2>wrong && fail "a wrong offset is not seen"
grep -q 'Node count' wrong || fail "$(head -n 3 wrong)"
for structure in Header Module Skeleton Thread Node Durations LoggedDurations ControlList BlockCounters MapHeader MapEntry StepsHeader LoopsHeader LoopEntry ImportsHeader ImportEntry CodeCoverage; do
  grep -q "offsetof($structure," offsets.cc || fail "no table of $structure is seen"
done
