//! Models planned at little cost, whatever they ask for.

mod planning;
