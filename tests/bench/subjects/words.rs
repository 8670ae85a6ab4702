// words.rs ROUNDS: what Rust programs do: hash maps, strings, sorting, boxed trait objects, an ordered map.
use std::collections::{BTreeMap, HashMap};

trait Rule {
    fn applies(&self, word: &str) -> bool;
}
struct Longer(usize);
struct Ends(char);
impl Rule for Longer {
    fn applies(&self, word: &str) -> bool {
        word.len() > self.0
    }
}
impl Rule for Ends {
    fn applies(&self, word: &str) -> bool {
        word.ends_with(self.0)
    }
}

fn text(seed: &mut u64, words: usize) -> String {
    let mut text = String::new();
    for _ in 0..words {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        text.push_str(&format!("w{} ", (*seed >> 33) % 5000));
    }
    text
}

fn count(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn by_count(counts: &HashMap<&str, usize>) -> BTreeMap<usize, Vec<String>> {
    let mut words: Vec<_> = counts.iter().collect();
    words.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let mut all: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (word, count) in words {
        all.entry(*count).or_default().push(word.to_string());
    }
    all
}

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("words ROUNDS");
    let rules: Vec<Box<dyn Rule>> = vec![Box::new(Longer(3)), Box::new(Ends('7')), Box::new(Ends('3'))];
    let (mut seed, mut sum) = (1, 0);
    for _ in 0..rounds {
        let text = text(&mut seed, 100_000);
        let all = by_count(&count(&text));
        sum += all.values().flatten().filter(|word| rules.iter().all(|rule| rule.applies(word))).count();
        sum += all.keys().sum::<usize>();
    }
    println!("{sum}");
}
