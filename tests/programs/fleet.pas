{ Pascal: classes with virtual methods, interfaces and constructors, generics, exceptions with finally, sets, strings, nested
  procedures, case statements, range checks, threads. Counts its own calls. }
program fleet;
{$mode objfpc}{$H+}{$R+}
uses {$ifdef unix} cthreads, {$endif} classes, sysutils;

type
  TCounted = (cWeigh, cPack, cAttempt, cStep, cKind, cSquare, cCircle, cRelease, cInner);
var
  calls: array[TCounted] of longint;
const
  symbols: array[TCounted] of string = ('P$FLEET_$$_WEIGH$LONGINT$$LONGINT', 'P$FLEET_$$_PACK$LONGINT$LONGINT$$LONGINT',
    'P$FLEET_$$_ATTEMPT$LONGINT', 'P$FLEET_$$_STEP$INT64$$INT64', 'P$FLEET_$$_KIND$LONGINT$$ANSISTRING',
    'P$FLEET$_$TSQUARE_$__$$_AREA$$DOUBLE', 'P$FLEET$_$TCIRCLE_$__$$_AREA$$DOUBLE', 'P$FLEET_$$_RELEASE$LONGINT',
    'P$FLEET$_$KIND$LONGINT$$ANSISTRING_$$_INNER$LONGINT$$ANSISTRING');

procedure count(what: TCounted);
begin
  InterlockedIncrement(calls[what]);
end;

type
  EEmpty = class(Exception);
  EBurst = class(Exception)
    number: integer;
    constructor create(n: integer);
  end;
  TShape = class
    size: double;
    constructor create(s: double);
    function area: double; virtual; abstract;
  end;
  TSquare = class(TShape)
    function area: double; override;
  end;
  TCircle = class(TShape)
    function area: double; override;
  end;
  generic TStack<T> = class
    items: array of T;
    procedure push(item: T);
    function pop: T;
  end;
  TNumbers = specialize TStack<integer>;
  TWords = specialize TStack<string>;
  TWorker = class(TThread)
    low, high, most: int64;
    procedure execute; override;
  end;

var
  released: integer;

constructor EBurst.create(n: integer);
begin
  inherited createFmt('parcel %d bursts', [n]);
  number := n;
end;

constructor TShape.create(s: double);
begin
  size := s;
end;
function TSquare.area: double;
begin
  count(cSquare);
  result := size * size;
end;
function TCircle.area: double;
begin
  count(cCircle);
  result := 3 * size * size;
end;

procedure TStack.push(item: T);
begin
  setLength(items, length(items) + 1);
  items[high(items)] := item;
end;
function TStack.pop: T;
begin
  result := items[high(items)];
  setLength(items, length(items) - 1);
end;

procedure release(n: integer);
begin
  count(cRelease);
  released := released + n;
end;

function weigh(n: integer): integer;
var
  small: 0..100;
begin
  count(cWeigh);
  case n mod 7 of
    0: raise EEmpty.createFmt('parcel %d is empty', [n]);
    3: raise EBurst.create(n);
    5: small := n * 50;
  else
    small := n;
  end;
  result := small;
end;

function pack(depth, n: integer): integer;
begin
  count(cPack);
  try
    if depth = 0 then
      result := weigh(n)
    else
      try
        result := pack(depth - 1, n) + depth;
      except
        on e: EBurst do
          if depth = 2 then
            raise EEmpty.create('wrapped: ' + e.message)
          else
            raise;
      end;
  finally
    release(depth);
  end;
end;

procedure attempt(n: integer);
begin
  count(cAttempt);
  try
    writeln('parcel ', n, ' weighs ', pack(3, n));
  except
    on e: EEmpty do writeln(e.message);
    on e: ERangeError do writeln('parcel ', n, ': ', e.className);
  end;
end;

function step(n: int64): int64;
begin
  count(cStep);
  if odd(n) then result := 3 * n + 1 else result := n div 2;
end;

function kind(n: integer): string;
  function inner(m: integer): string;
  begin
    count(cInner);
    result := format('%d of %d', [m, n]);
  end;
begin
  count(cKind);
  case n of
    1: result := 'one';
    2: result := 'two';
    3, 5, 7: result := 'prime';
    4: result := 'square';
    6: result := inner(n * 2);
    8..10: result := 'large';
  else
    result := 'other';
  end;
end;

procedure TWorker.execute;
var
  first, n, steps: int64;
begin
  first := low;
  while first <= high do
  begin
    n := first;
    steps := 0;
    while n <> 1 do
    begin
      n := step(n);
      inc(steps);
    end;
    if steps > most then most := steps;
    inc(first);
  end;
  if low = 300 then raise EEmpty.create('no work');
end;

var
  i: integer;
  letter: char;
  vowels: set of char = ['a', 'e', 'i', 'o', 'u'];
  line: string;
  numbers: TNumbers;
  words: TWords;
  shape: TShape;
  total: double;
  workers: array[1..5] of TWorker;
begin
  for i := 1 to 30 do attempt(i);
  writeln('released ', released);
  numbers := TNumbers.create;
  words := TWords.create;
  while not eof do
  begin
    readln(line);
    words.push(uppercase(line));
    i := 0;
    for letter in line do if letter in vowels then inc(i);
    numbers.push(i);
  end;
  while length(words.items) > 0 do writeln(words.pop, ' ', numbers.pop);
  total := 0;
  for i := 1 to 20 do
  begin
    if i mod 3 = 0 then shape := TSquare.create(i) else shape := TCircle.create(i);
    total := total + shape.area;
    shape.free;
  end;
  writeln(total:0:2);
  for i := 0 to 12 do write(kind(i), ' ');
  writeln;
  for i := 1 to 5 do
  begin
    workers[i] := TWorker.create(true);
    workers[i].low := i * 100;
    workers[i].high := i * 100 + 50;
    workers[i].start;
  end;
  for i := 1 to 5 do
  begin
    workers[i].waitFor;
    write(workers[i].most, ' ');
    if workers[i].fatalException <> nil then write((workers[i].fatalException as Exception).message, ' ');
    workers[i].free;
  end;
  writeln;
  for i := 0 to ord(high(TCounted)) do writeln('calls ', symbols[TCounted(i)], ' ', calls[TCounted(i)]);
  halt(8);
end.
