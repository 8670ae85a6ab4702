// The page: what is shown, and how that changes.
//
// All that one can choose is in `state`, and the fragment of the address is made of it: so a view can be sent as a
// link, and the browser goes back through what was looked at. Whatever changes goes through `change`, which writes the
// address and shows again what depends on it. Names and all other texts of a profile are set as text, never as HTML.
//
// How long things take is written down with performance.measure: opening, searching, showing a graph.

const defaults = {
  part: 0, // of the profiles in the page
  by: '', // what widths are of; '': the main measure
  form: 'icicle', // or flame
  inverted: false, // callers
  focus: '', // a function by its number, whose contexts only are in the graph
  zoom: '', // functions by their numbers, with dots between: what the graph is zoomed to
  function: '', // whose callers and callees are shown
  search: '',
  sort: '',
  range: '', // slices of the timeline whose figures are shown, as 12-40; '': the whole run
  span: '', // those that the timeline is zoomed to
  file: '', // of the source, by its number; '': the hottest
  line: '',
};
const state = { ...defaults };
const element = (id) => document.getElementById(id);
const templates = document.querySelectorAll('template.profile');
const sourceTemplate = document.querySelector('template.source');

let profile, graph, view, table, lists = [];
let whole, unpacked, timeline, timelineView; // the profile of the whole run, what it was made of, and when it was, if that is known
let sources, files, code; // null until the source is unpacked
let isMeant = null; // by function, what is searched for

// The address.

function fragment() {
  const words = Object.keys(defaults)
    .filter((key) => state[key] !== defaults[key])
    .map((key) => key + '=' + encodeURIComponent(state[key]));
  return '#' + words.join('&');
}

// What somebody wrote there may be anything: what is not of this profile is left out.
function readFragment() {
  Object.assign(state, defaults);
  for (const word of location.hash.slice(1).split('&')) {
    const [key, text = ''] = word.split('=', 2);
    if (!(key in defaults)) continue;
    let value;
    try {
      value = decodeURIComponent(text);
    } catch {
      continue; // no UTF-8
    }
    const kind = typeof defaults[key];
    state[key] = kind === 'number' ? Number(value) : kind === 'boolean' ? value === 'true' : value;
  }
  if (!templates[state.part]) state.part = 0;
  if (state.form !== 'flame') state.form = 'icicle';
}

function checkState() {
  if (!whole.measures.includes(state.by)) state.by = '';
  for (const key of ['range', 'span']) if (!timeline?.read(state[key])) state[key] = '';
  for (const key of ['focus', 'function']) if (!isFunction(state[key])) state[key] = '';
  if (sources && !sources.files[numberOf(state.file)]) state.file = '';
  if (!/^\d{1,9}$/.test(state.line)) state.line = '';
  if (state.sort !== 'Name' && !whole.table.titles.includes(state.sort)) state.sort = '';
}
const isFunction = (text) => /^\d+$/.test(text) && Number(text) < profile.functions.name.length;
const numberOf = (text) => (text === '' ? -1 : Number(text));
const measure = () => (profile.measures.includes(state.by) ? state.by : profile.measures[0]);

// `isStep`: one that the browser should go back over. Others come with each key, and browsers do not take as many
// addresses.
let addressTimer;
function change(changes, isStep = true) {
  Object.assign(state, changes);
  clearTimeout(addressTimer);
  if (isStep) history.pushState(null, '', fragment());
  else addressTimer = setTimeout(() => history.replaceState(null, '', fragment()), 100);
  show();
}

// The timeline, and the part of the run that was chosen there.

let shownRange;

