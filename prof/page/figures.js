// Figures as prof prints them: times in the unit that fits, or as a range where they are not known to a tenth; calls;
// and shares. prof/views/text/numbers.cc has the same rules, and the reasons for them. tests/page compares what both
// print.

// A number with so many places. What lies in the middle goes to the even digit, as in C++; toFixed takes the greater.
function decimal(x, places) {
  const text = x.toFixed(places);
  const scaled = x * 10 ** places;
  if (Math.abs(scaled - Math.floor(scaled) - 0.5) > 1e-6) return text;
  const [whole, rest] = x.toFixed(60).split('.');
  if (!/^50*$/.test(rest.slice(places))) return text;
  const down = places ? whole + '.' + rest.slice(0, places) : whole;
  return Number(down[down.length - 1]) % 2 ? text : down;
}

// The end of a range: two digits, rounded away from the other end, and at most three places.
function twoDigits(x, upwards) {
  const magnitude = x > 0 ? Math.floor(Math.log10(x)) : 0;
  const places = Math.trunc(Math.min(Math.max(1 - magnitude, 0), 3));
  const unit = 10 ** Math.max(magnitude - 1, -3);
  const rounded = (upwards ? Math.ceil(x / unit - 1e-9) : Math.floor(x / unit + 1e-9)) * unit;
  const text = decimal(rounded, places);
  return text.includes('.') ? text.replace(/\.?0*$/, '') : text;
}

const units = [['ns', 1e9], ['us', 1e6], ['ms', 1e3], ['s', 1]];
const unitOf = (seconds, limit) => units.find(([, toTheSecond]) => seconds * toTheSecond < limit) ?? units[3];

function duration(seconds) {
  const [unit, toTheSecond] = unitOf(seconds, 999.5);
  const n = seconds * toTheSecond;
  const digits = decimal(n, n < 9.995 ? 2 : n < 99.95 ? 1 : 0);
  return digits === '0.00' ? '0' : digits + unit;
}

function durationRange(low, high) {
  const [unit, toTheSecond] = unitOf(high, 990.000001);
  return twoDigits(low * toTheSecond, false) + '-' + twoDigits(high * toTheSecond, true) + unit;
}

// A time in cycles with what is known of it: { cycles, low, high, variance, doubtful }. The range is without what
// chance adds.
const nothing = () => ({ cycles: 0, low: 0, high: 0, variance: 0, doubtful: false });
function withChance(low, high, variance) {
  const error = 1.96 * Math.sqrt(variance);
  return [Math.max(low - error, 0), Math.max(high + error, 0)];
}
const isVague = (low, high) => high > 2 * low;
const isWide = (low, high, cycles) => high - low > 0.2 * cycles;

// A time, or a part of it. `hz`: cycles in a second.
function shownTime(time, hz, parts = 1) {
  const cycles = time.cycles / parts;
  if (time.doubtful) return '?' + duration(cycles / hz);
  const [low, high] = withChance(time.low, time.high, time.variance).map((end) => end / parts);
  return isWide(low, high, cycles) ? durationRange(low / hz, high / hz) : duration(cycles / hz);
}

// What it is sorted by: a measured time that no one number stands for has the place of the longest that it may be, as
// in prof/views/run/order.cc.
const rankOf = ({ cycles, low, high, variance }) => (isVague(low, high) && variance === 0 ? high : cycles);

const shownCalls = ({ calls, estimated, doubtful }) => (doubtful ? '?' : estimated ? '~' : '') + calls;

// What part of a whole a time is, in percent: with ~ if that is not known to a tenth of itself, - if no number stands
// for it. The least share is that with the least time of its own and the greatest of all others.
function shownShare(own, whole) {
  const ratio = (part, all) => (all > 0 ? part / all : 0);
  const likely = ratio(own.cycles, whole.cycles);
  const [low, high] = withChance(own.low, own.high, own.variance);
  const [othersLow, othersHigh] =
    withChance(whole.low - own.low, whole.high - own.high, Math.max(whole.variance - own.variance, 0));
  const least = ratio(low, low + othersHigh), most = ratio(high, high + othersLow);
  const isVisible = most - least >= 0.0005;
  if (isVague(low, high) && isVisible) return '-';
  return (isWide(least, most, likely) && isVisible ? '~' : '') + decimal(100 * likely, 1) + ' %';
}
