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
# Sphinx does not search these folders.
exclude_patterns = ["crates", "fuzz", "target", ".*"]

html_theme = "furo"
html_title = "trundle"
html_favicon = "../icon.svg"
html_copy_source = False
html_show_sphinx = False


def variables(selector):
    """Returns the colours and the typeface of the page (`web/page.css`), by Furo's names."""
    block = re.search(rf"(?m)^{re.escape(selector)} \{{(.*?)\}}", (root / "web/page.css").read_text(), re.DOTALL)[1]
    own = dict(re.findall(r"--([\w-]+): ([^;]+);", block))
    names = {
        "paper": ["color-background-primary"], "sunken": ["color-background-secondary", "color-sidebar-background"],
        "ink": ["color-foreground-primary"], "muted": ["color-foreground-secondary", "color-foreground-muted"],
        "accent": ["color-brand-primary", "color-brand-content", "color-brand-visited"], "sans": ["font-stack"],
    }
    return {theirs: own[name] for name, all_theirs in names.items() if name in own for theirs in all_theirs}


html_theme_options = {
    "light_css_variables": variables(":root"),
    "dark_css_variables": variables(':root[data-theme="dark"]'),
}

contents = (pathlib.Path(__file__).parent / "contents.md").read_text()


def as_site(_app, name, text):
    """Adds the table of contents to the first document, and links the page, which is one folder above."""
    text[0] = re.sub(r"\[([^]]*)\]\(web/index\.html\)", r'<a href="../index.html">\1</a>', text[0])
    # Sphinx only knows the names of languages, so `rust,no_run` becomes `rust`.
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
