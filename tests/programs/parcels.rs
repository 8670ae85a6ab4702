// Rust: traits and generics, closures, collections and strings, threads with channels, and panics: caught, out of threads,
// running the destructors on their way. Counts the calls of its functions itself.
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

macro_rules! counters {
    ($($counter:ident $name:literal)*) => {
        $(static $counter: AtomicU64 = AtomicU64::new(0);)*
        fn print_calls() {
            $(println!("calls {} {}", $name, $counter.load(Relaxed));)*
        }
    };
}
counters! {
    WEIGH "parcels::weigh"
    PACK "parcels::pack"
    LARGEST "parcels::largest"
    STEP "parcels::step"
    ATTEMPT "parcels::attempt"
    WORK "parcels::work"
    RELEASE "parcels::release"
    AREA "<parcels::Square as parcels::Shape>::area"
    ROUND_AREA "<parcels::Circle as parcels::Shape>::area"
}
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

trait Shape {
    fn area(&self) -> f64;
}
struct Square(f64);
struct Circle(f64);
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> f64 {
        count(&AREA);
        self.0 * self.0
    }
}
impl Shape for Circle {
    #[inline(never)]
    fn area(&self) -> f64 {
        count(&ROUND_AREA);
        3.0 * self.0 * self.0
    }
}

#[inline(never)]
fn release(held: &Mutex<Vec<u32>>, number: u32) {
    count(&RELEASE);
    held.lock().unwrap().push(number);
}
// Its destructor notes that it ran.
struct Guard<'a>(&'a Mutex<Vec<u32>>, u32);
impl Drop for Guard<'_> {
    fn drop(&mut self) {
        release(self.0, self.1)
    }
}

#[inline(never)]
fn weigh(n: u32) -> Result<u32, String> {
    count(&WEIGH);
    match n % 7 {
        0 => Err(format!("parcel {} is empty", n)),
        3 => panic!("parcel {} bursts", n),
        5 => panic::panic_any(n),
        rest => Ok(rest * n),
    }
}

#[inline(never)]
fn pack(depth: u32, n: u32, released: &Mutex<Vec<u32>>) -> Result<u32, String> {
    count(&PACK);
    let _guard = Guard(released, depth);
    if depth == 0 {
        return weigh(n);
    }
    let inner = pack(depth - 1, n, released)?;
    Ok(inner + depth)
}

fn describe(cause: Box<dyn Any + Send>) -> String {
    match cause.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => format!("panic with {:?}", other.downcast::<u32>().unwrap()),
    }
}

#[inline(never)]
fn attempt(n: u32, released: &Mutex<Vec<u32>>) -> String {
    count(&ATTEMPT);
    match panic::catch_unwind(panic::AssertUnwindSafe(|| pack(3, n, released))) {
        Ok(Ok(weight)) => format!("parcel {} weighs {}", n, weight),
        Ok(Err(error)) => error,
        Err(cause) => describe(cause),
    }
}

#[inline(never)]
fn largest<T: PartialOrd + Clone + Debug>(all: &[T]) -> T {
    count(&LARGEST);
    match all {
        [only] => only.clone(),
        _ => {
            let (left, right) = all.split_at(all.len() / 2);
            let (a, b) = (largest(left), largest(right));
            if a > b {
                a
            } else {
                b
            }
        }
    }
}

#[inline(never)]
fn step(n: u64) -> u64 {
    count(&STEP);
    if n % 2 == 0 {
        n / 2
    } else {
        3 * n + 1
    }
}

#[inline(never)]
fn work(from: u64, to: u64) -> (u64, u64) {
    count(&WORK);
    if from == 300 {
        panic!("no work from {}", from)
    }
    (from..to)
        .map(|start| {
            let (mut n, mut steps) = (start, 0);
            while n != 1 {
                n = step(n);
                steps += 1;
            }
            (steps, start)
        })
        .max()
        .unwrap()
}

fn main() {
    panic::set_hook(Box::new(|info| eprintln!("caught: {}", info.location().unwrap().file())));

    let released = Mutex::new(Vec::new());
    for n in 1..40 {
        println!("{}", attempt(n, &released));
    }
    println!("released {}", released.lock().unwrap().iter().sum::<u32>());

    let words = "the quick brown fox jumps over the lazy dog and the brown cat";
    let mut lengths: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for word in words.split(' ') {
        lengths.entry(word.len()).or_default().push(word);
        *seen.entry(word).or_insert(0) += 1;
    }
    let mut often: Vec<_> = seen.into_iter().filter(|(_, n)| *n > 1).collect();
    often.sort();
    println!("{:?} {:?}", lengths, often);

    println!("{} {:.1}", largest(&[3, 1, 4, 1, 5, 9, 2, 6]), largest(&[2.5, 1.5]));
    println!("{}", largest(&words.split(' ').map(String::from).collect::<Vec<_>>()));
    let shapes: Vec<Box<dyn Shape>> = (1..20)
        .map(|n| -> Box<dyn Shape> {
            if n % 3 == 0 {
                Box::new(Square(n.into()))
            } else {
                Box::new(Circle(n.into()))
            }
        })
        .collect();
    println!("{}", shapes.iter().map(|shape| shape.area()).sum::<f64>());

    let (send, receive) = mpsc::channel();
    let total = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..8u64)
        .map(|i| {
            let (send, total) = (send.clone(), Arc::clone(&total));
            thread::spawn(move || {
                let best = work(100 * i + 1 - i / 3 % 2, 100 * i + 100);
                *total.lock().unwrap() += best.0;
                send.send(best).unwrap();
            })
        })
        .collect();
    drop(send);
    let mut best: Vec<_> = receive.iter().collect();
    best.sort();
    let failed = threads.into_iter().filter_map(|t| t.join().err()).map(describe_str).collect::<Vec<_>>();
    println!("{:?} {} {:?}", best, total.lock().unwrap(), failed);
    print_calls();
    std::process::exit(if failed.len() == 1 { 3 } else { 0 });
}

fn describe_str(cause: Box<dyn Any + Send>) -> String {
    cause.downcast::<String>().map(|text| *text).unwrap_or_default()
}
