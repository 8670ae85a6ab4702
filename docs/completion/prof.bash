# Completion of prof and profld for bash. Options are taken from --help, so they are always those of this version.

_prof_options() {
  "$@" --help 2>/dev/null | sed -nE 's/^ +(-[A-Za-z]), (--[a-z-]+).*/\1\n\2/p; t; s/^  (-[A-Za-z]).*/\1/p; s/^ +(--[a-z-]+).*/\1/p' | sort -u
}

_prof() {
  local program=$1 word=$2 i command=
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      run | top | tui | ctl | diff | compare | gprof | trace | itrace | istat)
        command=${COMP_WORDS[i]}
        break
        ;;
      -*) ;;
      *) break ;;
    esac
  done
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_prof_options "$program" $command)" -- "$word")
    return
  fi
  case $command in
    ctl)
      if ((i == COMP_CWORD - 1)); then
        mapfile -t COMPREPLY < <(compgen -W "on off reset status" -- "$word")
        return
      fi
      ;;
    run | compare | trace) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
    "") ((COMP_CWORD == 1)) && mapfile -t COMPREPLY < <(compgen -W "run top tui ctl diff compare gprof trace itrace istat" -- "$word") ;;
  esac
  local files
  mapfile -t files < <(compgen -f -- "$word")
  COMPREPLY+=("${files[@]}")
}

_profld() {
  COMPREPLY=()
  if [[ $2 == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_prof_options "$1")" -- "$2")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$2")
  fi
}

complete -o filenames -F _prof prof
complete -o filenames -F _profld profld
