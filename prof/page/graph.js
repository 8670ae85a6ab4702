// A graph on a canvas: a row for each level, a box for each frame.
//
// What is drawn is found twice over. The layout goes through the frames from the one that is zoomed to, as far as they
// are wider than a pixel, and says where they are; that is done again when the zoom, the graph or the width changes.
// Children are sorted by weight, so it stops at the first that is too narrow: a million contexts cost no more than
// those that are seen. Drawing then takes the rows that are in sight, which may be few of many: the canvas is as high
// as its window, and stands still in it while a tall empty element makes the browser's own scroll bars.
//
// An icicle has the callers at the top, a flame graph at the bottom; nothing else is different.

const rowHeight = 20;

// A hue for each module, and shades of it for its functions, so that neighbours are told apart.
function boxColour(functions, func, isDark, grey = 0) {
  const hue = (28 + 137.5 * functions.module[func]) % 360;
  const shade = (Math.imul(func + 1, 0x9e3779b1) >>> 16) % 16;
  return isDark ? `hsl(${hue + shade - 8} ${42 - 2.5 * grey}% ${24 + shade}%)` : `hsl(${hue + shade - 8} ${72 - 4 * grey}% ${70 + shade}%)`;
}

class GraphView {
  // `events`: pick(frame), a click or a key chose it; show(frame), it is under the pointer or the keyboard.
  constructor(window_, canvas, height, events) {
    this.window = window_;
    this.canvas = canvas;
    this.height = height;
    this.events = events;
    this.context = canvas.getContext('2d');
    this.isFlame = false;
    this.isMeant = null; // by function, what is searched for; null: nothing
    this.changeOf = null; // of a frame, where colours are of what changed (changes.js)
    this.current = null; // the frame that the keyboard is at
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.dark.addEventListener('change', () => this.draw());
    this.fromEnd = 0; // how far below what is seen the last row ends
    window_.addEventListener('scroll', () => {
      this.fromEnd = Math.max(this.#tall - window_.clientHeight - window_.scrollTop, 0);
      this.#drawSoon();
    });
    new ResizeObserver(() => this.layout()).observe(window_);
    canvas.addEventListener('click', (event) => this.#choose(this.#frameAt(event)));
    canvas.addEventListener('pointermove', (event) => this.#hover(this.#frameAt(event)));
    canvas.addEventListener('pointerleave', () => this.#hover(null));
    canvas.addEventListener('keydown', (event) => this.#key(event));
  }

  // `nameOf`: of a frame.
  show(graph, zoom, nameOf) {
    this.graph = graph;
    this.nameOf = nameOf;
    this.zoomTo(zoom);
  }

  zoomTo(frame) {
    this.zoom = frame;
    this.current = frame;
    this.hovered = null;
    this.fromEnd = 0;
    this.layout();
    this.#reveal(frame);
    this.events.show(frame);
  }

  // Where everything is: rows of boxes from left to right, { frame, left, width }.
  layout() {
    if (!this.graph) return;
    const width = this.window.clientWidth;
    this.rows = [];
    for (let frame = this.zoom; frame; frame = frame.parent) this.rows.push([{ frame, left: 0, width }]);
    this.rows.reverse();
    this.above = this.rows.length - 1; // rows of callers of what is zoomed to
    for (let row = this.rows[this.above]; row.length;) {
      const next = [];
      for (const box of row) {
        const children = this.graph.childrenOf(box.frame);
        // Of a damaged profile they may weigh more than what they are below.
        let sum = 0;
        for (const child of children) sum += child.weight;
        const scale = box.width / Math.max(box.frame.weight, sum);
        let left = box.left;
        for (const frame of children) {
          const childWidth = frame.weight * scale;
          if (childWidth < 1) break;
          next.push({ frame, left, width: childWidth });
          left += childWidth;
        }
      }
      if (next.length) this.rows.push(next);
      row = next;
    }
    // A window that grows or shrinks stays at the same end.
    const fromEnd = this.fromEnd;
    this.height.style.height = Math.max(0, this.rows.length * rowHeight - this.window.clientHeight) + 'px';
    this.draw();
    if (this.isFlame) this.window.scrollTop = this.#tall - this.window.clientHeight - fromEnd;
  }

  get #tall() {
    return Math.max(this.rows.length * rowHeight, this.window.clientHeight);
  }
  // Where the row begins, in the canvas.
  #top(row) {
    const down = this.isFlame ? this.#tall - (row + 1) * rowHeight : row * rowHeight;
    return down - this.window.scrollTop;
  }
  #rowAt(y) {
    const down = y + this.window.scrollTop;
    return Math.floor((this.isFlame ? this.#tall - down : down) / rowHeight);
  }

  #drawSoon() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.draw();
    });
  }

  draw() {
    if (!this.rows) return;
    const { context, canvas } = this;
    const width = this.window.clientWidth, height = this.window.clientHeight;
    const scale = devicePixelRatio;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = height + 'px';
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
    context.textBaseline = 'middle';
    context.direction = 'ltr';
    this.letter = context.measureText('m').width;
    const ends = [this.#rowAt(0), this.#rowAt(height - 1)].sort((a, b) => a - b);
    for (let row = Math.max(ends[0], 0); row <= Math.min(ends[1], this.rows.length - 1); ++row)
      for (const box of this.rows[row]) this.#drawBox(box, this.#top(row), row < this.above);
  }

  #drawBox({ frame, left, width }, top, isAbove) {
    const { context } = this;
    const isMatch = Boolean(this.isMeant?.[frame.function]);
    const colours = this.#colours(frame, isMatch);
    const boxWidth = width > 3 ? width - 1 : width;
    const isFaded = this.changeOf && this.isMeant && !isMatch;
    context.globalAlpha = isAbove ? 0.55 : isFaded ? 0.4 : 1;
    context.fillStyle = colours.box;
    context.fillRect(left, top, boxWidth, rowHeight - 1);
    if (frame === this.current || frame === this.hovered) {
      context.strokeStyle = colours.edge;
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 1, Math.max(boxWidth - 2, 0), rowHeight - 3);
    }
    const letters = Math.floor((boxWidth - 8) / this.letter);
    if (letters < 3) return;
    const name = this.nameOf(frame);
    const characters = name.length > letters ? [...name].slice(0, letters - 1).join('') + '\u2026' : name;
    context.fillStyle = colours.text;
    context.fillText(characters, left + 4, top + rowHeight / 2, boxWidth - 8);
  }

