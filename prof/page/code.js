// The source, of one profile or of two, unpacked (prof/page/sources.h says what is in it), and the view of one file of
// it.

class Sources {
  // `hottest`: the heat of the hottest line.
  constructor(content, columns) {
    Object.assign(this, content);
    this.isOfTwo = columns.has('lines.change');
    this.distances = this.isOfTwo ? [] : columns.get('instructions.distance');
    this.functionOf = this.isOfTwo ? [] : columns.get('instructions.function');
    this.places = { file: columns.get('functions.file'), line: columns.get('functions.line') };
    const counts = columns.get('files.lines');
    const steps = columns.get('lines.number');
    const heats = columns.get('lines.heat');
    const made = this.isOfTwo ? new Uint8Array(heats.length) : columns.get('lines.instructions');
    const changes = this.isOfTwo ? columns.get('lines.change') : made;
    this.hottest = 0;
    let at = 0, instruction = 0;
    this.files.forEach((file, f) => {
      file.known = new Map(); // lines by number
      for (let i = 0, number = 0; i < counts[f]; ++i, ++at) {
        number += steps[at];
        file.known.set(number, { cells: file.cells[i], heat: heats[at], change: changes[at], instructions: [instruction, instruction + made[at]] });
        instruction += made[at];
        this.hottest = Math.max(this.hottest, heats[at]);
      }
      // Numbers of the hot lines, the hottest first.
      lazy(file, 'hot', () => {
        const hot = [...file.known].filter(([, { heat }]) => this.heatOf(heat) > 0);
        return hot.sort(([, a], [, b]) => b.heat - a.heat).map(([number]) => number);
      });
    });
  }

  // Where a function begins: { file, line }; null if nothing tells.
  placeOf(func) {
    const file = this.places.file[func] ?? 0;
    return file ? { file: file - 1, line: this.places.line[func] } : null;
  }

  // In words, 0 to 4: how hot a line is beside the hottest of all. Four is at least half of that.
  heatOf(heat) {
    const share = this.hottest ? heat / this.hottest : 0;
    return share >= 0.5 ? 4 : share >= 0.2 ? 3 : share >= 0.05 ? 2 : share >= 0.01 ? 1 : 0;
  }

  // What a line looks like: by how hot it is, or by what changed.
  classOf({ heat, change }) {
    if (this.isOfTwo) return change === 0 ? '' : change === 1 ? 'alike' : change < 6 ? 'more' + (change - 1) : 'less' + (change - 5);
    return this.heatOf(heat) ? 'heat' + this.heatOf(heat) : '';
  }
}

// A file, of which only the lines in sight are in the document, as in Listing. Below the line that is picked are the
// instructions that were made of it.
class CodeView {
  static longestLine = 400; // letters; what is longer is cut off

  // `window_`: what it scrolls in. `nameOf`: of a function, by its number. `pick`: called with the number of a line, or
  // 0 for none.
  constructor(window_, sources, nameOf, pick) {
    this.window = window_;
    this.sources = sources;
    this.nameOf = nameOf;
    this.pickLine = pick;
    this.picked = 0;
    const table = make('table');
    const widths = table.appendChild(make('colgroup'));
    const head = table.appendChild(make('thead')).appendChild(make('tr'));
    this.body = table.appendChild(make('tbody'));
    for (const title of [...sources.titles, 'Line', 'Source']) {
      widths.append(make('col'));
      head.append(Object.assign(make('th', title), { scope: 'col', className: title === 'Source' ? 'code' : '' }));
    }
    this.widths = [...widths.children];
    this.table = table;
    window_.replaceChildren(table);
    window_.onscroll = () => this.draw();
    window_.onkeydown = (event) => this.#key(event);
  }

