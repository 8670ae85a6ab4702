// When time was spent, and the profile of a part of the run.
//
// Samples come in slices of the run (prof/page/timeline.h). Of some slices one after the other there is a profile as of
// the whole run: what each node has of its samples in these slices, it has of its time, and of what is not known of it.
// Only calls have no time. The rest of the page shows it as it shows the whole.
//
// A thread takes samples only while it has a processor. In the slices between that of its first sample and that of its
// last it was there all the time, so what its samples do not account for, it was not on a processor: it waited, or was
// not scheduled. In these two slices, before and after them, nothing tells whether it was there. How long it was on a
// processor is known to a sample for each processor that it was on, since each has a clock of its own for it: two are
// taken here.

class Timeline {
  constructor(content, columns, whole) {
    const get = (name) => columns.get('timeline.' + name);
    Object.assign(this, content.timeline); // slice, length, sample, weight, threads
    this.whole = whole;
    this.slices = get('slice');
    for (let i = 1; i < this.slices.length; ++i) this.slices[i] += this.slices[i - 1];
    this.threadOf = get('thread');
    this.nodes = get('node');
    this.samples = get('samples');
    this.count = Math.max(Math.ceil(this.length / this.slice), this.slices[this.slices.length - 1] + 1);
    // By slice, where its samples begin.
    this.first = new Uint32Array(this.count + 1);
    for (const slice of this.slices) ++this.first[slice + 1];
    for (let i = 0; i < this.count; ++i) this.first[i + 1] += this.first[i];
    this.all = this.#samplesOf(0, this.count);
    // By thread, its slices between the first and the last: from, and up to.
    this.known = this.threads.map(() => [Infinity, 0]);
    this.threadOf.forEach((thread, i) => {
      const known = this.known[thread];
      known[0] = Math.min(known[0], this.slices[i] + 1);
      known[1] = this.slices[i];
    });
  }

  isKnown(thread, slice) {
    const [from, to] = this.known[thread];
    return from <= slice && slice < to;
  }

  // How long threads were not on a processor, of slices of threads, of which there are `known`, with so many samples in
  // them. `part` is of all that time; `time` as shownTime takes it. `threads`: how many they are.
  offProcessor(known, samples, threads = 1) {
    const cycles = known * this.slice * this.whole.hz;
    const off = cycles - samples * this.sample;
    const error = 2 * this.sample * this.weight * threads;
    const within = (n) => Math.min(Math.max(n, 0), cycles);
    const time = { ...nothing(), cycles: within(off), low: within(off - error), high: within(off + error) };
    return { time, of: known * this.slice, part: known && time.low ? time.cycles / cycles : 0 };
  }

  // By thread, of the slices from `from` to `to` - 1: how many of them are known, and how many samples these have.
  knownOf(from, to) {
    const sums = this.known.map(([begin, end]) => ({ known: Math.max(Math.min(end, to) - Math.max(begin, from), 0), samples: 0 }));
    for (let i = this.first[from]; i < this.first[to]; ++i)
      if (this.isKnown(this.threadOf[i], this.slices[i])) sums[this.threadOf[i]].samples += this.samples[i];
    return sums;
  }

  get notOn() {
    return this.kernel ? 'not on a processor' : 'not on a processor, or in the kernel';
  }

  // A word as 12-40: the slices from 12 to 39. Null if it is none.
  read(word) {
    const [, from, to] = /^(\d{1,5})-(\d{1,5})$/.exec(word) ?? [];
    return Number(from) < Number(to) && Number(to) <= this.count ? [Number(from), Number(to)] : null;
  }

