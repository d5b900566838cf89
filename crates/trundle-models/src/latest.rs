//! The latest of what was made, each with what it was made for.

use std::sync::{Arc, Mutex};

/// The most that are kept.
const MOST: usize = 16;

/// What was made last, for when the same is asked for again. Several threads may ask at once, and none waits for another:
/// one that finds the list in use makes it anew.
#[derive(Debug)]
pub struct Latest<Key, Made>(Mutex<Vec<(Key, Arc<Made>)>>);

impl<Key, Made> Latest<Key, Made> {
    /// What was made for a key that `is_same` says is that of now.
    pub fn find(&self, is_same: impl Fn(&Key) -> bool) -> Option<Arc<Made>> {
        let kept = self.0.try_lock().ok()?;
        kept.iter().find(|(key, _)| is_same(key)).map(|(_, made)| Arc::clone(made))
    }

    /// Keeps what was made, in place of the oldest if there are many.
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
