// D: classes and interfaces, templates, closures, exceptions with finally and scope guards, nested and chained, ranges,
// associative arrays, garbage collection, threads with messages. Counts its own calls.
import core.atomic : atomicOp;
import core.memory : GC;
import core.thread : Thread;
import std.algorithm : filter, map, sort, sum, maxElement;
import std.array : array, split;
import std.concurrency : receiveOnly, send, spawn, thisTid, Tid;
import std.conv : to, ConvException;
import std.range : iota;
import std.stdio : writeln, writefln;
import std.typecons : tuple;

// Functions that are counted have C names.
enum Counted { weigh, pack, attempt, step, area, round_area, release, day, filled }
shared ulong[Counted.max + 1] calls;
void count(Counted c) { atomicOp!"+="(calls[c], 1); }

class Burst : Exception {
  int number;
  this(int n) { super("parcel " ~ n.to!string ~ " bursts"); number = n; }
}

interface Shape { double size(); }
class Square : Shape {
  double side;
  this(double s) { side = s; }
  double size() { return area(side); }
}
class Circle : Shape {
  double radius;
  this(double r) { radius = r; }
  double size() { return round_area(radius); }
}

int released;
struct Guard {
  int number;
  @disable this(this);
  ~this() { if (number >= 0) release(number); }
}

extern (C):
pragma(inline, false) double area(double s) { count(Counted.area); return s * s; }
pragma(inline, false) double round_area(double r) { count(Counted.round_area); return 3 * r * r; }
pragma(inline, false) void release(int n) { count(Counted.release); released += n; }

pragma(inline, false) int weigh(int n) {
  count(Counted.weigh);
  switch (n % 7) {
    case 0: throw new Exception("parcel " ~ n.to!string ~ " is empty");
    case 3: throw new Burst(n);
    case 5: return "x".to!int;
    default: return n % 7 * n;
  }
}
pragma(inline, false) int pack(int depth, int n) {
  count(Counted.pack);
  auto guard = Guard(depth);
  scope (failure) released += 1000;
  scope (success) released += 1;
  if (depth == 0) return weigh(n);
  try {
    return pack(depth - 1, n) + depth;
  } catch (Burst b) {
    if (depth == 2 && n > 20) throw new Exception("wrapped", b);
    throw b;
  } finally {
    released += 10;
  }
}
pragma(inline, false) void attempt(int n) {
  count(Counted.attempt);
  try {
    writeln("parcel ", n, " weighs ", pack(3, n));
  } catch (ConvException e) {
    writeln("no number in parcel ", n);
  } catch (Exception e) {
    writeln(e.msg, e.next ? ": " ~ e.next.msg : "");
  }
}
pragma(inline, false) ulong step(ulong n) {
  count(Counted.step);
  return n % 2 == 0 ? n / 2 : 3 * n + 1;
}
pragma(inline, false) int day(string name) {
  count(Counted.day);
  switch (name) {
    case "monday": return 1;
    case "tuesday": return 2;
    case "wednesday": return 3;
    case "saturday", "sunday": return 6;
    default: return 0;
  }
}
pragma(inline, false) size_t filled(int n) {
  count(Counted.filled);
  auto blocks = new ubyte[][](n);
  foreach (i, ref b; blocks) b = new ubyte[](i * 8 + 1);
  return blocks.map!(b => b.length).sum;
}

extern (D):

T largest(T)(T[] all, bool delegate(T, T) less) {
  if (all.length == 1) return all[0];
  auto left = largest(all[0 .. $ / 2], less), right = largest(all[$ / 2 .. $], less);
  return less(left, right) ? right : left;
}

void work(Tid owner, ulong from, ulong to) {
  ulong most;
  foreach (start; from .. to) {
    ulong steps;
    for (ulong n = start; n != 1; ++steps) n = step(n);
    if (steps > most) most = steps;
  }
  owner.send(from, most);
}

int main() {
  foreach (n; 1 .. 30) attempt(n);
  writeln("released ", released);
  int[string] seen;
  foreach (word; "the quick brown fox jumps over the lazy dog and the brown cat".split) ++seen[word];
  writeln(seen.keys.sort.filter!(w => seen[w] > 1).map!(w => w ~ seen[w].to!string));
  int compared;
  writeln(largest([3, 1, 4, 1, 5, 9, 2, 6], (int a, int b) { ++compared; return a < b; }), " ",
          largest(["b", "abc"], (string a, string b) { ++compared; return a.length < b.length; }), " ", compared);
  Shape[] shapes;
  foreach (i; 1 .. 20) shapes ~= i % 3 ? cast(Shape) new Circle(i) : new Square(i);
  writeln(shapes.map!(s => s.size).sum);
  writeln(["monday", "tuesday", "sunday", "", "wednesday"].map!(d => day(d)));
  foreach (i; 0 .. 5) { writeln(filled(1000 + i)); GC.collect(); }

  foreach (i; 1 .. 6) spawn(&work, thisTid, cast(ulong) i * 100, cast(ulong) i * 100 + 50);
  ulong[ulong] best;
  foreach (i; 1 .. 6) { auto m = receiveOnly!(ulong, ulong); best[m[0]] = m[1]; }
  foreach (k; best.keys.sort) writefln("%d: %d", k, best[k]);
  try {
    auto t = new Thread({ throw new Burst(99); });
    t.start();
    t.join();
  } catch (Burst b) {
    writeln("thread: ", b.msg);
  }
  static foreach (c; __traits(allMembers, Counted)) writeln("calls ", c, " ", calls[__traits(getMember, Counted, c)]);
  return 4;
}
