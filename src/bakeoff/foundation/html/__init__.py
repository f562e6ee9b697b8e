"""HTML pages from templates, all in one style and with one script, and the SVG drawings on them."""
