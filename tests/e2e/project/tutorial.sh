# docs/tutorial is true: its commands, typed one after the other on a terminal of 100 columns, print what it shows.
#
# A block of the page that begins with "    $ " is a part of the transcript. The commands after "$ " are run by one shell, in
# an empty folder; what they print is compared with the lines below each. Two things are the same if they differ only
#
# - in figures with a point, a unit or a percent sign, in ranges of such, and in a 0, which stands for no time: figures that were
#   measured. Numbers without any of these are counts, and have to be exact;
# - in numbers of processes and threads, build-ids, addresses of functions without names, and the folder;
# - in blanks between words, and in empty lines;
# - in where a line with the folder's name is broken, which may be longer than the page's;
# - in the order of lines of a table that have less than 10 %, or no percentage, and in whether a line has one: a run in which
#   hooks cost more, or more evenly, knows other times;
# - in what depends on how busy the machine is: the remark that hooks took most of the time, how often the program was preempted,
#   in the tree, whether there was any waiting, and in prof diff the column of it, which is not there if there was none.
#
# When output has changed, the file printed, in the folder of the test, is the transcript to take it from.
. "${0%/*}/../common.inc"

page=$tests/../docs/tutorial
export PAGE=$page HOME=$PWD/home XDG_CACHE_HOME=$PWD/cache TERM=dumb
unset DEBUGINFOD_CACHE_PATH DEBUGINFOD_URLS COLUMNS tabstop MAKEFLAGS

# transcript FILE: the lines of its blocks, without the four blanks.
transcript() {
  awk '/^    \$ / { inside = 1 } /^[^ ]/ { inside = 0 } inside { print substr($0, 5) }' "$1"
}

# comparable: standard input with all of that made the same. FOLDER is where the commands ran.
comparable() {
  expand | perl -CSD -0pe 's/^([AB]: [^\n]*)\n  (?=\S)/$1 /mg' | FOLDER=$1 perl -CSD -e '
    my $n = qr/\d+(?:\.\d+)?|\.\d+/;
    my ($pids, @small, @waiting) = (0);
    sub flush { print sort @small; @small = (); }
    while (<STDIN>) {
      s/\s+$//;
      next if $_ eq "" || /^prof: \S+: hooks took \d+ % of the time, so times are uncertain; /;
      if (/^ *Change .* Self B( +Waiting) /) { @waiting = ($-[1], $+[1] - $-[1]) }
      elsif (/^\$ /) { @waiting = () }
      substr($_, $waiting[0], $waiting[1]) = "" if @waiting && length > $waiting[0] + $waiting[1] && !/^\x{2026} /;
      my $is_small = s/^(\s*)-(?=  +\d)/${1}0.0/ || /^\s*~?(\d+\.\d)  / && $1 < 10;
      s/\Q$ENV{FOLDER}\E/FOLDER/g;
      s/, preempted \d+ times?$//;
      s/\bprof\.\d+/prof.PID/g;
      s/\b(process|thread|child of) \d+/$1 PID/g;
      if (/^ *Elapsed .* Process( +Thread)? +Name$/) { $pids = $1 ? 2 : 1 }
      elsif ($pids && /^ *\S+ +\S+ +\S+ +\d+((?: +\d+){$pids}) /) { substr($_, $-[1], $+[1] - $-[1]) = " PID" x $pids }
      else { $pids = 0 }
      s{\.build-id/[0-9a-f]{2}/[0-9a-f]+}{.build-id/ID}g;
      s/(^|\s)#[0-9a-f]+/$1#ADDRESS/g;
      s/(?<![\w.#])[~?<]*[-+]?\d+(?:,\d{3})* ns\b/N/g;
      s/(?<![\w.#])[~?<]*[-+]?$n(?:-$n)?(?: ?%|[munp]?s\b)/N/g;
      s/(?<![\w.#])[~?<]*[-+]?\d*\.\d+(?:-$n)?(?![\w.])/N/g;
      s/(?<![\w.#>])$n-$n(?![\w.])/N/g;
      s/(?<![\w.>-])0(?![\w.])/N/g;
      s/ waiting N//;
      my $depth = s/^([.][. ]*)// ? $1 : "";
      s/^\s+//;
      s/\s+/ /g;
      $_ = "$depth$_\n";
      if ($is_small) { push @small, $_; next }
      flush;
      print;
    }
    flush;'
}

transcript "$page" >shown
[ "$(grep -c '^\$ ' shown)" -ge 30 ] || fail "docs/tutorial has hardly a command"
{
  echo 'stty cols 100 rows 50 -onlcr'
  grep '^\$ ' shown | while IFS= read -r line; do printf 'printf "%%s\\n" %q\n%s\n' "$line" "${line#\$ }"; done
} >session
mkdir empty && cd empty || fail "no folder"
timeout -k 5 "$forever" script -qec 'bash ../session' /dev/null >../printed </dev/null || fail "the session ended with $?: $(tail -n 3 ../printed)"
cd ..
comparable /tmp/tutorial <shown >expected
comparable "$PWD/empty" <printed >actual
# The rules let no more pass: counts, names, the order of lines that matter, and the depth in a tree make a difference.
for change in 's/  100001  /  100002  /' 's/ strlen$/ strcpy/' 's/, 3 threads/, 4 threads/' '/ strlen$/{h;d};/ main$/G' \
  's/^\.   is_prime/. is_prime/' 's/: 2 functions were/: 3 functions were/'; do
  sed "$change" shown | comparable /tmp/tutorial >other
  cmp -s expected other && fail "$change makes no difference"
done
diff expected actual >differences || fail "docs/tutorial (<) is not what is printed (>):
$(head -n 12 differences)"