  show(file) {
    this.file = file;
    // Lines end with a newline each.
    this.text = file.text === null ? [] : file.text.split('\n').slice(0, -1);
    this.numbers = this.text.map((_, i) => i + 1);
    for (const number of file.known.keys()) if (number > this.text.length) this.numbers.push(number);
    let longest = 20;
    for (const line of this.text) longest = Math.max(longest, Math.min(line.length, CodeView.longestLine));
    const cells = [...this.sources.titles].map((title, i) => {
      let width = title.length;
      for (const known of file.known.values()) width = Math.max(width, known.cells[i].length);
      return width;
    });
    const columns = [...cells, Math.max(6, String(this.numbers.at(-1) ?? '').length), longest + 2];
    columns.forEach((width, i) => (this.widths[i].style.width = i < columns.length - 1 ? `calc(${width}ch + 14px)` : ''));
    this.table.style.minWidth = `calc(${columns.reduce((sum, width) => sum + width, 0)}ch + ${14 * columns.length}px)`;
    this.window.scrollTop = this.window.scrollLeft = 0;
    this.picked = 0;
    this.#list();
  }

  // Marks a line, 0: none, and lists what was made of it.
  pick(number) {
    this.picked = number;
    this.#list();
    this.draw();
  }

  // Scrolls to a line, if it is not in sight.
  reveal(number) {
    const at = this.numbers.indexOf(number);
    if (at < 0) return;
    const top = at * lineHeight, room = this.window.clientHeight - 2 * lineHeight;
    if (top < this.window.scrollTop || top > this.window.scrollTop + room)
      this.window.scrollTop = Math.max(0, top - Math.floor(room / 3 / lineHeight) * lineHeight);
    this.draw();
  }

  #list() {
    const [begin, end] = this.file.known.get(this.picked)?.instructions ?? [0, 0];
    this.at = this.numbers.indexOf(this.picked);
    this.begin = begin;
    this.more = end - begin;
  }

  draw() {
    const count = this.numbers.length + this.more;
    const first = Math.min(Math.max(0, Math.floor(this.window.scrollTop / lineHeight) - 5), count);
    const end = Math.min(count, first + Math.ceil(this.window.clientHeight / lineHeight) + 12);
    const rows = [this.#empty(first)];
    for (let i = first; i < end; ++i) {
      const below = i - this.at - 1; // which instruction
      if (this.more && below >= 0 && below < this.more) rows.push(this.#instruction(this.begin + below));
      else rows.push(this.#line(this.numbers[this.more && below >= 0 ? i - this.more : i]));
    }
    rows.push(this.#empty(count - end));
    this.body.replaceChildren(...rows);
  }

  #empty(lines) {
    const row = make('tr');
    row.style.height = lines * lineHeight + 'px';
    row.setAttribute('aria-hidden', 'true');
    return row;
  }

  #row(cells, text) {
    const row = make('tr');
    for (const cell of cells) row.append(make('td', cell));
    const code = row.appendChild(make('td', text));
    code.className = 'code';
    code.dir = 'ltr';
    return row;
  }

  #line(number) {
    const known = this.file.known.get(number);
    const text = this.text[number - 1] ?? '';
    const cells = known ? known.cells : this.sources.titles.map(() => '');
    const row = this.#row([...cells, String(number)], text);
    if (text.length > CodeView.longestLine) row.lastChild.title = text.slice(0, 2000);
    if (known) row.className = this.sources.classOf(known);
    if (number === this.picked) row.setAttribute('aria-selected', 'true');
    row.addEventListener('click', () => this.pickLine(number === this.picked ? 0 : number));
    return row;
  }

  #instruction(i) {
    const { instructions, distances, functionOf } = this.sources;
    const distance = signed(distances[i]);
    const place = this.nameOf(functionOf[i]) + (distance < 0 ? '-0x' : '+0x') + Math.abs(distance).toString(16);
    const row = this.#row([...instructions.cells[i], ''], '    ' + instructions.text[i]);
    row.lastChild.title = place;
    row.className = 'instruction';
    return row;
  }

  #key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey || !this.numbers.length) return;
    const last = this.numbers.length - 1;
    // Without a line picked, from the first one in sight on.
    const at = this.at < 0 ? Math.min(Math.ceil(this.window.scrollTop / lineHeight), last) : Math.min(Math.max(this.at + step, 0), last);
    this.pickLine(this.numbers[at]);
    event.preventDefault();
  }
}
