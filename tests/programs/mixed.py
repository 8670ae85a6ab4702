# For the Python interpreter to be profiled with. What it prints depends on nothing but itself (no hash of a string does).
import collections
import functools
import re


class Node:
    __slots__ = ("key", "left", "right")

    def __init__(self, key):
        self.key, self.left, self.right = key, None, None


def insert(root, key):
    if root is None:
        return Node(key)
    if key < root.key:
        root.left = insert(root.left, key)
    elif key > root.key:
        root.right = insert(root.right, key)
    return root


def walk(root):
    if root:
        yield from walk(root.left)
        yield root.key
        yield from walk(root.right)


@functools.lru_cache(None)
def paths(x, y):
    return 1 if x == 0 or y == 0 else paths(x - 1, y) + paths(x, y - 1)


def risky(n):
    try:
        if n % 5 == 0:
            raise ValueError(n)
        return [1, 2, 3][n % 4]
    except IndexError:
        return -1
    finally:
        risky.calls += 1


risky.calls = 0
root, seed = None, 7
for _ in range(2000):
    seed = (seed * 1103515245 + 12345) % 2147483648
    root = insert(root, seed // 65536)
keys = list(walk(root))
print(len(keys), keys[:3], keys[-1], sum(keys))
print(paths(60, 60))
total = 0
for n in range(3000):
    try:
        total += risky(n)
    except ValueError as problem:
        total += problem.args[0] % 3
print(total, risky.calls)
text = "name = value ; other= 42;third =x1 " * 100
print(collections.Counter(re.findall(r"(\w+)\s*=\s*(\w+)", text)).most_common(2))
print(sorted({str(i * i % 97) for i in range(200)}, key=lambda s: (len(s), s))[:12])
print("{:>10.3f}|{!r:<12}|{:#x}".format(2 ** 0.5, "text", 3 ** 20), f"{10 ** 30:,}")
print(sum(x * y for x in range(100) for y in range(x) if (x ^ y) & 1), bytes(range(65, 75)).decode())
exec(compile("print([i for i in range(5)], end=chr(10))", "<made>", "exec"))