  #samplesOf(from, to) {
    const samples = new Float64Array(this.whole.count);
    for (let i = this.first[from]; i < this.first[to]; ++i) samples[this.nodes[i]] += this.samples[i];
    return samples;
  }

  // The profile of the slices from `from` to `to` - 1. `content`, `columns`: of the whole run.
  profileOf(content, columns, from, to) {
    const samples = this.#samplesOf(from, to);
    let inAll = 0;
    for (let i = 1; i < samples.length; ++i) inAll += samples[i];
    const chance = inAll ? this.weight / inAll : 0;
    const part = new Profile({ ...content, chance, measures: ['time'], names: content.names.slice(0, 1) }, this.#columnsOf(columns, samples, inAll));
    const texts = (f) => [
      shownShare(part.sums.time('self', f), part.whole.total).replace(' %', ''),
      shownTime(part.sums.time('self', f), part.hz),
      part.hasTotal(f) ? shownTime(part.sums.time('total', f), part.hz) : '-',
    ];
    const rows = content.table.rows.map(([f]) => f).filter((f) => part.sums.total.cycles[f] || part.sums.self.cycles[f]);
    part.table = { titles: ['%', 'Self', 'Total'], rows: rows.map((f) => [f, ...texts(f)]) };
    part.samples = inAll;
    return part;
  }

  // In the form that prof writes them in.
  #columnsOf(columns, samples, inAll) {
    const { nodes, sums, parents, functionOf, outermost, known, count } = this.whole;
    const made = { nodes: figuresFor(count), sums: figuresFor(known.length) };
    for (let i = count - 1; i > 0; --i) {
      const share = this.all[i] ? samples[i] / this.all[i] : 0;
      const self = { cycles: nodes.self.cycles[i] * share, low: nodes.self.low[i] * share, high: nodes.self.high[i] * share };
      self.variance = samples[i] ? (self.cycles ** 2 / samples[i]) * this.weight : 0;
      // What counters make uncertain is moved between callers and callees for the most part, as SampleValue::in_total
      // has it.
      const inTotal = { ...self, low: self.cycles - 0.25 * (self.cycles - self.low), high: self.cycles };
      const func = functionOf[i];
      for (const what of ['cycles', 'low', 'high', 'variance']) {
        const { self: ofSelf, total } = made.nodes;
        ofSelf[what][i] = self[what];
        made.sums.self[what][func] += self[what];
        total[what][i] += inTotal[what];
        if (parents[i]) total[what][parents[i]] += total[what][i];
        total[what][i] += self[what] - inTotal[what];
        if (outermost[i]) made.sums.total[what][func] += total[what][i];
      }
    }
    const written = new Map([['sums.known', known.map((bits) => bits & 2)]]);
    for (const name of ['nodes.parent', 'nodes.function']) written.set(name, columns.get(name));
    for (const [name, figures] of Object.entries({ nodes, sums })) {
      const flags = figures.flags.map((bits) => bits & 24);
      written.set(name + '.flags', flags);
      written.set(name + '.calls', new Float64Array(flags.length));
      this.#write(made[name], name + '.', name === 'nodes' ? parents : null, inAll, written);
    }
    return { has: (name) => written.has(name), get: (name) => written.get(name) };
  }

  // `parents`: of nodes, from whose totals those of others follow.
  #write({ self, total }, prefix, parents, inAll, written) {
    const put = (name, of) => written.set(prefix + name, self.cycles.map((_, i) => of(i)));
    const more = (what) => {
      const expected = self[what].slice();
      if (parents) for (let i = expected.length - 1; i > 0; --i) expected[parents[i]] += total[what][i];
      return (i) => (parents && i === 0 ? 0 : asSigned(total[what][i] - expected[i]));
    };
    put('self', (i) => self.cycles[i]);
    put('self_low', (i) => asSigned(self.cycles[i] - self.low[i]));
    put('self_high', (i) => asSigned(self.high[i] - self.cycles[i]));
    put('total', more('cycles'));
    put('total_low', more('low'));
    put('total_high', more('high'));
    // As SampleValue::correct_variances has it.
    const few = 2.25 / inAll;
    const error = ({ cycles, variance }) => (i) =>
      inAll ? Math.sqrt(Math.max(variance[i] - (cycles[i] ** 2 * this.weight) / inAll, (few * this.weight * cycles[i] ** 2) / inAll)) : 0;
    put('self_error', error(self));
    put('total_error', error(total));
  }
}

const figuresFor = (count) => {
  const array = () => new Float64Array(count);
  const figures = () => ({ cycles: array(), low: array(), high: array(), variance: array() });
  return { self: figures(), total: figures() };
};
const asSigned = (n) => {
  const whole = Math.round(n); // which may be -0
  return whole < 0 ? -2 * whole - 1 : 2 * whole;
};

// Lanes, one for each thread, on a canvas. A bar is as high as the part of the time that the thread had a processor,
// and has the colour of the function that took most of it. Above it, in a quiet colour, is what of the time the thread
// is known not to have been on one. What is dragged over, or moved to by keys, is the range.

const laneHeight = 34, labelHeight = 13, axisHeight = 18, maxLanes = 40;
const fewSamples = 8; // of a thread that is always on a processor, in a bar: fewer tell little of how long it was there

