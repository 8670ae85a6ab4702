// Graphs: what can be drawn as boxes with boxes next to them. There are three, all made of the tree of contexts:
//
//   ContextTree     the tree as it is
//   MergedTree      one function and what it called, its contexts laid over each other
//   CallersTree     each function, or one, and who called it, and so on up: the tree from its other end
//
// A frame is a box: a function, with the nodes of the tree that it stands for, its weight (what its width is of) and
// its parent. Frames are made when somebody asks for the children of one, and kept: of a million contexts only what is
// wider than a pixel is ever asked for.

class Frame {
  children = null; // not asked for
  constructor(parent, func, weight, nodes, areApart) {
    this.parent = parent;
    this.function = func; // -1: everything
    this.weight = weight;
    this.nodes = nodes; // whose figures it has
    this.areApart = areApart; // none of them is inside another one
  }
}

const byWeight = (a, b) => b.weight - a.weight || a.function - b.function;

class Graph {
  constructor(profile, measure) {
    this.profile = profile;
    this.weights = profile.weights[measure];
  }

  // Of a frame, the heaviest first; without those of no weight.
  childrenOf(frame) {
    frame.children ??= this.makeChildren(frame).filter((child) => child.weight > 0).sort(byWeight);
    return frame.children;
  }

  // The functions that lead to a frame, to find it by in another graph of the same kind.
  pathOf(frame) {
    const path = [];
    for (; frame.parent; frame = frame.parent) path.push(frame.function);
    return path.reverse();
  }
  // As far as it is there.
  find(path) {
    let frame = this.root;
    for (const func of path) {
      const child = this.childrenOf(frame).find((one) => one.function === func);
      if (!child) break;
      frame = child;
    }
    return frame;
  }
}

class ContextTree extends Graph {
  constructor(profile, measure) {
    super(profile, measure);
    this.root = new Frame(null, -1, this.weights.total[0], [0], true);
  }

  makeChildren(frame) {
    const { childStarts, children, functionOf } = this.profile;
    const [node] = frame.nodes;
    const frames = [];
    for (let i = childStarts[node]; i < childStarts[node + 1]; ++i) {
      const child = children[i];
      if (this.weights.total[child] > 0) frames.push(new Frame(frame, functionOf[child], this.weights.total[child], [child], true));
    }
    return frames;
  }
}

class MergedTree extends Graph {
  constructor(profile, measure, func) {
    super(profile, measure);
    const { outermost } = profile;
    const nodes = profile.nodesOfFunction(func);
    // Its figures are of all nodes; its children those of the outermost, since what is inside these is below them.
    const above = nodes.filter((node) => outermost[node]);
    this.root = new Frame(null, func, this.#weigh(above), nodes, false);
    this.root.above = above;
  }

  #weigh(nodes) {
    let weight = 0;
    for (const node of nodes) weight += this.weights.total[node];
    return weight;
  }

  makeChildren(frame) {
    const { childStarts, children, functionOf } = this.profile;
    const groups = new Map();
    for (const node of frame.above) {
      for (let i = childStarts[node]; i < childStarts[node + 1]; ++i) {
        const func = functionOf[children[i]];
        groups.has(func) ? groups.get(func).push(children[i]) : groups.set(func, [children[i]]);
      }
    }
    return [...groups].map(([func, nodes]) => {
      const child = new Frame(frame, func, this.#weigh(nodes), nodes, true);
      child.above = nodes;
      return child;
    });
  }
}

class CallersTree extends Graph {
  // `func`: of this one only, with its total; -1: of all, with what each did itself.
  constructor(profile, measure, func) {
    super(profile, measure);
    this.func = func;
    this.own = func < 0 ? this.weights.self : this.weights.total;
    if (func < 0) {
      this.root = new Frame(null, -1, this.weights.total[0], [0], true);
    } else {
      this.root = this.#frame(null, func, profile.nodesOfFunction(func), null);
    }
  }

  // `nodes`: of the function at the beginning of the chain; `at`: where each chain has come to, null at the beginning.
  #frame(parent, func, nodes, at) {
    let weight = 0;
    for (const node of nodes) if (this.func < 0 || this.profile.outermost[node]) weight += this.own[node];
    const frame = new Frame(parent, func, weight, nodes, false);
    frame.at = at ?? nodes;
    return frame;
  }

  makeChildren(frame) {
    const { functionOf, parents, functions } = this.profile;
    if (frame.function < 0) {
      return functions.name.map((_, f) => this.#frame(frame, f, this.profile.nodesOfFunction(f), null));
    }
    const groups = new Map();
    frame.at.forEach((node, i) => {
      const caller = parents[node];
      if (caller === 0) return;
      const func = functionOf[caller];
      if (!groups.has(func)) groups.set(func, { nodes: [], at: [] });
      groups.get(func).nodes.push(frame.nodes[i]);
      groups.get(func).at.push(caller);
    });
    return [...groups].map(([func, { nodes, at }]) => this.#frame(frame, func, nodes, at));
  }
}

// Who called a function, and whom it called: calls, and times of the outermost calls of those called, so that those
// that lead to a function add up to its total. Sums as of Profile.sumOf, with the function and the nodes; the longest
// first.
function neighboursOf(profile, func) {
  const { childStarts, children, functionOf, parents } = profile;
  const callers = new Map(), callees = new Map();
  const add = (groups, other, node) => (groups.has(other) ? groups.get(other).push(node) : groups.set(other, [node]));
  for (const node of profile.nodesOfFunction(func)) {
    add(callers, parents[node] ? functionOf[parents[node]] : -1, node);
    for (let c = childStarts[node]; c < childStarts[node + 1]; ++c) add(callees, functionOf[children[c]], children[c]);
  }
  const sums = (groups) =>
    [...groups]
      .map(([other, nodes]) => ({ function: other, nodes, ...profile.sumOf(nodes, false) }))
      .sort((a, b) => rankOf(b.total) - rankOf(a.total) || b.calls - a.calls || a.function - b.function);
  return { callers: sums(callers), callees: sums(callees) };
}

// The outermost nodes of some functions: all that goes through one of these is in them. `isMeant`: by function.
function nodesThrough(profile, isMeant) {
  const inside = new Uint8Array(profile.count);
  const outermost = [];
  for (let i = 1; i < profile.count; ++i) {
    const isHere = isMeant[profile.functionOf[i]];
    const isBelow = inside[profile.parents[i]];
    inside[i] = isBelow | isHere;
    if (isHere && !isBelow) outermost.push(i);
  }
  return outermost;
}