function showTimeline() {
  element('time').hidden = element('reading-time').hidden = !timeline;
  if (timeline) {
    timelineView.show(timeline, timeline.read(state.range), timeline.read(state.span));
    element('zoom-range').disabled = !state.range || state.range === state.span;
    element('zoom-out').disabled = !state.span;
    element('no-range').disabled = !state.range;
    tellMoment('');
  }
  const range = timeline?.read(state.range);
  element('ranged').hidden = !range;
  const off = timeline ? offProcessorText(timeline, range ?? [0, timeline.count]) : '';
  element('off-processor').textContent = off;
  element('off-processor').hidden = !off;
  if (shownRange === state.range) return;
  shownRange = state.range;
  profile = range ? timeline.profileOf(...unpacked, ...range) : whole;
  const samples = range ? profile.samples + (profile.samples === 1 ? ' sample' : ' samples') : '';
  if (range) element('ranged').textContent = `Only from ${rangeText(timeline, range)}: ${samples}.`;
  shownGraph = '';
  shownFunction = searched = undefined;
  makeMeasures();
  makeTable();
}

function tellMoment(text) {
  const range = timeline.read(state.range);
  element('moment').textContent = text || (range ? rangeText(timeline, range) : 'Drag over a part of the run for its figures.');
}

// The graph.

const isOfTime = () => profile.measures[0] !== 'calls';
const nameOf = (frame) => (frame.function < 0 ? profile.program : profile.functions.name[frame.function]);

let shownGraph = ''; // which one `graph` is

function showGraph() {
  const focus = numberOf(state.focus);
  const key = [measure(), state.inverted, focus].join();
  if (key !== shownGraph) {
    if (state.inverted) graph = new CallersTree(profile, measure(), focus);
    else graph = focus < 0 ? new ContextTree(profile, measure()) : new MergedTree(profile, measure(), focus);
    shownGraph = key;
    view.graph = null;
  }
  view.isFlame = state.form === 'flame';
  view.isMeant = isMeant;
  const zoom = graph.find(state.zoom.split('.').filter(isFunction).map(Number));
  const isNew = view.graph !== graph || view.zoom !== zoom || view.shownForm !== state.form;
  view.shownForm = state.form;
  if (!isNew) return view.draw();
  performance.mark('graph');
  view.changeOf = profile.changes ? changeOf : null;
  view.show(graph, zoom, profile.changes ? nameWithChange : nameOf);
  performance.measure('show a graph', 'graph');
}

// What changed of what the width of a frame is of; of calls, without those of what it called.
const isOfSelf = (func) => state.inverted && state.focus === '' && func >= 0;
function changeOf(frame) {
  const what = measure().startsWith('calls') ? 'calls' : isOfSelf(frame.function) ? 'self' : 'total';
  return (frame.change ??= profile.changes.of(frame.nodes, frame.areApart, what));
}
function nameWithChange(frame) {
  const change = changeOf(frame);
  return (change.isKnown && amountOf(change) ? shownPart(change) + ' ' : '') + nameOf(frame);
}

// Says what is known of a frame, after the graph is drawn: for the first one most columns have to be unpacked.
let frameToShow = null;
function showFrame(frame) {
  if (!frameToShow) setTimeout(describe);
  frameToShow = frame;
}

// Of those in Callers the figures of the function at the beginning of the chain, in the calls that came this way.
function describe() {
  const frame = frameToShow;
  frameToShow = null;
  element('shown-name').textContent = (frame.function < 0 ? 'All of ' : '') + nameOf(frame);
  const begin = beginOf(frame);
  const figures = profile.changes ? changesOf(begin.function, frame) : figuresOfFrame(begin.function, frame);
  const parts = figures.map(([title, text]) => title + ' ' + text);
  if (begin !== frame) parts.push('of ' + nameOf(begin) + ', called this way');
  element('shown-figures').textContent = parts.join(' \u00b7 ');
}

function figuresOfFrame(func, frame) {
  const sum = frame.function < 0 ? profile.whole : profile.sumOf(frame.nodes, frame.areApart);
  // Of a function as a whole the calls may be known, though not how they are spread over its contexts.
  if (func >= 0 && frame.nodes.length === profile.nodesOfFunction(func).length) sum.estimated = Boolean(profile.sums.flags[func] & 2);
  return figuresOf(func, sum, frame.areApart);
}