class TimelineView {
  // `events`: choose(range), a word as Timeline.read takes it, '' for the whole run; zoom(range); tell(text).
  constructor(window_, canvas, events) {
    this.window = window_;
    this.canvas = canvas;
    this.events = events;
    this.context = canvas.getContext('2d');
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.dark.addEventListener('change', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(window_);
    canvas.addEventListener('pointerdown', (event) => this.#begin(event));
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    canvas.addEventListener('pointerup', (event) => this.#end(event));
    canvas.addEventListener('pointercancel', () => this.#drop());
    canvas.addEventListener('pointerleave', () => this.dragged || this.events.tell(''));
    canvas.addEventListener('keydown', (event) => this.#key(event));
  }

  // `range` and `span`, what is chosen and what is in sight: [from, to], or null for the whole run.
  show(timeline, range, span) {
    this.timeline = timeline;
    this.range = range;
    this.span = span ?? [0, timeline.count];
    this.draw();
  }

  // What is drawn of each lane, from left to right: how many samples, and by function; of how many slices of its
  // threads it is known that they were there, and how many samples these have.
  #bars(columns) {
    const { timeline, span: [from, to] } = this;
    const { whole, first, slices, threadOf, nodes, samples, threads } = timeline;
    const lanes = Array.from({ length: Math.min(threads.length, maxLanes) }, () => []);
    const barOf = (thread, slice) =>
      (lanes[Math.min(thread, maxLanes - 1)][Math.floor(((slice - from) * columns) / (to - from))] ??= { samples: 0, functions: new Map(), known: 0, begin: slice, inKnown: 0 });
    for (let i = first[from]; i < first[to]; ++i) {
      const bar = barOf(threadOf[i], slices[i]);
      const func = whole.functionOf[nodes[i]];
      bar.samples += samples[i];
      bar.functions.set(func, (bar.functions.get(func) ?? 0) + samples[i]);
      if (timeline.isKnown(threadOf[i], slices[i])) bar.inKnown += samples[i];
    }
    timeline.known.forEach(([begin, end], thread) => {
      for (let slice = Math.max(begin, from); slice < Math.min(end, to); ++slice) {
        const bar = barOf(thread, slice);
        if (!bar.known++) bar.begin = slice; // the first that is known
      }
    });
    return lanes;
  }

  draw() {
    if (!this.timeline) return;
    const { context, canvas, timeline } = this;
    const width = this.window.clientWidth;
    const lanes = Math.min(timeline.threads.length, maxLanes);
    const height = lanes * laneHeight + axisHeight;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    canvas.style.height = height + 'px';
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.font = '11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
    context.textBaseline = 'top';
    context.direction = 'ltr';
    const [from, to] = this.span;
    const samples = ((to - from) * timeline.slice * timeline.whole.hz) / (timeline.sample * timeline.weight);
    const columns = (this.columns = Math.max(Math.min(Math.floor(width / 2), to - from, Math.floor(samples / fewSamples)), 1));
    this.bars = this.#bars(columns);
    const isDark = this.dark.matches;
    const ink = isDark ? '#a3a8ae' : '#5c6066', line = isDark ? '#3a3f45' : '#d0d4d9', quiet = isDark ? '#2b3036' : '#e3e7eb';
    this.bars.forEach((bars, lane) => {
      const top = lane * laneHeight, room = laneHeight - labelHeight - 3;
      bars.forEach((bar, at) => {
        const left = Math.round((at * width) / columns), wide = Math.max(Math.round(((at + 1) * width) / columns) - left, 1);
        this.#drawOff(bar, at, lane, left, wide, top + labelHeight + 1, room, quiet);
        if (!bar.samples) return;
        const [func] = [...bar.functions].reduce((most, one) => (one[1] > most[1] ? one : most));
        const tall = Math.max(this.#busy(bar, at, lane) * room, 1);
        context.fillStyle = boxColour(timeline.whole.functions, func, isDark);
        context.fillRect(left, top + laneHeight - 2 - tall, wide, tall);
      });
      context.fillStyle = line;
      context.fillRect(0, top + laneHeight - 2, width, 1);
      context.fillStyle = ink;
      context.fillText(this.#laneName(lane), 2, top + 1, width - 4);
    });
    this.#drawAxis(width, lanes * laneHeight, ink);
    const range = this.dragged ? this.#draggedRange() : this.range;
    if (!range) return;
    const left = this.#placeOf(range[0], width), right = this.#placeOf(range[1], width);
    context.fillStyle = isDark ? 'rgba(122, 184, 255, 0.22)' : 'rgba(11, 92, 173, 0.16)';
    if (right - left < width) context.fillRect(left, 0, right - left, height);
    context.fillStyle = isDark ? '#7ab8ff' : '#0b5cad';
    for (const x of [left, right - 1]) context.fillRect(x, 0, 1, height);
  }

  #laneName(lane) {
    return this.#threadsOf(lane) > 1 ? this.#threadsOf(lane) + ' more threads' : threadName(this.timeline.threads[lane]);
  }

  // The slices of a bar, from and up to.
  #slicesOf(at) {
    const { columns, span: [from, to] } = this;
    return [at, at + 1].map((n) => from + Math.ceil((n * (to - from)) / columns - 1e-9));
  }
  #threadsOf(lane) {
    return lane === maxLanes - 1 ? this.timeline.threads.length - lane : 1;
  }

  // The part of its time for which a bar had a processor.
  #busy({ samples }, at, lane) {
    const { timeline } = this;
    const [begin, end] = this.#slicesOf(at);
    const seconds = Math.min(end * timeline.slice, timeline.length) - begin * timeline.slice;
    return Math.min((samples * timeline.sample) / timeline.whole.hz / seconds / this.#threadsOf(lane), 1);
  }

  // Of one thread, where it is known that it was there. Of several, the part of what would be theirs if they all were.
  #drawOff({ known, begin, inKnown }, at, lane, left, wide, top, room, colour) {
    const threads = this.#threadsOf(lane);
    const { part } = this.timeline.offProcessor(known, inKnown, threads);
    if (!part) return;
    const [first, end] = this.#slicesOf(at);
    const ofBar = (slices) => (slices / (end - first)) * wide;
    this.context.fillStyle = colour;
    if (threads > 1) this.context.fillRect(left, top, wide, (room * part * known) / (end - first) / threads);
    else this.context.fillRect(Math.round(left + ofBar(begin - first)), top, Math.round(ofBar(known)), room * part);
  }

  #drawAxis(width, top, ink) {
    const { context, timeline, span: [from, to] } = this;
    const begin = from * timeline.slice, length = (to - from) * timeline.slice;
    let step = 10 ** Math.floor(Math.log10(length / Math.max(width / 90, 1)));
    step *= [1, 2, 5, 10].find((n) => (length / (n * step)) * 90 <= width) ?? 10;
    context.fillStyle = ink;
    for (let n = Math.ceil(begin / step - 1e-9); n * step <= begin + length; ++n) {
      const x = ((n * step - begin) / length) * width;
      context.fillRect(x, top, 1, 5);
      if (x + 50 < width) context.fillText(momentText(n * step, step), x + 3, top + 4);
    }
  }

  #placeOf(slice, width) {
    const [from, to] = this.span;
    return Math.min(Math.max(((slice - from) / (to - from)) * width, 0), width);
  }
  #sliceAt(x) {
    const [from, to] = this.span;
    return Math.min(Math.max(from + (x / this.canvas.clientWidth) * (to - from), from), to);
  }
  #draggedRange() {
    const [a, b] = this.dragged.map((x) => this.#sliceAt(x)).sort((x, y) => x - y);
    return [Math.floor(a), Math.max(Math.ceil(b), Math.floor(a) + 1)];
  }

  #begin(event) {
    if (event.button !== 0) return;
    this.dragged = [event.offsetX, event.offsetX];
    this.canvas.setPointerCapture(event.pointerId);
  }
  #move({ offsetX, offsetY }) {
    if (!this.dragged) return this.#describe(offsetX, offsetY);
    this.dragged[1] = offsetX;
    this.draw();
    this.events.tell(rangeText(this.timeline, this.#draggedRange()));
  }
  // What did not move chooses nothing, so it goes back to the whole run.
  #end() {
    if (!this.dragged) return;
    const isClick = Math.abs(this.dragged[1] - this.dragged[0]) < 3;
    const range = this.#draggedRange();
    this.dragged = null;
    this.events.choose(isClick ? '' : range.join('-'));
    this.draw();
  }
  #drop() {
    this.dragged = null;
    this.draw();
  }

  #describe(x, y) {
    const { columns } = this;
    const lane = Math.floor(y / laneHeight);
    const bar = this.bars?.[lane]?.[Math.floor((x / this.canvas.clientWidth) * columns)];
    const when = momentText(Math.floor(this.#sliceAt(x)) * this.timeline.slice, this.timeline.slice);
    if (!this.bars?.[lane]) return this.events.tell(when);
    if (!bar) return this.events.tell(`${when}, ${this.#laneName(lane)}: no samples${this.#whyNone(lane, Math.floor(this.#sliceAt(x)))}`);
    const off = this.timeline.offProcessor(bar.known, bar.inKnown, this.#threadsOf(lane));
    const notOn = bar.known ? `${this.timeline.notOn} ${shownTime(off.time, this.timeline.whole.hz)} of ${duration(off.of)}` : '';
    if (!bar.samples) return this.events.tell(`${when}, ${this.#laneName(lane)}: ${notOn}`);
    const most = [...bar.functions].sort((a, b) => b[1] - a[1]).slice(0, 3);
    const share = (n) => Math.round((100 * n) / bar.samples) + ' %';
    const names = most.map(([f, n]) => `${this.timeline.whole.functions.name[f]} ${share(n)}`);
    const busy = Math.round(100 * this.#busy(bar, Math.floor((x / this.canvas.clientWidth) * columns), lane));
    this.events.tell(`${when}, ${this.#laneName(lane)}: ${busy} % on a processor; of that ${names.join(', ')}${notOn && '; ' + notOn}`);
  }

  #whyNone(lane, slice) {
    if (this.#threadsOf(lane) > 1) return '';
    const [begin, end] = this.timeline.known[lane];
    return slice < begin - 1 ? ' yet' : slice > end ? ' any more' : '';
  }

  // Arrows move the range, with Shift its end; the first chooses a tenth of what is in sight.
  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const [begin, end] = this.span;
    if (step) {
      const tenth = Math.max(Math.round((end - begin) / 10), 1);
      const [from, to] = this.range ?? (step > 0 ? [begin, begin + tenth] : [end - tenth, end]);
      let next = [from, to];
      if (this.range && event.shiftKey) next = [from, Math.max(Math.min(to + step * Math.max(Math.round(tenth / 10), 1), end), from + 1)];
      else if (this.range) {
        const moved = Math.min(Math.max(from + step * (to - from), begin), Math.max(end - (to - from), begin));
        next = [moved, Math.min(moved + to - from, end)];
      }
      this.events.choose(next.join('-'));
    } else if (event.key === 'Enter' && this.range) {
      this.events.zoom(this.range.join('-'));
    } else if (event.key === 'Backspace') {
      this.events.zoom('');
    } else if (event.key === 'Escape') {
      this.events.choose('');
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

// Seconds after the beginning of the run, with as many places as `unit` has.
function momentText(seconds, unit) {
  if (seconds === 0) return '0';
  const [name, scale] = seconds < 1 ? ['ms', 1000] : ['s', 1];
  const places = Math.ceil(-Math.log10(unit * scale) - 1e-9);
  return decimal(scale * seconds, Math.min(Math.max(places, 0), 4)) + name;
}
const rangeText = ({ slice, length }, [from, to]) =>
  `${momentText(from * slice, slice)} to ${momentText(Math.min(to * slice, length), slice)} of ${momentText(length, slice)}`;
const threadName = ([name, process, thread]) => (process === thread ? `${name} ${process}` : `${name} ${process}, thread ${thread}`);

// How long threads were not on a processor, of a range: all together, those of each process, and each by itself. '' if
// nothing is known.
const maxWaiting = 12;
function offProcessorText(timeline, [from, to]) {
  const of = timeline.knownOf(from, to).map((sums, i) => ({ ...sums, thread: timeline.threads[i] })).filter(({ known }) => known);
  const text = (name, some) => {
    const sum = (what) => some.reduce((all, one) => all + one[what], 0);
    const off = timeline.offProcessor(sum('known'), sum('samples'), some.length);
    return `${name}: ${shownTime(off.time, timeline.whole.hz)} of ${duration(off.of)}`;
  };
  if (!of.length) return '';
  const processes = new Map();
  for (const one of of) processes.set(one.thread[1], [...(processes.get(one.thread[1]) ?? []), one]);
  const said = of.length > 1 ? [text(`all ${of.length} threads together`, of)] : [];
  if (processes.size > 1) {
    for (const [process, some] of processes)
      if (some.length > 1) said.push(text(`${some.length} threads of process ${process}`, some));
  }
  for (const one of of) said.push(text(threadName(one.thread), [one]));
  const more = said.length - maxWaiting;
  if (more > 1) said.splice(maxWaiting, more, `and ${more} more`);
  return `${timeline.notOn[0].toUpperCase()}${timeline.notOn.slice(1)}, from the first sample of a thread to its last: ${said.join('; ')}.`;
}
