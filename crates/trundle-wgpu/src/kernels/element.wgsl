// The last element that this invocation moved, and its position in the source.
var<private> last_element: u32 = NONE;
var<private> last_src: u32;

// As `src_of`, but computed only when the element changes. An invocation stays in one row.
fn src_of_next(row: u32, element: u32) -> u32 {
    if element != last_element {
        last_element = element;
        last_src = src_of(row, element);
    }
    return last_src;
}
