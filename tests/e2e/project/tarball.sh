# make dist: a tarball with what is committed and nothing else, named after the version. What is in it needs no git: it makes the same
# tarball again. What docs/debian says twice, it says as the project does.
. "${0%/*}/../common.inc"

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$PWD/gitconfig
git config --global user.name test
git config --global user.email test@example.org
mkdir project
(cd "$tests/.." && tar -c --exclude=./build --exclude=./.git .) | tar -x -C project
git -C project init -q 2>log && git -C project add . && git -C project commit -q -m all || fail "git: $(cat log)"
git -C project ls-files | sed "s,^,profld-$version/," | sort >files
tarball=build/dist/profld-$version.tar.gz

for maker in "make -s" /usr/lib/plan9/bin/mk; do
  rm -rf project/build
  # shellcheck disable=SC2086 # a program and an option
  (cd project && $maker dist) >said 2>&1 || fail "$maker dist: $(tail -n 3 said)"
  grep -qx "$tarball" said && ! grep -q '^the tarball has the last commit only' said || fail "$maker dist says: $(cat said)"
  tar -tzf "project/$tarball" | grep -v '/$' | sort | cmp - files || fail "$maker dist: $(tar -tzf "project/$tarball" | grep -v '/$' | sort | diff - files | head -n 3)"
done
cp "project/$tarball" first.tar.gz
echo "#" >>project/Makefile
touch project/new
run make -s -C project dist
[ "$status" = 0 ] && [ "$(cat stderr)" = "the tarball has the last commit only; commit first what git status lists, if it belongs there" ] || fail "changed files: $status $(cat stderr)"
cmp "project/$tarball" first.tar.gz || fail "one commit, two tarballs"

# No git there, though in a repository: the one that these tests are in.
tar -xzf first.tar.gz
mkdir bin
printf '#!/bin/sh\necho "git $*" >&2\nexit 1\n' >bin/git
chmod +x bin/git
PATH=$PWD/bin:$PATH run make -s -C "profld-$version" dist
[ "$status" = 0 ] && [ ! -s stderr ] || fail "without git: $status $(cat stderr)"
tar -tzf "profld-$version/$tarball" | grep -v '/$' | sort | cmp - files || fail "without git: other files"
PATH=$PWD/bin:$PATH run make -n -C "profld-$version" all DEPS=no
[ "$status" = 0 ] && [ "$(grep -o 'LINK  [^"]*' stdout | wc -l)" = 6 ] && grep -q "PROFLD_VERSION=..$version" stdout && [ ! -s stderr ] || fail "without git: $status $(tail -n 3 stdout stderr)"

# To build it takes what make installs; g++ is there wherever packages are built.
packages() { tr -s ' ,\n' '\n' | grep -vE '^(debhelper-compat|\(=|13\)|g\+\+|)$' | sort; }
cd "$tests/.." || exit 1
sed -n '/^Build-Depends:/,/^[^ B]/{ s/^Build-Depends://; /^[A-Z]/!p; }' docs/debian/control | packages >"$OLDPWD/wanted"
make -s -f - show <<<"include sources
show:; @echo \$(BUILD_PACKAGES)" | packages | cmp - "$OLDPWD/wanted" || fail "docs/debian/control wants other packages than BUILD_PACKAGES in sources"
find docs -maxdepth 1 -type f | sort | cmp - <(grep ^docs/ docs/debian/docs | sort) || fail "docs/debian/docs leaves out some of docs/"
