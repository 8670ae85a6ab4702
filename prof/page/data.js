// The profile, unpacked: prof/page/contents.h says what is in it, packed.h how that is written.
//
// All numbers of a kind are in one typed array, by node or by function: a million objects would take ten times as long
// to make, and the memory with them. They are doubles, which hold whole numbers up to 2^53: no profile has more than
// that but a damaged one, whose figures are marked as doubtful.

// A document and the columns after it.
async function unpack(base64) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const bytes = await inflated(packed);
  const begin = 4 + new DataView(bytes.buffer).getUint32(0, true);
  const content = JSON.parse(new TextDecoder().decode(bytes.subarray(4, begin)));
  return [content, new Columns(bytes, begin)];
}

async function inflated(packed) {
  const stream = new DecompressionStream('deflate');
  const writer = stream.writable.getWriter();
  // What is wrong with it the reader is told as well.
  writer.write(packed).catch(() => {});
  writer.close().catch(() => {});
  const chunks = [];
  let size = 0;
  const reader = stream.readable.getReader();
  for (let next; !(next = await reader.read()).done; size += next.value.length) chunks.push(next.value);
  const bytes = new Uint8Array(size);
  for (let at = 0; chunks.length; at += chunks.shift().length) bytes.set(chunks[0], at);
  return bytes;
}

// Arrays of numbers, by name; each is made of its bytes when somebody asks for it, and kept by whoever does.
class Columns {
  #places = new Map(); // where its numbers are: { at, count }

  // From byte `at` on.
  constructor(bytes, at) {
    this.bytes = bytes;
    while (at < bytes.length) {
      const end = at + 1 + bytes[at];
      const name = new TextDecoder().decode(bytes.subarray(at + 1, end));
      const lengths = new Float64Array(2);
      at = numbers(bytes, end, lengths);
      this.#places.set(name, { at, count: lengths[0] });
      at += lengths[1];
    }
  }

  has(name) {
    return this.#places.has(name);
  }
  get(name) {
    const { at, count } = this.#places.get(name);
    const values = new Float64Array(count);
    numbers(this.bytes, at, values);
    return values;
  }
}

// Fills an array with the numbers from byte `at` on. Returns where they end.
function numbers(bytes, at, values) {
  for (let i = 0; i < values.length; ++i) {
    let byte = bytes[at++], n = byte & 127;
    for (let scale = 128; byte > 127; scale *= 128) {
      byte = bytes[at++];
      n += (byte & 127) * scale;
    }
    values[i] = n;
  }
  return at;
}

// A number that was written as a signed one: 0, 1, 2, 3, 4 are 0, -1, 1, -2, 2.
function signed(n) {
  if (n < 2 ** 31) return (n >>> 1) ^ -(n & 1);
  return n % 2 ? -(n + 1) / 2 : n / 2;
}

// A property of an object that is computed when it is first asked for.
function lazy(object, name, compute) {
  Object.defineProperty(object, name, {
    configurable: true,
    get() {
      const value = compute();
      Object.defineProperty(object, name, { value });
      return value;
    },
  });
}

