//! Programs planned at little cost, whatever their graphs ask for.

mod planning;
