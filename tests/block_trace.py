"""block_trace.py TRACE...: what the traces that a program of profld --trace left say together, as JSON: instructions; executions of
basic blocks by address; how many threads wrote; how the last one ended (null: it has no end); whether it is a ring; how many words
do not tell what ran before them."""

import collections
import itertools
import json
import struct
import sys

HEADER = struct.Struct("<8s6IQ3Q")
CHUNK = struct.Struct("<IHBBIIQQIIQ")
TABLE = struct.Struct("<QQQII")
BLOCK = struct.Struct("<QQIIIHHII")
MAGIC, RING = 0x4B484354, 2
BLOCKS, BLOCK_TABLE, END = 5, 6, 8
WORDS = {2: "H", 4: "I"}
WRITES, TOLD_BY_WAYS, FROM_OUTSIDE = 1, 2, 4


def read(name):
    """The words of each thread, the table of blocks with the ways on from each, end and flags."""
    with open(name, "rb") as f:
        data = f.read()
    magic, _, _, at, _, flags, _, _, *_ = HEADER.unpack_from(data)
    assert magic == b"\x7fPTRC\r\n\x1a", name
    windows, table, end = {}, [], None
    while at + CHUNK.size <= len(data):
        magic, kind, _, word_size, _, thread, stored, _, _, _, sequence = CHUNK.unpack_from(data, at)
        if at + CHUNK.size + stored > len(data) and kind == BLOCKS and sequence in windows:
            break  # killed while it was written; the window has it
        assert magic == MAGIC, f"{name}: no chunk at {at}"
        start = at + CHUNK.size
        if kind == BLOCK_TABLE:
            blocks, operands, _, size, operand_size = TABLE.unpack_from(data, start)
            table = [BLOCK.unpack_from(data, start + TABLE.size + i * size) for i in range(blocks)]
            ways = start + TABLE.size + blocks * size + operands * operand_size
            for i, block in enumerate(table):
                table[i] = (*block, struct.unpack_from(f"<{block[-1]}I", data, ways))
                ways += 4 * block[-1]
        elif kind == BLOCKS and sequence not in windows and sequence != 0:
            length = stored // word_size * word_size
            windows[sequence] = thread, memoryview(data)[start : start + length].cast(WORDS[word_size])
        elif kind == END:
            end = struct.unpack_from("<II", data, start)[0]
        at = start + (stored + 7) // 8 * 8
    words = collections.defaultdict(list)
    for _, (thread, of_window) in sorted(windows.items()):
        words[thread] += [word - 1 for word in of_window if word]
    return words, table, end, flags


class Decoder:
    """Which blocks ran, by the words of a thread."""

    def __init__(self, table):
        self.table, self.trees, self.gaps = table, {}, 0

    def tree(self, block):
        """Ways from the block to those that write next, each with the blocks in between."""
        if block not in self.trees:
            ways, todo = {}, [(to, ()) for to in self.table[block][-1]]
            while todo:
                to, way = todo.pop()
                if self.table[to][6] & WRITES:
                    assert to not in ways, "two ways to a block"
                    ways[to] = way
                else:
                    assert len(way) < 1000, "a circle"
                    todo += [(after, (*way, to)) for after in self.table[to][-1]]
            self.trees[block] = ways
        return self.trees[block]

    def chain(self, block):
        before = self.table[block][7]
        return (*self.chain(before - 1), before - 1) if before else ()

    def count(self, words, counts):
        """Adds how often each block ran."""
        pairs = collections.Counter(itertools.pairwise(words))
        interrupting = {(last, word) for last, word in pairs if word not in self.tree(last)}
        for (last, word), times in pairs.items():
            if (last, word) not in interrupting:
                for block in (*self.tree(last)[word], word):
                    counts[block] += times
        first = [(None, words[0])] if words else []
        interrupted = []
        for last, word in itertools.chain(first, (p for p in itertools.pairwise(words) if p in interrupting)):
            if last is not None and self.tree(last) and not any(self.table[to][6] & FROM_OUTSIDE for to in self.tree(last)):
                interrupted.append(last)
            ran = self.chain(word)
            if not self.table[word][6] & FROM_OUTSIDE:
                for i in reversed(range(len(interrupted))):
                    if word in self.tree(interrupted[i]):
                        ran = self.tree(interrupted.pop(i))[word]
                        break
                else:
                    self.gaps += last is not None and bool(self.table[word][6] & TOLD_BY_WAYS)
            for block in (*ran, word):
                counts[block] += 1


total = {"instructions": 0, "blocks": collections.Counter(), "threads": 0, "end": None, "ring": False, "gaps": 0}
for name in sys.argv[1:]:
    words, table, end, flags = read(name)
    total["threads"] += len(words)
    total["end"], total["ring"] = end, bool(flags & RING)
    decoder, counts = Decoder(table), collections.Counter()
    for of_thread in words.values():
        decoder.count(of_thread, counts)
    total["gaps"] += decoder.gaps
    for block, count in counts.items():
        address, _, size, instructions = table[block][:4]
        if size:
            total["blocks"][hex(address)] += count
        total["instructions"] += count * instructions
print(json.dumps(total))
