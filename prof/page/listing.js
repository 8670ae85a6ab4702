// A table of which only the rows in sight are in the document, so that it may have a hundred thousand: the rest are two
// empty rows, above and below, as high as what they stand for. It is sorted by a click on a title. The last column is
// the name.

const lineHeight = 24;

class Listing {
  // `window_`: what it scrolls in. `columns`: { title, text(row), number(row) }, without the name; `name`: { text(row),
  // number(row) }. `events`: pick(row), sort(title).
  constructor(window_, columns, name, events) {
    this.window = window_;
    this.columns = [...columns, { title: 'Name', ...name }];
    this.events = events;
    this.all = this.rows = this.shown = [];
    this.sorted = '';
    this.picked = null; // the function of a row
    this.sums = []; // the texts of a last row, if there is one
    this.table = make('table');
    const widths = this.table.appendChild(make('colgroup'));
    this.head = this.table.appendChild(make('thead')).appendChild(make('tr'));
    this.body = this.table.appendChild(make('tbody'));
    this.titles = this.columns.map(({ title }, i) => {
      widths.append(make('col'));
      const cell = this.head.appendChild(make('th'));
      const button = cell.appendChild(make('button', title));
      button.type = 'button';
      button.addEventListener('click', () => events.sort(title));
      cell.scope = 'col';
      if (i === this.columns.length - 1) cell.className = 'name';
      return cell;
    });
    this.widths = [...widths.children];
    window_.replaceChildren(this.table);
    // What the window shows belongs to the last one made for it.
    window_.onscroll = () => this.draw();
    window_.onkeydown = (event) => this.#key(event);
    window_.listing = this;
  }

  fill(rows) {
    this.all = this.rows = this.shown = rows;
    this.columns.forEach(({ title, text }, i) => {
      const last = i === this.columns.length - 1;
      let longest = Math.max(title.length + 2, this.sums[i]?.length ?? 0); // and the arrow
      if (!last) for (const row of rows) longest = Math.max(longest, text(row).length);
      this.widths[i].style.width = last ? '' : `calc(${longest}ch + 14px)`;
    });
  }

  // A last row that stays in sight: a text for each column. To be called before `fill`.
  sum(texts) {
    this.sums = texts;
    const row = this.table.appendChild(make('tfoot')).appendChild(make('tr'));
    row.append(...texts.map((text) => make('td', text)));
    row.lastChild.className = 'name';
  }

  // By a column, the greatest first; names from the first on. What is alike stays as it was filled in.
  sort(title) {
    this.sorted = title;
    const column = this.columns.find((one) => one.title === title) ?? this.columns[0];
    const keys = new Map(this.all.map((row) => [row, column.number(row)]));
    const isText = typeof keys.get(this.all[0]) === 'string';
    const compare = isText
      ? (a, b) => (keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0)
      : (a, b) => keys.get(b) - keys.get(a);
    this.rows = this.all.slice().sort(compare);
    this.columns.forEach(({ title: one }, i) => {
      if (one === column.title) this.titles[i].setAttribute('aria-sort', isText ? 'ascending' : 'descending');
      else this.titles[i].removeAttribute('aria-sort');
    });
  }

  // Only the rows that `isShown`.
  filter(isShown) {
    this.shown = this.rows.filter(isShown);
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.window.scrollTop / lineHeight) - 5);
    const end = Math.min(this.shown.length, first + Math.ceil(this.window.clientHeight / lineHeight) + 12);
    const lines = [this.#empty(first)];
    for (let i = first; i < end; ++i) lines.push(this.#line(this.shown[i]));
    lines.push(this.#empty(this.shown.length - end));
    this.body.replaceChildren(...lines);
  }

  // Shows the row of a function as picked, and scrolls to it.
  pick(func) {
    this.picked = func;
    const at = this.shown.findIndex((row) => row.function === func);
    if (at >= 0) {
      const top = at * lineHeight, room = this.window.clientHeight - (this.sums.length ? 3 : 2) * lineHeight;
      if (top < this.window.scrollTop) this.window.scrollTop = top;
      if (top > this.window.scrollTop + room) this.window.scrollTop = top - room;
    }
    this.draw();
  }

  #empty(lines) {
    const line = make('tr');
    line.style.height = lines * lineHeight + 'px';
    line.setAttribute('aria-hidden', 'true');
    return line;
  }

  #line(row) {
    const line = make('tr');
    this.columns.forEach(({ text }, i) => {
      const cell = line.appendChild(make('td', text(row)));
      if (i < this.columns.length - 1) return;
      cell.className = 'name';
      cell.dir = 'ltr';
      cell.title = text(row);
    });
    if (row.function === this.picked) line.setAttribute('aria-selected', 'true');
    line.addEventListener('click', () => this.events.pick(row));
    return line;
  }

  #key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey || !this.shown.length) return;
    const at = this.shown.findIndex((row) => row.function === this.picked);
    const next = this.shown[Math.min(Math.max(at + step, 0), this.shown.length - 1)];
    this.events.pick(next);
    event.preventDefault();
  }
}

function make(name, text = '') {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}
