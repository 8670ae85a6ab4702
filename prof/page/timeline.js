// When time was spent, and the profile of a part of the run.
//
// Samples come in slices of the run (prof/page/timeline.h). Of some slices one after the other there is a profile as of the whole
// run: what each node has of its samples in these slices, it has of its time, and of what is not known of it. Only calls have
// no time. The rest of the page shows it as it shows the whole.

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
      // What counters make uncertain is moved between callers and callees for the most part, as SampleValue::in_total has it.
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

// Lanes, one for each thread, on a canvas. A bar is as high as the part of the time that the thread had a processor, and has the
// colour of the function that took most of it. What is dragged over, or moved to by keys, is the range.

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

  // What is drawn of each lane, from left to right: how many samples, and the function with most of them.
  #bars(columns) {
    const { timeline, span: [from, to] } = this;
    const { whole, first, slices, threadOf, nodes, samples, threads } = timeline;
    const lanes = Array.from({ length: Math.min(threads.length, maxLanes) }, () => []);
    for (let i = first[from]; i < first[to]; ++i) {
      const lane = lanes[Math.min(threadOf[i], maxLanes - 1)];
      const at = Math.floor(((slices[i] - from) * columns) / (to - from));
      const bar = (lane[at] ??= { samples: 0, functions: new Map() });
      const func = whole.functionOf[nodes[i]];
      bar.samples += samples[i];
      bar.functions.set(func, (bar.functions.get(func) ?? 0) + samples[i]);
    }
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
    const ink = isDark ? '#a3a8ae' : '#5c6066', line = isDark ? '#3a3f45' : '#d0d4d9';
    this.bars.forEach((bars, lane) => {
      const top = lane * laneHeight, room = laneHeight - labelHeight - 3;
      bars.forEach((bar, at) => {
        const [func] = [...bar.functions].reduce((most, one) => (one[1] > most[1] ? one : most));
        const tall = Math.max(this.#busy(bar, columns, lane) * room, 1);
        context.fillStyle = boxColour(timeline.whole.functions, func, isDark);
        context.fillRect((at * width) / columns, top + laneHeight - 2 - tall, Math.max(width / columns, 1), tall);
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
    const { threads } = this.timeline;
    if (lane === maxLanes - 1 && threads.length > maxLanes) return threads.length - lane + ' more threads';
    const [name, process, thread] = threads[lane];
    return process === thread ? `${name} ${process}` : `${name} ${process}, thread ${thread}`;
  }

  // The part of its time that a bar stands for.
  #busy({ samples }, columns, lane) {
    const { timeline, span: [from, to] } = this;
    const seconds = ((to - from) * timeline.slice) / columns;
    const threads = lane === maxLanes - 1 ? timeline.threads.length - lane : 1;
    return Math.min((samples * timeline.sample) / timeline.whole.hz / seconds / threads, 1);
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
    if (!bar) return this.events.tell(`${when}, ${this.#laneName(lane)}: no samples`);
    const most = [...bar.functions].sort((a, b) => b[1] - a[1]).slice(0, 3);
    const share = (n) => Math.round((100 * n) / bar.samples) + ' %';
    const names = most.map(([f, n]) => `${this.timeline.whole.functions.name[f]} ${share(n)}`);
    const busy = Math.round(100 * this.#busy(bar, columns, lane));
    this.events.tell(`${when}, ${this.#laneName(lane)}: ${busy} % on a processor; of that ${names.join(', ')}`);
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
