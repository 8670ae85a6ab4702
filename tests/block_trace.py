"""block_trace.py TRACE...: what the traces that a program of profld --trace left say together, as JSON: instructions; executions of
basic blocks by address; how many threads wrote; how the last one ended (null: it has no end); whether it is a ring."""

import collections
import json
import struct
import sys

HEADER = struct.Struct("<8s6IQ3Q")
CHUNK = struct.Struct("<IHBBIIQQIIQ")
TABLE = struct.Struct("<QQQII")
BLOCK = struct.Struct("<QQIIIIII")
MAGIC, RING = 0x4B484354, 2
BLOCKS, BLOCK_TABLE, END = 5, 6, 8
WORDS = {2: "H", 4: "I"}


def read(name):
    """Counts of words, the table of blocks, threads, end and flags."""
    with open(name, "rb") as f:
        data = f.read()
    magic, _, _, at, _, flags, _, _, *_ = HEADER.unpack_from(data)
    assert magic == b"\x7fPTRC\r\n\x1a", name
    words, table, threads, end, windows = collections.Counter(), [], set(), None, set()
    while at + CHUNK.size <= len(data):
        magic, kind, _, word_size, _, thread, stored, _, _, _, sequence = CHUNK.unpack_from(data, at)
        if at + CHUNK.size + stored > len(data) and kind == BLOCKS and sequence in windows:
            break  # killed while it was written; the window has it
        assert magic == MAGIC, f"{name}: no chunk at {at}"
        start = at + CHUNK.size
        if kind == BLOCK_TABLE:
            blocks, operands, _, size, operand_size = TABLE.unpack_from(data, start)
            table = [BLOCK.unpack_from(data, start + TABLE.size + i * size) for i in range(blocks)]
        elif kind == BLOCKS and sequence not in windows | {0}:
            windows.add(sequence)
            length = stored // word_size * word_size
            words.update(memoryview(data)[start : start + length].cast(WORDS[word_size]))
            threads.add(thread)
        elif kind == END:
            end = struct.unpack_from("<II", data, start)[0]
        at = start + (stored + 7) // 8 * 8
    del words[0]
    return words, table, threads, end, flags


total = {"instructions": 0, "blocks": collections.Counter(), "threads": 0, "end": None, "ring": False}
for name in sys.argv[1:]:
    words, table, threads, end, flags = read(name)
    total["threads"] += len(threads)
    total["end"], total["ring"] = end, bool(flags & RING)
    for word, count in words.items():
        while word:
            address, _, size, instructions, _, _, before, _ = table[word - 1]
            if size:
                total["blocks"][hex(address)] += count
            total["instructions"] += count * instructions
            word = before
print(json.dumps(total))
