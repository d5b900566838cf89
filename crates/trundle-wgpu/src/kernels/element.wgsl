// Where the element was read that this invocation moved last.
var<private> last_element: u32 = NONE;
var<private> last_src: u32;

// `src_of`, which is worked out again only where another element begins: an invocation stays in one row.
fn src_of_next(row: u32, element: u32) -> u32 {
    if element != last_element {
        last_element = element;
        last_src = src_of(row, element);
    }
    return last_src;
}
