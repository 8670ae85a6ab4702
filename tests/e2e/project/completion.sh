# What bash, zsh and fish complete: commands, and options as --help has them.
. "${0%/*}/../common.inc"
completion=$(cd "$tests/../docs/completion" && pwd)
touch prof.123 ./--not-an-option

# completed FILE SHELL WORD...: fails unless the file has just these words.
completed() {
  local file=$1 shell=$2
  shift 2
  [ "$(sort "$file" | paste -sd ' ')" = "$*" ] || fail "$shell: $(paste -sd ' ' "$file"), not $*"
}

in_bash() { # LINE
  bash -c '
    . "$1/prof.bash"
    COMP_WORDS=($2)
    [ "${2% }" = "$2" ] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    "_${COMP_WORDS[0]}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}"
    printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$1" >bash.out 2>bash.err || fail "bash: $(cat bash.err)"
}
in_bash "prof --raw"
completed bash.out bash --raw-names
in_bash "prof run --cac"
completed bash.out bash --cache-size
in_bash "prof top --raw"
completed bash.out bash --raw-names
in_bash "prof tui --deb"
completed bash.out bash --debug-dir
in_bash "prof gprof --flat"
completed bash.out bash --flat-profile
in_bash "prof ctl re"
completed bash.out bash reset
in_bash "prof prof"
completed bash.out bash prof.123
in_bash "profld --no-"
completed bash.out bash --no-hooks --no-imports --no-leaves
in_bash "prof "
for command in run top tui ctl diff compare gprof trace itrace istat; do grep -qx "$command" bash.out || fail "bash: no $command among $(paste -sd ' ' bash.out)"; done

in_fish() { fish --no-config -c "source $completion/prof.fish; complete -C '$1'" 2>fish.err | cut -f 1 >fish.out; }
export XDG_CONFIG_HOME=$PWD/config XDG_DATA_HOME=$PWD/data
in_fish "prof --raw"
completed fish.out fish --raw-names
in_fish "prof run --cac"
completed fish.out fish --cache-size
in_fish "prof ctl re"
completed fish.out fish reset
in_fish "profld --no-"
completed fish.out fish --no-hooks --no-imports --no-leaves

# zsh completes on a terminal only. Only once it shows its prompt does it read keys itself: before that the terminal would take ^U
# for its own, which erases the line.
cat >complete.zsh <<'Z'
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell "fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; bindkey -e; PS1='ready>'; compadd() { builtin compadd -O hits \"\$@\"; print -rl -- \$hits >>zsh.out; builtin compadd \"\$@\" }; print be''gin"
zpty -r shell output '*begin*ready>*'
n=0
for line in 'prof --raw' 'prof run --cac' 'profld --no-h' 'prof ctl re'; do
  ((n++))
  zpty -w -n shell "$line"$'\t\C-u'"print line${n}''done"$'\n'
  zpty -r shell output "*line${n}done*ready>*"
done
zpty -d shell
Z
timeout $forever zsh -f complete.zsh "$completion" >zsh.log 2>&1 || fail "zsh: $(tail -n 3 zsh.log)"
completed zsh.out zsh --cache-size --no-hooks --raw-names reset