// Of two profiles.
function changesOf(func, { nodes, areApart }) {
  const { changes } = profile;
  const figures = [];
  if (isOfTime() && !isOfSelf(func)) figures.push(['Total', shownTimes(changes.of(nodes, areApart, 'total'))]);
  if (isOfTime() && func >= 0) figures.push(['Self', shownTimes(changes.of(nodes, areApart, 'self'))]);
  if (func < 0 || profile.countsCalls(func)) figures.push(['Calls', shownCalledOf(changes.of(nodes, areApart, 'calls'))]);
  return figures;
}

// Where a chain of callers begins.
function beginOf(frame) {
  while (state.inverted && frame.parent && frame.parent.function >= 0) frame = frame.parent;
  return frame;
}

// Titles and texts of a sum of nodes of a function; -1: of all. Where widths are of self times, it has no total: of a
// function that calls itself only the outermost calls have that, which is of no use here. `isContext`: of one context,
// which has a total even where that of the function is not known.
function figuresOf(func, sum, isContext) {
  const figures = [];
  const { hz } = profile;
  const share = (time) => shownTime(time, hz) + ' (' + shownShare(time, profile.whole.total) + ')';
  const isKnown = func < 0 || profile.hasTotal(func);
  if (isOfTime()) {
    if (!isOfSelf(func)) figures.push(['Total', isContext || isKnown ? share(sum.total) : '-']);
    if (func >= 0) figures.push(['Self', isOfSelf(func) ? share(sum.self) : shownTime(sum.self, hz)]);
    if (profile.nodes.has.waiting) {
      const cycles = isOfSelf(func) ? sum.selfWaiting : sum.totalWaiting;
      figures.push(['Waiting', shownTime({ ...nothing(), cycles, doubtful: sum.total.doubtful }, hz)]);
    }
    if (profile.processor) figures.push(...figuresOfTwoRuns(isOfSelf(func) ? 'self' : 'total', sum));
  } else if (func < 0) {
    figures.push(['Calls', String(profile.weights.calls.total[0])]);
  }
  if (func < 0 || !profile.countsCalls(func)) return figures;
  figures.push(['Calls', shownCalls(sum)]);
  if (isOfTime() && !isOfSelf(func) && isKnown && sum.calls && !sum.doubtful) figures.push(['Per call', shownTime(sum.total, hz, sum.calls)]);
  return figures;
}

function figuresOfTwoRuns(what, sum) {
  const elapsed = sum[what], processor = sum.processor[what];
  const [low, high] = withChance(elapsed.low, elapsed.high, elapsed.variance);
  const [otherLow, otherHigh] = withChance(processor.low, processor.high, processor.variance);
  const waiting = {
    cycles: Math.max(elapsed.cycles - processor.cycles, 0),
    low: Math.max(low - otherHigh, 0),
    high: Math.max(high - otherLow, 0),
    variance: 0,
    doubtful: elapsed.doubtful || processor.doubtful,
  };
  return [['CPU', shownTime(processor, profile.hz)], ['Waiting', shownTime(waiting, profile.hz)]];
}

// The search.

let searched = '';

function search() {
  if (state.search === searched) return;
  performance.mark('search');
  searched = state.search;
  const wanted = searched.toLowerCase();
  const found = element('found');
  if (!wanted) {
    isMeant = null;
    found.textContent = '';
  } else {
    isMeant = new Uint8Array(profile.functions.name.length);
    let functions = 0;
    profile.lowerNames ??= profile.functions.name.map((name) => name.toLowerCase());
    for (const { function: f } of table.rows) functions += isMeant[f] = profile.lowerNames[f].includes(wanted) ? 1 : 0;
    const nodes = nodesThrough(profile, isMeant);
    found.textContent = (functions === 1 ? '1 function' : functions + ' functions') + ', ' + shareThrough(nodes);
  }
  performance.measure('search', 'search');
}

function shareThrough(nodes) {
  if (profile.changes && isOfTime()) return nodes.length ? shownTimes(profile.changes.ofAll(nodes, 'total')) : 'no time';
  if (isOfTime()) {
    const time = nothing();
    profile.nodes.addTimes(time, 'total', nodes);
    return shownShare(time, profile.whole.total) + ' of the time';
  }
  const { total } = profile.weights.calls;
  let calls = 0;
  for (const node of nodes) calls += total[node];
  return decimal(total[0] ? (100 * calls) / total[0] : 0, 1) + ' % of the calls';
}

