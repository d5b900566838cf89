//! A small cache of recent results.

use std::sync::{Arc, Mutex};

const MOST: usize = 16;

/// A cache of the latest results. It never blocks: a thread that finds the lock taken treats that as a miss.
#[derive(Debug)]
pub struct Latest<Key, Made>(Mutex<Vec<(Key, Arc<Made>)>>);

impl<Key, Made> Latest<Key, Made> {
    /// The result whose key satisfies `is_same`.
    pub fn find(&self, is_same: impl Fn(&Key) -> bool) -> Option<Arc<Made>> {
        let kept = self.0.try_lock().ok()?;
        kept.iter().find(|(key, _)| is_same(key)).map(|(_, made)| Arc::clone(made))
    }

    /// Adds a result; evicts the oldest if the cache is full.
    pub fn keep(&self, key: Key, made: Made) -> Arc<Made> {
        let made = Arc::new(made);
        if let Ok(mut kept) = self.0.try_lock() {
            if kept.len() == MOST {
                kept.remove(0);
            }
            kept.push((key, Arc::clone(&made)));
        }
        made
    }
}

impl<Key, Made> Default for Latest<Key, Made> {
    fn default() -> Latest<Key, Made> {
        Latest(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_way() {
        let latest = Latest::default();
        for number in 0..=MOST {
            latest.keep(number, number);
        }
        let find = |number: usize| latest.find(|key| *key == number);
        assert!(find(0).is_none());
        assert!((1..=MOST).all(|number| find(number).as_deref() == Some(&number)));
    }

    #[test]
    fn nobody_waits() {
        let latest = Latest::default();
        latest.keep(1, 1);
        let _in_use = latest.0.lock();
        assert!(latest.find(|_| true).is_none());
        assert_eq!(*latest.keep(2, 2), 2);
    }
}
