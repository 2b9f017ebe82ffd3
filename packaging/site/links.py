"""For MkDocs: links of pages to what is not below docs/ become the names of files in the repository."""

import re
from pathlib import Path

LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)[^)\s]*\)")


def on_page_markdown(markdown, page, config, files):
    docs = Path(config["docs_dir"]).resolve()
    folder = (docs / page.file.src_uri).parent

    def outside(link):
        target = (folder / link[2]).resolve()
        if target.is_relative_to(docs):
            return link[0]
        name = target.relative_to(docs.parent)
        return f"`{name}`" if link[1] == str(name) else f"{link[1]} (`{name}`)"

    return LINK.sub(outside, markdown)