  #colours(frame, isMatch) {
    const isDark = this.dark.matches;
    const edge = isDark ? '#fff' : '#000';
    if (this.changeOf) return { box: colourOf(this.changeOf(frame), isDark), text: isDark ? '#f0f0f0' : '#1c1c1c', edge };
    if (isMatch) return { box: isDark ? '#b83280' : '#b0246f', text: '#fff', edge };
    const text = isDark ? '#f0f0f0' : '#1c1c1c';
    if (frame.function < 0) return { box: isDark ? '#3a3f45' : '#dde1e6', text, edge };
    const grey = this.isMeant ? 12 : 0; // so that what is found stands out
    return { box: boxColour(this.graph.profile.functions, frame.function, isDark, grey), text, edge };
  }

  #frameAt({ offsetX, offsetY }) {
    const row = this.rows?.[this.#rowAt(offsetY)];
    return row?.find(({ left, width }) => left <= offsetX && offsetX < left + width)?.frame ?? null;
  }

  #hover(frame) {
    if (frame === this.hovered) return;
    this.hovered = frame;
    this.canvas.style.cursor = frame ? 'pointer' : '';
    this.events.show(frame ?? this.current);
    this.#drawSoon();
  }

  #choose(frame) {
    if (frame) this.events.pick(frame);
  }

  #moveTo(frame) {
    if (!frame) return;
    this.current = frame;
    this.hovered = null;
    this.#reveal(frame);
    this.events.show(frame);
    this.draw();
  }

  // Scrolls so that a frame is seen, and those next to it.
  #reveal(frame) {
    let row = 0;
    for (let at = frame; at.parent; at = at.parent) ++row;
    const top = this.#top(row), height = this.window.clientHeight;
    if (top < rowHeight) this.window.scrollTop += top - rowHeight;
    if (top + 2 * rowHeight > height) this.window.scrollTop += top + 2 * rowHeight - height;
  }

  // Of the frames that are drawn; what lies further out than the zoom is its parent.
  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const inwards = this.isFlame ? 'ArrowUp' : 'ArrowDown', outwards = this.isFlame ? 'ArrowDown' : 'ArrowUp';
    const frame = this.current;
    const isDrawn = (one) => this.rows.some((row) => row.some((box) => box.frame === one));
    if (event.key === inwards) {
      const [child] = this.graph.childrenOf(frame);
      if (child && isDrawn(child)) this.#moveTo(child);
    } else if (event.key === outwards) {
      this.#moveTo(frame.parent);
    } else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      const row = this.rows.find((one) => one.some((box) => box.frame === frame)) ?? [];
      const at = row.findIndex((box) => box.frame === frame);
      this.#moveTo(row[at + (event.key === 'ArrowLeft' ? -1 : 1)]?.frame);
    } else if (event.key === 'Enter') {
      this.#choose(frame);
    } else if (event.key === 'Backspace') {
      this.#choose(this.zoom.parent);
    } else {
      return;
    }
    event.preventDefault();
  }
}
