# docs/examples: make, CMake and Meson build the program and its copy, and show its profile. What the CI examples run fails
# for a branch that makes more calls than the commit of main that it starts from, and only then.
. "${0%/*}/../common.inc"
examples=$tests/../docs/examples
export XDG_CACHE_HOME=$PWD/cache GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$PWD/gitconfig
git config --global user.name test
git config --global user.email test@example.org

# The target `profile', which makes the copy anew when the program has changed.
builds=("make profile" "cmake --build with-cmake --target profile" "ninja -C with-meson profile")
show_profiles() { # show_profiles NUMBER: of as many calls
  local build
  for build in "${builds[@]}"; do
    # shellcheck disable=SC2086 # a list of words
    run $build
    [ "$status" = 0 ] && has_row "$1" is_prime && grep -q "^[0-9]* primes below $1\$" stdout || fail "$build: $status $(cat stdout stderr)"
  done
}
cp -r "$examples" project
cd project || exit 1
cmake -S . -B with-cmake >log 2>&1 || fail "cmake: $(tail -n 3 log)"
meson setup with-meson >log 2>&1 || fail "meson: $(tail -n 3 log)"
show_profiles 1000000
sed -i 's/1000000/5000/' example.c
show_profiles 5000
cd ..

# Where profld is not to be found there is still the program.
(PATH=/usr/bin:/bin && cmake -S project -B with-cmake && cmake --build with-cmake && meson setup with-meson project && ninja -C with-meson) >log 2>&1 ||
  fail "without profld: $(tail -n 3 log)"
with-cmake/example >stdout && cmp <(with-meson/example) stdout && grep -q '^669 primes' stdout || fail "without profld: $(cat stdout)"

# commands FILE PREFIX: what a workflow of GitHub's or the job of GitLab's runs. One file for each step of the former.
commands() {
  awk -v prefix="$2" '
    { match($0, /[^ ]/); text = substr($0, RSTART) }
    in_block && (NF == 0 || RSTART > depth) { print >file; next }
    { in_block = 0; depth = RSTART }
    depth == 3 { is_script = text == "script:" }
    sub(/^run: +/, "", text) { file = prefix (++steps) }
    is_script && sub(/^- /, "", text) { file = prefix (steps = 1) }
    text == $0 || substr($0, depth) == text { next }
    text == "|" { in_block = 1; next }
    { print text >file }' "$1"
}
commands "$examples/github-actions.yml" github
commands "$examples/gitlab-ci.yml" gitlab
[ "$(echo github* gitlab*)" = "github1 github2 github3 github4 gitlab1" ] || fail "steps: $(echo github* gitlab*)"

# A branch that makes as many calls, and one that makes more. Meanwhile main makes fewer, which is nothing of theirs.
repository() { git -C repository "$@" >log 2>&1 || fail "git $*: $(cat log)"; }
commit() { # commit BRANCH SED-COMMAND
  repository checkout -B "$1" start
  sed -i "$2" repository/example.c
  repository commit -a -m "$1"
}
cp -r "$examples" repository
repository init
repository add .
repository commit -m start
repository tag start
commit main 's/is_prime(number);/number % 2 \&\& is_prime(number);/'
commit alike 's/number % divisor == 0/!(number % divisor)/'
commit slower 's/is_prime(number);/is_prime(number) \&\& is_prime(number + 2);/'
for ci in github gitlab; do
  for branch in alike slower; do
    mkdir -p $ci-$branch
    git clone -q -b $branch repository $ci-$branch/checkout 2>log || fail "git clone: $(cat log)"
    steps=("$PWD/$ci"?)
    last=${steps[-1]}
    cd $ci-$branch/checkout || exit 1
    for step in "${steps[@]}"; do
      run bash -eo pipefail "$step"
      [ "$status" = 0 ] || [ "$step" = "$last" ] || fail "$ci $branch ${step##*/}: $status $(tail -n 3 stdout stderr)"
    done
    if [ $branch = alike ]; then
      [ "$status" = 0 ] || fail "$ci: a branch like main: $status $(tail -n 3 stdout stderr)"
    else
      [ "$status" = 3 ] && grep -q '^prof: is_prime: 78498 calls more, 7.8 % of all calls of A$' stderr || fail "$ci: a slower branch: $status $(tail -n 3 stdout stderr)"
    fi
    grep -q '^main;is_prime [0-9]*$' profiles/branch.folded && jq -e '.functions[0].name' profiles/branch.json >/dev/null || fail "$ci: no exports: $(head -n 3 profiles/branch.folded)"
    cd ../..
  done
done
exit 0
