# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx's settings for the site of scripts/docs, which runs Doxygen first and says where its XML lies."""

import os
import re
from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)
project = "h5bento"
author = "The h5bento developers"
project_copyright = author

SOURCE = Path(__file__).resolve().parent.parent
release = version = re.search(r"project\(h5bento VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "breathe"]
html_theme = "furo"
html_title = f"h5bento {version}"
html_show_sphinx = False
exclude_patterns = ["_build"]
nitpicky = True

myst_heading_anchors = 4  # links between pages name headings as GitHub does
breathe_projects = {"h5bento": os.environ["H5BENTO_DOXYGEN_XML"]}
breathe_default_project = "h5bento"
breathe_domain_by_extension = {"h": "c"}
# Types of C itself, and what Doxygen calls the union without a name.
known = ("size_t", "int32_t", "int64_t", "uint64_t", "h5bento_number.@0")
nitpick_ignore = [("c:identifier", name) for name in known]


def name_sources(_app, docname, content):
    """Links to files of the source tree outside docs/ become their names: the site stands alone. That they exist is
    checked here, since Sphinx does not see them."""
    page = SOURCE / "docs" / docname

    def replace(match):
        text, target = match[1], match[2].split("#")[0]
        place = (page.parent / target).resolve()
        if place.is_relative_to(SOURCE / "docs"):
            return match[0]
        if not place.exists():
            logger.warning("the link to %s leads nowhere", target, location=docname)
        name = f"`{place.relative_to(SOURCE)}`"
        return name if text.strip("`").split("/")[-1] == place.name else f"{text} ({name})"

    content[0] = re.sub(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)", replace, content[0])


def setup(app):
    app.connect("source-read", name_sources)
