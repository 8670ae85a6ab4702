# Debian's own stripped python3.11: same output, tracebacks, exit statuses.
. "${0%/*}/../common.inc"

cp /usr/bin/python3.11 python
rewrite python
mostly_instrumented python
export PYTHONHASHSEED=0 PYTHONHOME=/usr PYTHONDONTWRITEBYTECODE=1
profiled python -S -I "$programs/mixed.py"
[ "$(total_calls python)" -gt 1000000 ] || fail "only $(total_calls python) calls"
profiled python -S -c 'def f(n): return 1 / n if n == 0 else f(n - 1)
f(5)'
[ "$status" = 1 ] || fail "status $status of an exception"
profiled python -S -c 'import sys; sys.exit(9)'
profiled python -c 'import threading, json, subprocess, sys
results = []
threads = [threading.Thread(target=lambda n=n: results.append(sum(range(n * 1000)))) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(results), json.dumps({"a": [1, 2.5, None]}), subprocess.run(["/bin/echo", "child"], capture_output=True).stdout)'
profiled python -S -c 'def f(): f()
try: f()
except RecursionError: print("too deep")'