// The table, and who called whom.

// What a column of prof's table is sorted by.
function keyOf(title, column) {
  if (profile.changes) {
    const of = profile.changes.keyOf(title);
    return (row) => of(row.function, row.texts[column]);
  }
  const { sums, processor } = profile;
  const of = {
    '%': (f) => (sums.has.times ? sums.self.cycles[f] : sums.calls[f]),
    Self: (f) => rankOf(sums.time('self', f)),
    Elapsed: (f) => rankOf(sums.time('self', f)),
    CPU: (f) => rankOf(processor.sums.time('self', f)),
    Waiting: (f) => (processor ? sums.self.cycles[f] - processor.sums.self.cycles[f] : sums.selfWaiting[f]),
    '+/-': (f) => sums.self.high[f] - sums.self.low[f] + (sums.has.errors ? 3.92 * sums.self.error[f] : 0),
    Total: (f) => rankOf(sums.time('total', f)),
    Calls: (f) => sums.calls[f],
    'Per-call': (f) => (sums.calls[f] ? rankOf(sums.time('total', f)) / sums.calls[f] : 0),
  }[title];
  return (row) => of(row.function);
}

function makeTable() {
  const columns = profile.table.titles.map((title, i) => ({ title, text: (row) => row.texts[i], number: keyOf(title, i) }));
  const name = { text: (row) => profile.functions.name[row.function], number: (row) => profile.functions.name[row.function] };
  table = new Listing(element('table'), columns, name, {
    pick: (row) => change({ function: String(row.function) }, false),
    sort: (title) => change({ sort: title }, false),
  });
  const rows = profile.table.rows.map(([func, ...texts]) => ({ function: func, texts }));
  // What is alike by what it is sorted by stays in the order that prof puts it in.
  const { sums } = profile;
  const alike = [sums.calls];
  if (sums.has.waiting) alike.unshift(sums.selfWaiting);
  if (sums.has.times) alike.unshift(sums.self.cycles);
  const compare = (a, b) => alike.reduce((order, of) => order || of[b.function] - of[a.function], 0);
  if (profile.changes) table.sum([...profile.table.sum, 'all functions']);
  table.fill(profile.changes ? rows : rows.sort(compare));
  shownSort = null;
}

let shownSort, shownSearch;

function showTable() {
  const isSorted = state.sort === 'Name' || profile.table.titles.includes(state.sort);
  const title = (isSorted && state.sort) || profile.table.titles[profile.changes ? 0 : 1] || 'Name';
  if (shownSort !== title || shownSearch !== searched) {
    if (shownSort !== title) table.sort(title);
    table.window.scrollTop = 0;
    table.filter((row) => !isMeant || isMeant[row.function]);
  }
  shownSort = title;
  shownSearch = searched;
  table.pick(numberOf(state.function));
}

let shownFunction;

function showFunction() {
  const func = numberOf(state.function);
  element('focus').disabled = func < 0 && state.focus === '';
  if (func === shownFunction) return;
  shownFunction = func;
  element('neighbours').hidden = func < 0;
  if (func < 0) return;
  const { functions } = profile;
  element('selected-name').textContent = functions.name[func];
  const place = [profile.modules[functions.module[func]]];
  if (functions.address[func] !== '0x0') place.push(functions.address[func]);
  if (functions.raw[func]) place.push(functions.raw[func]);
  element('selected-place').textContent = place.join(' \u00b7 ');
  const { callers, callees } = neighboursOf(profile, func);
  lists = [['callers', callers], ['callees', callees]].map(([id, rows]) => listNeighbours(element(id), rows, func));
}

