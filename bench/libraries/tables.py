"""Tables in Markdown, printed row by row."""


def row(cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def heading(cells):
    print()
    row(cells)
    row(["---"] * len(cells))