// Calls and times of nodes, or of sums by function, as figures of one of them. `parents`: of nodes; null of sums.
// `chance`: see contents.h.
class Figures {
  constructor(columns, prefix, parents, chance) {
    this.parents = parents;
    this.chance = chance;
    const has = (name) => columns.has(prefix + name);
    const column = (name) => columns.get(prefix + name);
    this.has = { times: has('self'), errors: has('self_error'), waiting: has('self_waiting') };
    lazy(this, 'calls', () => column('calls'));
    lazy(this, 'flags', () => new Uint8Array(column('flags')));
    this.self = {};
    lazy(this.self, 'cycles', () => column('self'));
    // Where ranges are not told, a time is what it is.
    const hasEnds = has('self_low');
    lazy(this.self, 'low', () => (hasEnds ? this.#ends(column('self_low'), -1) : this.self.cycles));
    lazy(this.self, 'high', () => (hasEnds ? this.#ends(column('self_high'), 1) : this.self.cycles));
    lazy(this.self, 'error', () => column('self_error'));
    this.total = {};
    lazy(this.total, 'cycles', () => this.#totals(column('total'), this.self.cycles));
    lazy(this.total, 'low', () => (hasEnds ? this.#totals(column('total_low'), this.self.low) : this.total.cycles));
    lazy(this.total, 'high', () => (hasEnds ? this.#totals(column('total_high'), this.self.high) : this.total.cycles));
    lazy(this.total, 'error', () => column('total_error'));
    lazy(this, 'selfWaiting', () => column('self_waiting'));
    lazy(this, 'totalWaiting', () => this.#totals(column('total_waiting'), this.selfWaiting));
  }

  // Of the ranges of self times, by how far they are from these.
  #ends(distances, sign) {
    const { cycles } = this.self;
    for (let i = 0; i < cycles.length; ++i) distances[i] = cycles[i] + sign * signed(distances[i]);
    return distances;
  }

  // What was expected, and what it was more.
  #totals(more, self) {
    const totals = new Float64Array(self.length);
    for (let i = self.length - 1; i >= 0; --i) {
      totals[i] += self[i] + signed(more[i]);
      if (this.parents && i) totals[this.parents[i]] += totals[i];
    }
    return totals;
  }

  // A time, 'self' or 'total', of a node or a function.
  time(what, i) {
    const time = nothing();
    this.addTimes(time, what, [i]);
    return time;
  }

  // Adds the times of some to a sum. There may be a million.
  addTimes(sum, what, some) {
    const { cycles, low, high } = this[what];
    const error = this.has.errors ? this[what].error : null;
    const doubtful = what === 'self' ? 8 : 16;
    // Variances that add up, and at the end that of the sum.
    const others = (time) => time ** 2 * this.chance;
    sum.variance += others(sum.cycles);
    for (const i of some) {
      sum.cycles += cycles[i];
      sum.low += low[i];
      sum.high += high[i];
      if (error) sum.variance += error[i] ** 2 + others(cycles[i]);
      if (this.flags[i] & doubtful) sum.doubtful = true;
    }
    sum.variance = Math.max(sum.variance - others(sum.cycles), 0);
  }
}

class Profile {
  // `whole`: the sum of what was called from outside, which is everything.
  constructor(content, columns) {
    Object.assign(this, content);
    const steps = columns.get('nodes.parent');
    this.count = steps.length;
    this.parents = new Uint32Array(this.count);
    for (let i = 0; i < this.count; ++i) this.parents[i] = i - steps[i];
    this.functionOf = new Uint32Array(this.count);
    const changes = columns.get('nodes.function');
    for (let i = 0, last = 0; i < this.count; ++i) this.functionOf[i] = last += signed(changes[i]);
    this.nodes = new Figures(columns, 'nodes.', this.parents, this.chance);
    this.sums = new Figures(columns, 'sums.', null, this.chance);
    this.known = columns.get('sums.known');
    if (columns.has('cpu.nodes.calls')) {
      this.processor = {
        nodes: new Figures(columns, 'cpu.nodes.', this.parents, this.chance),
        sums: new Figures(columns, 'cpu.sums.', null),
      };
    }
    if (columns.has('a.nodes.calls')) this.changes = new Changes(this, columns);
    this.#list();
    this.weights = {}; // by measure
    for (const measure of this.measures) lazy(this.weights, measure, () => this.#weigh(measure));
    lazy(this, 'whole', () => this.sumOf(this.children.subarray(this.childStarts[0], this.childStarts[1]), true));
  }

  countsCalls(f) {
    return Boolean(this.known[f] & 1);
  }
  nodesOfFunction(f) {
    return this.nodesOf.subarray(this.nodeStarts[f], this.nodeStarts[f + 1]);
  }
  hasTotal(f) {
    return Boolean(this.known[f] & 2);
  }

  // The children of each node and the nodes of each function, as stretches of an array; and whether a node is
  // outermost: none above it is of the same function.
  #list() {
    [this.childStarts, this.children] = stretches(this.parents, this.count);
    [this.nodeStarts, this.nodesOf] = stretches(this.functionOf, this.functions.name.length);
    this.outermost = new Uint8Array(this.count);
    const open = new Uint32Array(this.functions.name.length);
    // A node to enter, or, negative, one to leave.
    const steps = [];
    const enterChildren = (node) => {
      for (let i = this.childStarts[node + 1]; i-- > this.childStarts[node];) steps.push(this.children[i]);
    };
    for (enterChildren(0); steps.length;) {
      const step = steps.pop();
      if (step < 0) {
        --open[this.functionOf[-step]];
        continue;
      }
      this.outermost[step] = open[this.functionOf[step]]++ === 0;
      steps.push(-step);
      enterChildren(step);
    }
  }

  // What widths are of, by node: of the node itself and with all that is below it.
  #weigh(measure) {
    const totals = (self) => {
      const total = self.slice();
      for (let i = this.count - 1; i > 0; --i) total[this.parents[i]] += total[i];
      return total;
    };
    // Of two profiles, A and B, there are the same of A.
    const figures = measure.endsWith('_a') ? this.changes.nodes.sides[0] : this.nodes;
    if (measure.startsWith('calls')) return { self: figures.calls, total: totals(figures.calls) };
    if (measure.startsWith('time')) return this.#ofTimes(figures);
    if (measure === 'processor') return this.#ofTimes(this.processor.nodes);
    if (this.nodes.has.waiting) return this.#with(this.nodes.selfWaiting, this.nodes.totalWaiting);
    // Of two runs: what is left of elapsed times without those on a processor.
    const rest = (what) => this.nodes[what].cycles.map((n, i) => Math.max(n - this.processor.nodes[what].cycles[i], 0));
    return this.#with(rest('self'), rest('total'));
  }
  #ofTimes(figures) {
    return this.#with(figures.self.cycles, figures.total.cycles);
  }
  #with(self, total) {
    total[0] = 0; // the root has no time of its own
    for (let i = this.childStarts[0]; i < this.childStarts[1]; ++i) total[0] += total[this.children[i]];
    return { self, total };
  }

  // The figures of some nodes together, as of one. Of nodes inside others of the same function there is no total time,
  // since the outer one has it; but where they are known to be apart.
  sumOf(nodes, areApart) {
    const { calls, flags, has } = this.nodes;
    const sum = { calls: 0, estimated: false, doubtful: false, self: nothing(), total: nothing(), selfWaiting: 0, totalWaiting: 0 };
    for (const i of nodes) {
      sum.calls += calls[i];
      sum.estimated ||= Boolean(flags[i] & 2);
      sum.doubtful ||= Boolean(flags[i] & 4);
    }
    const outer = areApart ? nodes : nodes.filter((i) => this.outermost[i]);
    const add = (figures, to) => {
      figures.addTimes(to.self, 'self', nodes);
      figures.addTimes(to.total, 'total', outer);
    };
    if (has.times) add(this.nodes, sum);
    if (this.processor) add(this.processor.nodes, (sum.processor = { self: nothing(), total: nothing() }));
    if (has.waiting) {
      for (const i of nodes) sum.selfWaiting += this.nodes.selfWaiting[i];
      for (const i of outer) sum.totalWaiting += this.nodes.totalWaiting[i];
    }
    return sum;
  }
}

// Puts the numbers 1 to n - 1, with what they belong to, in order of that: those of `i` are in the second array
// returned, from the first one's [i] to [i + 1].
function stretches(owners, count) {
  const starts = new Uint32Array(count + 1);
  for (let i = 1; i < owners.length; ++i) ++starts[owners[i] + 1];
  for (let i = 0; i < count; ++i) starts[i + 1] += starts[i];
  const next = starts.slice();
  const members = new Uint32Array(Math.max(owners.length - 1, 0));
  for (let i = 1; i < owners.length; ++i) members[next[owners[i]]++] = i;
  return [starts, members];
}