// Calls and times on the way between two functions.
function listNeighbours(window_, rows, func) {
  // The calls counted are those of whoever was called.
  const called = (row) => (window_.id === 'callers' ? func : row.function);
  const columns = [
    { title: 'Calls', text: (row) => (profile.countsCalls(called(row)) ? shownCalls(row) : '-'), number: (row) => row.calls },
  ];
  if (isOfTime()) {
    columns.unshift({ title: 'Total', text: (row) => shownTime(row.total, profile.hz), number: (row) => rankOf(row.total) });
    columns.unshift({
      title: '%',
      text: (row) => shownShare(row.total, profile.whole.total).replace(' %', ''),
      number: (row) => row.total.cycles,
    });
  }
  if (profile.changes) {
    const number = { text: (row) => (profile.countsCalls(called(row)) ? shownCalledOf(changeOfRow(row, 'calls')) : '-') };
    columns.splice(0, columns.length, { title: 'Calls', ...number, number: (row) => Math.abs(amountOf(changeOfRow(row, 'calls'))) });
    if (isOfTime()) {
      const total = (row) => changeOfRow(row, 'total');
      columns.unshift(
        { title: 'Change', text: (row) => shownAmount(total(row)), number: (row) => Math.abs(amountOf(total(row))) },
        { title: 'Total A', text: (row) => duration(total(row).first), number: (row) => total(row).first },
        { title: 'Total B', text: (row) => duration(total(row).second), number: (row) => total(row).second },
      );
    }
  }
  const nameOfRow = (row) => (row.function < 0 ? '[outside]' : profile.functions.name[row.function]);
  const list = new Listing(window_, columns, { text: nameOfRow, number: nameOfRow }, {
    pick: (row) => row.function >= 0 && change({ function: String(row.function) }),
    sort: (title) => {
      list.sort(title);
      list.filter(() => true);
    },
  });
  list.fill(rows);
  list.filter(() => true);
  window_.scrollTop = 0;
  return list;
}

const changeOfRow = (row, what) => ((row.changes ??= {})[what] ??= profile.changes.of(row.nodes, false, what));

// The source, if it is in the page.

async function openSource() {
  performance.mark('source');
  sources = new Sources(...(await unpack(sourceTemplate.content.textContent)));
  element('no-source').hidden = true;
  element('sources').hidden = false;
  element(sources.isOfTwo ? 'reading-source-two' : 'reading-source').hidden = false;
  if (sources.isOfTwo) element('hot').textContent = 'Next changed line';
  element('source-remarks').replaceChildren(...sources.remarks.map((remark) => make('li', remark)));
  element('source-remarks').hidden = !sources.remarks.length;
  for (const id of ['files', 'file', 'code']) element(id).hidden = !sources.files.length;
  if (!sources.files.length) return;
  makeFiles();
  code = new CodeView(element('code'), sources, (f) => profile.functions.name[f], (line) => change({ line: line ? String(line) : '' }, false));
  checkState();
  showSource();
  performance.measure('open the source', 'source');
}

// Rows of a list are told by a function; of this one that is the number of the file.
function makeFiles() {
  const sum = ({ known }) => [...known.values()].reduce((all, { heat }) => all + heat, 0);
  const rows = sources.files.map((file, f) => ({ function: f, file, heat: sum(file) }));
  const columns = [{ title: 'Lines that ran', text: ({ file }) => file.ran.replace(/ lines? with code ran/, ''), number: ({ file }) => parseInt(file.ran) || 0 }];
  if (rows.some(({ file }) => file.self)) columns.unshift({ title: 'Self', text: ({ file }) => file.self, number: ({ heat }) => heat });
  if (sources.isOfTwo) {
    const changed = ({ file }) => [...file.known.values()].filter(({ change }) => change > 1).length;
    columns.splice(0, columns.length, { title: 'Lines that changed', text: (row) => (row.file.note ? '-' : String(changed(row))), number: changed });
    const self = (side) => ({ title: 'Self ' + 'AB'[side], text: ({ file }) => file.selves[side], number: ({ file }) => secondsOf(file.selves[side]) });
    if (rows.some(({ file }) => file.selves.length)) columns.unshift(self(0), self(1));
  }
  const name = { text: ({ file }) => file.path, number: ({ file }) => file.path };
  files = new Listing(element('files'), columns, name, {
    pick: (row) => change({ file: String(row.function), line: '' }),
    sort: (title) => {
      files.sort(title);
      files.filter(() => true);
    },
  });
  files.fill(rows);
  files.filter(() => true);
}

