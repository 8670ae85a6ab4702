// Two profiles, A and B, and what changed between them: the columns that prof/page/two_profiles.h has beside those of
// one. A change is shown as prof diff shows it (prof/views/compare/difference.cc has the same rules): with ~ where it
// may be noise.

class Changes {
  constructor(profile, columns) {
    this.profile = profile;
    const part = (name, ofB, parents) => {
      const of = { sides: [new Figures(columns, 'a.' + name, parents, 0), ofB] };
      lazy(of, 'marks', () => new Uint8Array(columns.get('change.' + name + 'marks')));
      for (const end of ['self_low', 'self_high', 'total_low', 'total_high']) lazy(of, end, () => columns.get('change.' + name + end));
      return of;
    };
    this.nodes = part('nodes.', profile.nodes, profile.parents);
    this.sums = part('sums.', profile.sums, null);
  }

  // What changed of some nodes of one function: of their 'calls', or seconds of 'self' or 'total'. Of [0], the root,
  // that of everything. Each node was compared, and so was each function; what others do together is known if it is
  // more than the errors of all.
  of(nodes, areApart, what) {
    const { functionOf, functions } = this.profile;
    if (nodes[0] === 0) return this.#ofOne(this.sums, functions.name.length, what);
    if (nodes.length === 1) return this.#ofOne(this.nodes, nodes[0], what);
    const func = functionOf[nodes[0]];
    if (nodes.length && nodes.length === this.profile.nodesOfFunction(func).length) return this.#ofOne(this.sums, func, what);
    return this.ofAll(areApart || what !== 'total' ? nodes : nodes.filter((node) => this.profile.outermost[node]), what);
  }

  // The same of nodes of several functions, all of them added up.
  ofAll(nodes, what) {
    const sum = { first: 0, second: 0, isKnown: true, isInA: false, isInB: false };
    let low = 0, high = 0;
    for (const node of nodes) {
      const one = this.#ofOne(this.nodes, node, what);
      sum.first += one.first;
      sum.second += one.second;
      sum.isKnown &&= one.isKnown;
      sum.isInA ||= one.isInA;
      sum.isInB ||= one.isInB;
      if (what === 'calls') continue;
      low += amountOf(one) - this.nodes[what + '_low'][node] / this.profile.hz;
      high += amountOf(one) + this.nodes[what + '_high'][node] / this.profile.hz;
    }
    if (what !== 'calls') sum.isKnown = low > 0 || high < 0;
    return sum;
  }

  #ofOne(of, i, what) {
    const value = (side) =>
      what === 'calls' ? of.sides[side].calls[i] / this.profile.runs[side] : of.sides[side][what].cycles[i] / this.profile.hz;
    const marks = of.marks[i];
    const known = { calls: 1, self: 2, total: 4 }[what];
    return { first: value(0), second: value(1), isKnown: Boolean(marks & known), isInA: Boolean(marks & 8), isInB: Boolean(marks & 16) };
  }

  // What a column of the table is sorted by, of a function and its text there: the size of a change, as prof diff
  // --sort has it; chances from the least on.
  keyOf(title) {
    const size = (what) => (f) => Math.abs(amountOf(this.#ofOne(this.sums, f, what)));
    const main = this.profile.nodes.has.times ? 'self' : 'calls';
    const perCall = (f, side) => {
      const calls = this.#ofOne(this.sums, f, 'calls'), total = this.#ofOne(this.sums, f, 'total');
      const [time, number] = side ? [total.second, calls.second] : [total.first, calls.first];
      return number > 0 ? time / number : 0;
    };
    return {
      Change: size(main),
      '%': (f) => Math.abs(partOf(this.#ofOne(this.sums, f, main))),
      'Self A': (f) => this.#ofOne(this.sums, f, 'self').first,
      'Self B': (f) => this.#ofOne(this.sums, f, 'self').second,
      Total: size('total'),
      Calls: size('calls'),
      'Per call': (f) => Math.abs(perCall(f, 1) - perCall(f, 0)),
      Waiting: (f, text) => secondsOf(text),
      p: (f, text) => -parseFloat(text.replace('<', '')) || 0,
    }[title];
  }
}

// Of a text, without its sign.
function secondsOf(text) {
  const [, digits, unit] = /([\d.]+)(ns|us|ms|s)/.exec(text) ?? [null, '0', 's'];
  return Number(digits) / units.find(([name]) => name === unit)[1];
}

const amountOf = ({ first, second }) => second - first;
const isSame = (change) => Math.abs(amountOf(change)) < 1e-5 * Math.max(change.first, change.second);
// Of what was before.
const partOf = (change) => (amountOf(change) ? amountOf(change) / change.first : 0);
const marked = (change, text) => (change.isKnown || !amountOf(change) ? '' : '~') + text;
const withSign = (amount, text) => (amount < 0 ? '-' : '+') + text;

function shownPart(change) {
  if (!change.isInA || !change.isInB) return change.isInA ? 'gone' : 'new';
  if (change.first <= 0) return '';
  const percent = 100 * Math.abs(partOf(change));
  const size = decimal(percent, percent < 9.995 ? 2 : percent < 99.95 ? 1 : 0);
  return size === '0.00' ? '0%' : withSign(amountOf(change), size) + '%';
}

const shownCount = (calls) => decimal(calls, Number.isInteger(calls) ? 0 : 1);
function shownCalledOf(change) {
  if (!amountOf(change)) return shownCount(change.first);
  return marked(change, shownCount(change.first) + '->' + shownCount(change.second));
}

function shownAmount(change) {
  const text = duration(Math.abs(amountOf(change)));
  return isSame(change) || text === '0' ? '0' : marked(change, withSign(amountOf(change), text));
}
function shownTimes(change) {
  const part = shownPart(change);
  return marked(change, duration(change.first) + '->' + duration(change.second)) + (part && ' (' + part + ')');
}

// Red is slower, or more calls, blue is faster, and grey what may be noise: the paler, the less it is of the greater of
// both. `isDark`: what is around it.
function colourOf(change, isDark) {
  const amount = amountOf(change);
  if (!change.isKnown || !amount) return isDark ? '#3f444a' : '#dde1e6';
  const strength = Math.sqrt(Math.min((2 * Math.abs(amount)) / Math.max(change.first, change.second), 1));
  const hue = amount > 0 ? 8 : 212;
  return isDark ? `hsl(${hue} ${35 + 35 * strength}% ${25 + 13 * strength}%)` : `hsl(${hue} 85% ${92 - 24 * strength}%)`;
}
