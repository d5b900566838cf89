"""Renders the project's Markdown files as a site. `web/build` runs Sphinx with this file."""

import pathlib
import re
import tomllib

root = pathlib.Path(__file__).parents[2]
package = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]

project = "trundle"
version = release = package["version"]
author = copyright = "the trundle authors"

extensions = ["myst_parser"]
myst_heading_anchors = 4
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/notes/*.md"]
exclude_patterns = ["bench", "crates", "fuzz", "release", "target", "dist", ".*"]

html_theme = "furo"
html_title = "trundle"
html_favicon = "../icon.svg"
html_copy_source = False
html_show_sphinx = False


def colours(paper, sunken, ink, muted, accent):
    """The colours of the page (`web/page.css`), by Furo's names."""
    return {
        "color-background-primary": paper, "color-background-secondary": sunken, "color-sidebar-background": sunken,
        "color-foreground-primary": ink, "color-foreground-secondary": muted, "color-foreground-muted": muted,
        "color-brand-primary": accent, "color-brand-content": accent, "color-brand-visited": accent,
        "font-stack": 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif',
    }


html_theme_options = {
    "light_css_variables": colours("#f7f6f3", "#f1efea", "#1d1c1a", "#63605a", "#3a4fc4"),
    "dark_css_variables": colours("#131316", "#232329", "#efeef2", "#a5a4ae", "#a3b0ff"),
}

contents = (pathlib.Path(__file__).parent / "contents.md").read_text()


def as_site(_app, name, text):
    """Adds the table of contents to the first document, and links the page, which is one folder above."""
    text[0] = re.sub(r"\[([^]]*)\]\(web/index\.html\)", r'<a href="../index.html">\1</a>', text[0])
    # Sphinx knows languages by their names alone: `rust,no_run` is `rust`.
    text[0] = re.sub(r"(?m)^(\s*```\w+),\S+$", r"\1", text[0])
    if name == root_doc:
        text[0] += contents


def finished(_app, _name, _template, context, _doctree):
    """Adds the page and the Rust library to the menu, and attributes for the keyboard and for screen readers."""
    to = context["pathto"]
    links = {"Type a chain": to("../index.html", resource=True), "Rust API": to("../api/trundle/index.html", resource=True)}
    items = "".join(f'<li class="toctree-l1"><a class="reference" href="{link}">{text}</a></li>' for text, link in links.items())
    menu = context["furo_navigation_tree"].replace('role="heading"', 'role="heading" aria-level="2"')
    context["furo_navigation_tree"] = f"<ul>{items}</ul>{menu}"
    # Without `tabindex`, the keyboard cannot scroll code and tables that are wider than the window.
    body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
    context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def setup(app):
    app.connect("source-read", as_site)
    # After Furo, which makes the menu.
    app.connect("html-page-context", finished, priority=900)