function showSource() {
  const place = sources && placeToGo();
  element('to-source').hidden = !place;
  if (place) element('to-source').textContent = 'Source: ' + placeName(place);
  if (!sources?.files.length) return;
  const file = sources.files[numberOf(state.file)] ?? sources.files[0];
  const line = Number(state.line);
  const isNew = code.file !== file, isMoved = isNew || code.picked !== line;
  if (isNew) {
    element('file-name').textContent = file.path + (file.ran ? ': ' + file.ran : '');
    const remark = file.cut ? 'The rest of its text is left out: there is too much source for a page.' : file.text === null ? 'Its text was not found.' : '';
    element('file-remark').textContent = [file.note, remark].filter(Boolean).join(' ');
    element('file-remark').hidden = !remark && !file.note;
    element('hot').disabled = !file.hot.length;
    code.show(file);
    files.pick(sources.files.indexOf(file));
  }
  if (!isMoved) return;
  code.pick(line);
  if (line || isNew) code.reveal(line || file.hot[0]);
}

const placeToGo = () => (state.function === '' ? null : sources.placeOf(Number(state.function)));
const placeName = ({ file, line }) => sources.files[file].path.replace(/.*\//, '') + ':' + line;

function goToSource() {
  const { file, line } = placeToGo();
  change({ file: file ? String(file) : '', line: String(line) });
  element('source').scrollIntoView({ block: 'start' });
  element('code').focus({ preventScroll: true });
}

// From one hot line to the next less hot one, and from the last to the first.
function goToHotLine() {
  const { hot } = code.file;
  change({ line: String(hot[(hot.indexOf(Number(state.line)) + 1) % hot.length]) }, false);
}

// The header of the run.

function showRun() {
  document.title = profile.program + ' \u2013 prof';
  element('program').textContent = profile.program;
  const lines = [profile.part, ...profile.header].filter(Boolean);
  const about = [];
  if (profile.begun) about.push('begun ' + new Date(profile.begun / 1e6).toISOString().replace('T', ' ').replace(/\..*/, '') + ' UTC');
  if (profile.clock) about.push('time-stamp counter at ' + decimal(profile.clock / 1e6, 0) + ' MHz');
  element('run').replaceChildren(...[...lines, about.join(', ')].filter(Boolean).map((line) => make('p', line)));
  element('remarks').replaceChildren(...profile.remarks.map((remark) => make('li', remark)));
  element('remarks').hidden = !profile.remarks.length;
  element('reading-two').hidden = !profile.changes;
  element('lists').classList.toggle('two', Boolean(profile.changes));
  element('lists').classList.toggle('few', !isOfTime()); // columns
  element('reading-one').hidden = Boolean(profile.changes);
  if (profile.changes) element('source-command').textContent = 'prof diff --html FILE --with-source';
}

function makeMeasures() {
  const titles = { time: 'Time', elapsed: 'Elapsed', cpu: 'CPU', waiting: 'Waiting', calls: 'Calls', time_a: 'Time A', time_b: 'Time B', calls_a: 'Calls A', calls_b: 'Calls B' };
  const buttons = profile.measures.map((one, i) => {
    const button = make('button', titles[profile.names[i]]);
    button.type = 'button';
    button.dataset.measure = one;
    button.addEventListener('click', () => change({ by: one === profile.measures[0] ? '' : one }));
    return button;
  });
  element('measures').replaceChildren(...buttons);
}

function press(button, isPressed) {
  button.setAttribute('aria-pressed', String(isPressed));
}

function show() {
  showTimeline();
  search();
  press(element('icicle'), state.form === 'icicle');
  press(element('flame'), state.form === 'flame');
  press(element('inverted'), state.inverted);
  press(element('focus'), state.focus !== '');
  for (const button of element('measures').children) press(button, button.dataset.measure === measure());
  const input = element('search');
  if (input.value !== state.search) input.value = state.search;
  element('focused').hidden = state.focus === '';
  if (state.focus !== '') {
    const what = state.inverted ? 'Who called ' : 'Only what goes through ';
    element('focused').textContent = what + profile.functions.name[state.focus];
  }
  showGraph();
  showTable();
  showFunction();
  showSource();
}

// What the reader does.

function pick(frame) {
  const changes = { zoom: graph.pathOf(frame).join('.') };
  if (frame.function >= 0) changes.function = String(frame.function);
  change(changes);
}

// Of the selected function, or back to all.
function focus() {
  if (state.focus === '' && state.function === '') return;
  change({ focus: state.focus === state.function ? '' : state.function, zoom: '' });
}
const invert = () => change({ inverted: !state.inverted, zoom: '' });
const showWhole = () => change({ focus: '', zoom: '' });

function listen() {
  element('icicle').addEventListener('click', () => change({ form: 'icicle' }));
  element('flame').addEventListener('click', () => change({ form: 'flame' }));
  element('inverted').addEventListener('click', invert);
  element('focus').addEventListener('click', focus);
  element('whole').addEventListener('click', showWhole);
  element('zoom-range').addEventListener('click', () => change({ span: state.range }));
  element('zoom-out').addEventListener('click', () => change({ span: '' }));
  element('no-range').addEventListener('click', () => change({ range: '' }));
  element('to-source').addEventListener('click', goToSource);
  element('hot').addEventListener('click', goToHotLine);
  element('search').addEventListener('input', ({ target }) => change({ search: target.value }, false));
  element('part').addEventListener('change', ({ target }) => {
    history.pushState(null, '', target.value === '0' ? '#' : '#part=' + target.value);
    open();
  });
  addEventListener('popstate', open);
  addEventListener('resize', () => [table, ...lists, files, code].forEach((list) => list?.draw()));
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches('input, select')) {
      if (event.key === 'Escape' && event.target === element('search')) element('canvas').focus();
      return;
    }
    const act = { '/': () => element('search').focus(), i: invert, 0: showWhole, Escape: showWhole }[event.key];
    if (event.key === 'f') {
      // Of the frame that the keyboard is at, in the graph.
      if (event.target === view.canvas && view.current.function >= 0) state.function = String(view.current.function);
      focus();
    } else if (act) {
      act();
    } else {
      return;
    }
    event.preventDefault();
  });
}

