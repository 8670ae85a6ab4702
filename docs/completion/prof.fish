# Completion of prof for fish. Options are taken from --help, so they are always those of this version.

function __prof_options
    set -l words (commandline -opc)
    set -l command
    if contains -- "$words[2]" run top tui ctl diff compare gprof trace itrace istat
        set command $words[2]
    end
    $words[1] $command --help 2>/dev/null | string replace -rf '^ +(?:-[A-Za-z], )?(--?[A-Za-z][a-z-]*)[^ ]*(?: [A-Z|]+)?  +(.*)' '$1\t$2'
end

function __prof_wants_command
    test (count (commandline -opc)) -eq 1
end

complete -c prof -n __prof_wants_command -a 'run top tui ctl diff compare gprof trace itrace istat'
complete -c prof -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__prof_options)'
complete -c prof -n '__fish_seen_subcommand_from ctl' -a 'on off reset status'
complete -c prof -n '__fish_seen_subcommand_from run compare trace' -a '(__fish_complete_command)'
complete -c profld -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__prof_options)'
