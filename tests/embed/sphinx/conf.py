# As Megatron-Bridge sets up its documentation, without what generates pages from code.
project = "Embeds in Sphinx"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = [
    "dollarmath",
    "amsmath",
    "colon_fence",
    "deflist",
    "fieldlist",
    "tasklist",
    "attrs_block",
]
myst_heading_anchors = 5
myst_fence_as_directive = ["mermaid"]
html_theme = "nvidia_sphinx_theme"

# This line is the recipe.
html_js_files = [("https://calculator.example/embed.js", {"async": "async"})]