let opened = -1;

// Shows what the address says; of another part than before after unpacking that.
async function open() {
  clearTimeout(addressTimer);
  readFragment();
  if (state.part !== opened) {
    unpacked = await unpack(templates[state.part].content.textContent);
    profile = whole = new Profile(...unpacked);
    timeline = whole.timeline ? new Timeline(...unpacked, whole) : null;
    shownRange = undefined;
    opened = state.part;
    showRun();
    element('part').value = String(state.part);
  }
  checkState();
  show();
}

async function start() {
  performance.mark('open');
  view = new GraphView(element('graph'), element('canvas'), element('height'), { pick, show: showFrame });
  timelineView = new TimelineView(element('lanes'), element('timeline'), {
    choose: (range) => range === state.range || change({ range }),
    zoom: (span) => span === state.span || change({ span }),
    tell: tellMoment,
  });
  listen();
  if (templates.length > 1) {
    const name = ({ dataset }) => new TextDecoder().decode(Uint8Array.from(atob(dataset.part), (c) => c.charCodeAt(0)));
    element('part').append(...[...templates].map((one, i) => Object.assign(make('option', name(one)), { value: String(i) })));
    element('parts').hidden = false;
  }
  element('views').hidden = false;
  await open();
  element('problem').hidden = true;
  performance.measure('open', 'open');
  if (sourceTemplate) setTimeout(() => openSource().catch(fail)); // after the rest is shown
}

function fail(error) {
  element('problem').textContent = 'This page cannot show its profile: ' + error.message;
  element('problem').hidden = false;
  element('views').hidden = true;
  throw error;
}

queueMicrotask(() => start().catch(fail)); // when the scripts that come after this one have run
