//! The cost of planning is limited for every model.

mod planning;
